#include "core/pod_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/pod_facts.h"

namespace injector::core {
namespace {

using base::Json;

constexpr std::string_view kOpen = "${";

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

// Whether `text`, which follows "${", is meant to be a value.
bool is_value(std::string_view text) {
  constexpr std::array<std::string_view, 3> kRoots = {"metadata.", "spec.", "owner."};
  return std::any_of(kRoots.begin(), kRoots.end(),
                     [&](std::string_view root) { return starts_with(text, root); });
}

// Takes `start` off `text`; false if it does not start so.
bool take(std::string_view& text, std::string_view start) {
  if (!starts_with(text, start)) {
    return false;
  }
  text.remove_prefix(start.size());
  return true;
}

bool take_index(std::string_view& text, std::size_t& index) {
  constexpr std::size_t kMost = 999;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || index > kMost) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return take(text, "]");
}

// "['key']" or "[\"key\"]", and nothing behind it.
std::optional<std::string> whole_key(std::string_view text) {
  constexpr std::size_t kFrame = 4;
  for (const char quote : {'\'', '"'}) {
    const std::string open = {'[', quote};
    const std::string close = {quote, ']'};
    if (text.size() > kFrame && starts_with(text, open) &&
        text.substr(text.size() - close.size()) == close) {
      return std::string(text.substr(open.size(), text.size() - kFrame));
    }
  }
  return std::nullopt;
}

bool read_keyed(std::string_view path, PodValue& value) {
  const bool label = starts_with(path, "metadata.labels");
  if (!take(path, "metadata.labels") && !take(path, "metadata.annotations")) {
    return false;
  }
  auto key = whole_key(path);
  if (!key) {
    return false;
  }
  value.source = label ? ValueSource::Label : ValueSource::Annotation;
  value.key = *std::move(key);
  return true;
}

bool read_port(std::string_view path, PodValue& value) {
  value.source = ValueSource::ContainerPort;
  return take(path, "spec.containers[") && take_index(path, value.container) &&
         take(path, ".ports[") && take_index(path, value.port) && path == ".containerPort";
}

bool read_plain(std::string_view path, PodValue& value) {
  constexpr std::array<std::pair<std::string_view, ValueSource>, 5> kPlain = {{
      {"metadata.name", ValueSource::Name},
      {"metadata.namespace", ValueSource::Namespace},
      {"spec.serviceAccountName", ValueSource::ServiceAccount},
      {"owner.kind", ValueSource::OwnerKind},
      {"owner.name", ValueSource::OwnerName},
  }};
  const auto* found = std::find_if(kPlain.begin(), kPlain.end(),
                                   [&](const auto& known) { return known.first == path; });
  if (found == kPlain.end()) {
    return false;
  }
  value.source = found->second;
  return true;
}

base::Result<PodValue> parse_value(std::string_view inner) {
  PodValue value;
  const std::size_t split = inner.find(":-");
  value.path = inner.substr(0, split);
  if (split != std::string_view::npos) {
    value.fallback = std::string(inner.substr(split + 2));
  }
  if (read_plain(value.path, value) || read_keyed(value.path, value) ||
      read_port(value.path, value)) {
    return value;
  }
  return base::invalid(
      fmt::format("${{{}}}: no such value: there are metadata.name, metadata.namespace, "
                  "metadata.labels['KEY'], metadata.annotations['KEY'], spec.serviceAccountName, "
                  "spec.containers[N].ports[M].containerPort, owner.kind and owner.name",
                  inner));
}

std::string escaped(std::string_view text) {
  const std::string quoted = base::to_text(Json(text));
  return quoted.substr(1, quoted.size() - 2);
}

bool is_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Writes a JSON value as base::to_text does, with the places of its values.
class PatternWriter {
 public:
  void write(const Json& value) {
    if (value.is_object()) {
      write_object(value);
    } else if (value.is_array()) {
      write_array(value);
    } else if (value.is_string()) {
      write_string(base::text_of(&value));
    } else {
      text_ += base::to_text(value);
    }
  }

  [[nodiscard]] Pattern take() && {
    if (!text_.empty()) {
      pattern_.push_back({std::move(text_)});
    }
    return std::move(pattern_);
  }

 private:
  void write_object(const Json& object) {
    char separator = '{';
    for (const auto& [key, value] : object.items()) {
      text_ += separator + base::to_text(Json(key)) + ":";
      write(value);
      separator = ',';
    }
    text_ += object.empty() ? "{}" : "}";
  }

  void write_array(const Json& array) {
    char separator = '[';
    for (const Json& value : array) {
      text_ += separator;
      write(value);
      separator = ',';
    }
    text_ += array.empty() ? "[]" : "]";
  }

