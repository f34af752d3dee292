#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace injector::cli {
namespace {

constexpr std::array<std::string_view, 8> kKinds = {
    "pod/", "deployment/", "statefulset/", "daemonset/", "replicaset/", "replicationcontroller/",
    "job/", "cronjob/"};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// What the words before the last one mean.
struct Parsed {
  const CommandSpec* command;
  const FlagSpec* open_flag = nullptr;  // Whose value the last word is.
  std::size_t arguments = 0;            // Given already.
  bool only_arguments = false;          // After "--".
  ClusterWords cluster;
};

void remember(const FlagSpec& flag, const std::string& value, ClusterWords& words) {
  const std::vector<std::pair<std::string_view, std::string*>> known = {
      {"--kubeconfig", &words.kubeconfig},
      {"--context", &words.context},
      {"--master", &words.master},
      {"--namespace", &words.name_space}};
  for (const auto& [name, place] : known) {
    if (std::find(flag.names.begin(), flag.names.end(), name) != flag.names.end()) {
      *place = value;
    }
  }
}

void take_flag(const std::string& word, Parsed& parsed) {
  const std::size_t equals = word.find('=');
  const FlagSpec* flag = parsed.command->flag(word.substr(0, equals));
  if (flag == nullptr || flag->kind == ValueKind::None) {
    return;
  }
  if (equals == std::string::npos) {
    parsed.open_flag = flag;
  } else {
    remember(*flag, word.substr(equals + 1), parsed.cluster);
  }
}

void take(const std::string& word, Parsed& parsed) {
  if (parsed.open_flag != nullptr) {
    remember(*std::exchange(parsed.open_flag, nullptr), word, parsed.cluster);
  } else if (word == "--") {
    parsed.only_arguments = true;
  } else if (word.starts_with('-') && word.size() > 1 && !parsed.only_arguments) {
    take_flag(word, parsed);
  } else if (const CommandSpec* command = parsed.command->command(word)) {
    parsed.command = command;
  } else {
    ++parsed.arguments;
  }
}

void add_if(Completion& completion, std::string_view prefix, std::string text,
            std::string description = {}) {
  if (text.starts_with(prefix)) {
    completion.candidates.push_back({std::move(text), std::move(description)});
  }
}

Completion of_list(std::string_view prefix, const std::vector<std::string>& texts) {
  Completion completion;
  for (const std::string& text : texts) {
    add_if(completion, prefix, text);
  }
  const bool goes_on =
      completion.candidates.size() == 1 && (completion.candidates.front().text.ends_with('=') ||
                                            completion.candidates.front().text.ends_with('/'));
  completion.directive |= goes_on ? kNoSpace : 0U;
  return completion;
}

Completion of_object(const std::string& word, const ClusterWords& cluster, NameSource& names) {
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) {
    Completion kinds = of_list(word, {kKinds.begin(), kKinds.end()});
    kinds.directive |= kNoSpace;
    return kinds;
  }
  std::vector<std::string> texts = names.objects(word.substr(0, slash), cluster);
  for (std::string& text : texts) {
    text.insert(0, word, 0, slash + 1);
  }
  return of_list(word, texts);
}

// "name" of the line's namespace, or "ns/name".
Completion of_config_map(const std::string& word, const ClusterWords& cluster, NameSource& names) {
  const std::size_t slash = word.find('/');
  if (slash == std::string::npos) {
    return of_list(word, names.objects("configmap", cluster));
  }
  ClusterWords there = cluster;
  there.name_space = word.substr(0, slash);
  std::vector<std::string> texts = names.objects("configmap", there);
  for (std::string& text : texts) {
    text.insert(0, word, 0, slash + 1);
  }
  return of_list(word, texts);
}

Completion of_value(const FlagSpec& flag, const std::string& word, const ClusterWords& cluster,
                    NameSource& names) {
  switch (flag.kind) {
    case ValueKind::Choice:
      return of_list(word, flag.choices);
    case ValueKind::Context:
      return of_list(word, names.contexts(cluster));
    case ValueKind::Namespace:
      return of_list(word, names.namespaces(cluster));
    case ValueKind::Object:
      return of_object(word, cluster, names);
    case ValueKind::ConfigMap:
      return of_config_map(word, cluster, names);
    case ValueKind::File:
      return {{}, kFilesAsWell};
    case ValueKind::Directory:
      return {{}, kOnlyDirectories};
    case ValueKind::None:
    case ValueKind::Text:
      break;
  }
  return {};
}

Completion of_flags(const CommandSpec& command, const std::string& word) {
  Completion completion;
  for (const FlagSpec& flag : command.flags) {
    for (const std::string& name : flag.names) {
      if (name.starts_with("--") || word == name) {
        add_if(completion, word, name, first_line(flag.description));
      }
    }
  }
  return completion;
}

Completion of_commands(const CommandSpec& parent, const std::string& word) {
  Completion completion;
  for (const CommandSpec& command : parent.commands) {
    add_if(completion, word, command.name, first_line(command.description));
  }
  return completion;
}

Completion of_argument(const Parsed& parsed, const std::string& word, NameSource& names) {
  const auto& arguments = parsed.command->arguments;
  if (arguments.empty()) {
    return {};
  }
  const std::size_t index = std::min(parsed.arguments, arguments.size() - 1);
  return of_value(arguments[index], word, parsed.cluster, names);
}

}  // namespace

Completion complete(const CommandSpec& root, const std::vector<std::string>& words,
                    NameSource& names) {
  Parsed parsed{&root, nullptr, 0, false, {}};
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    take(words[i], parsed);
  }
  const std::string word = words.empty() ? "" : words.back();
  if (parsed.open_flag != nullptr) {
    return of_value(*parsed.open_flag, word, parsed.cluster, names);
  }
  if (word.starts_with('-') && !parsed.only_arguments) {
    const std::size_t equals = word.find('=');
    const FlagSpec* flag = parsed.command->flag(word.substr(0, equals));
    if (equals != std::string::npos && flag != nullptr) {
      return of_value(*flag, word.substr(equals + 1), parsed.cluster, names);
    }
    return of_flags(*parsed.command, word);
  }
  if (!parsed.command->commands.empty()) {
    return of_commands(*parsed.command, word);
  }
  return of_argument(parsed, word, names);
}

void write_completion(const Completion& completion, std::ostream& out) {
  for (const Candidate& candidate : completion.candidates) {
    out << candidate.text;
    if (!candidate.description.empty()) {
      out << '\t' << candidate.description;
    }
    out << '\n';
  }
  out << ':' << completion.directive << '\n';
}

}  // namespace injector::cli