  void write_string(std::string_view text) {
    const auto parsed = parse_pattern(text);
    if (!parsed || parsed.value().empty()) {
      text_ += base::to_text(Json(text));
      return;
    }
    const Pattern& parts = parsed.value();
    if (parts.size() == 1 && parts.front().literal.empty() && parts.front().value) {
      push(*parts.front().value, true);
      return;
    }
    text_ += '"';
    for (const PatternPart& part : parts) {
      text_ += escaped(part.literal);
      if (part.value) {
        push(*part.value, false);
      }
    }
    text_ += '"';
  }

  void push(const PodValue& value, bool alone) {
    pattern_.push_back({std::exchange(text_, {}), value, alone});
  }

  std::string text_;  // Since the last value.
  Pattern pattern_;
};

std::optional<std::string> text_if(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string> entry_of(const StringMap& map, const std::string& key) {
  const std::string* found = find(map, key);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<std::string> port_of(const PodFacts& pod, const PodValue& value) {
  std::size_t index = 0;
  for (const ContainerFacts& container : pod.containers) {
    if (!container.override_json.empty()) {
      continue;  // It stands for a sidecar.
    }
    if (index++ == value.container) {
      return value.port < container.ports.size()
                 ? std::optional(std::to_string(container.ports[value.port].number))
                 : std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::string> own_value(const PodFacts& pod, const PodValue& value) {
  switch (value.source) {
    case ValueSource::Name:
      return text_if(pod.name);
    case ValueSource::Namespace:
      return text_if(pod.name_space);
    case ValueSource::Label:
      return entry_of(pod.labels, value.key);
    case ValueSource::Annotation:
      return entry_of(pod.annotations, value.key);
    case ValueSource::ServiceAccount:
      return pod.service_account.empty() ? "default" : pod.service_account;
    case ValueSource::ContainerPort:
      return port_of(pod, value);
    case ValueSource::OwnerKind:
      return text_if(pod.owner.kind);
    case ValueSource::OwnerName:
      return text_if(pod.owner.name);
  }
  return std::nullopt;
}

void append(const PatternPart& part, const std::string& value, Escaping escaping,
            std::string& text) {
  if (escaping == Escaping::None) {
    text += value;
  } else if (!part.alone) {
    text += escaped(value);
  } else if (part.value->is_number() && is_integer(value)) {
    text += value;
  } else {
    text += base::to_text(Json(value));
  }
}

}  // namespace

base::Result<Pattern> parse_pattern(std::string_view text) {
  Pattern pattern;
  std::string literal;
  for (std::size_t open = text.find(kOpen); open != std::string_view::npos;
       open = text.find(kOpen)) {
    const std::string_view inside = text.substr(open + kOpen.size());
    if (!is_value(inside)) {
      literal += text.substr(0, open + kOpen.size());
      text = inside;
      continue;
    }
    if (open > 0 && text[open - 1] == '$') {
      literal += text.substr(0, open - 1);
      pattern.push_back({std::exchange(literal, {}) + std::string(kOpen)});
      text = inside;
      continue;
    }
    const std::size_t close = inside.find('}');
    if (close == std::string_view::npos) {
      return base::invalid(fmt::format("{}: the closing }} is missing", text.substr(open)));
    }
    INJ_ASSIGN(auto value, parse_value(inside.substr(0, close)));
    literal += text.substr(0, open);
    pattern.push_back({std::exchange(literal, {}), std::move(value)});
    text = inside.substr(close + 1);
  }
  literal += text;
  if (!pattern.empty() && !literal.empty()) {
    pattern.push_back({std::move(literal)});
  }
  return pattern;
}

Pattern json_pattern(const Json& value) {
  const std::string text = base::to_text(value);
  if (text.find(kOpen) == std::string::npos) {
    return {};
  }
  PatternWriter writer;
  writer.write(value);
  Pattern pattern = std::move(writer).take();
  const bool plain =
      pattern.size() == 1 && !pattern.front().value && pattern.front().literal == text;
  return plain ? Pattern() : pattern;
}

std::optional<std::string> value_in(const PodFacts& pod, const PodValue& value) {
  auto own = own_value(pod, value);
  return own ? own : value.fallback;
}

std::string sample_of(const PodValue& value) {
  return value.fallback.value_or(value.is_number() ? "8080" : "sample");
}

std::string fill_with_samples(const Pattern& pattern, Escaping escaping) {
  std::string text;
  for (const PatternPart& part : pattern) {
    text += part.literal;
    if (part.value) {
      append(part, sample_of(*part.value), escaping, text);
    }
  }
  return text;
}

base::Result<std::string> fill(const Pattern& pattern, const PodFacts& pod, Escaping escaping) {
  std::string text;
  for (const PatternPart& part : pattern) {
    text += part.literal;
    if (!part.value) {
      continue;
    }
    const auto value = value_in(pod, *part.value);
    if (!value) {
      return base::invalid(part.value->path);
    }
    append(part, *value, escaping, text);
  }
  return text;
}

}  // namespace injector::core
