#include "core/status.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/json_string.h"

namespace injector::core {
namespace {

using base::Json;
using Names = std::vector<std::string>;

constexpr std::size_t kUsualSize = 160;

struct Member {
  std::string_view key;
  Names Status::*names;
};

constexpr std::array<Member, 7> kMembers = {{
    {"containers", &Status::containers},
    {"initContainers", &Status::init_containers},
    {"volumes", &Status::volumes},
    {"imagePullSecrets", &Status::image_pull_secrets},
    {"labels", &Status::labels},
    {"annotations", &Status::annotations},
    {"created", &Status::created},
}};

// Writes `,"key":["a","b"]` name by name; nothing for no names.
class NameList {
 public:
  NameList(std::string& text, std::string_view key)
      : text_(text),
        key_(key) {}

  ~NameList() {
    if (!empty_) {
      text_ += ']';
    }
  }

  NameList(const NameList&) = delete;
  NameList& operator=(const NameList&) = delete;

  void add(std::string_view name) {
    if (empty_) {
      text_ += ',';
      base::append_json_string(text_, key_);
      text_ += ":[";
    } else {
      text_ += ',';
    }
    base::append_json_string(text_, name);
    empty_ = false;
  }

 private:
  std::string& text_;  // Not owned.
  std::string_view key_;
  bool empty_ = true;
};

using Pieces = std::vector<const Piece*>;

void append_names(std::string& text, std::string_view key, const Pieces& first,
                  const Pieces& last) {
  NameList list(text, key);
  for (const Pieces* pieces : {&first, &last}) {
    for (const Piece* piece : *pieces) {
      list.add(piece->name);
    }
  }
}

void append_names(std::string& text, std::string_view key, const Pieces& pieces) {
  NameList list(text, key);
  for (const Piece* piece : pieces) {
    list.add(piece->name);
  }
}

bool is_only_default(const Plan& plan) {
  return plan.templates.size() == 1 && plan.templates.front()->name == kDefaultTemplate;
}

// What a reader that knows one template only compares.
std::string_view main_hash(const Plan& plan) {
  for (const auto& tpl : plan.templates) {
    if (tpl->name == kDefaultTemplate) {
      return tpl->hash;
    }
  }
  return plan.templates.empty() ? std::string_view()
                                : std::string_view(plan.templates.front()->hash);
}

void append_templates(std::string& text, const Plan& plan) {
  char separator = '[';
  text += R"(,"templates":)";
  for (const auto& tpl : plan.templates) {
    text += separator;
    text += R"({"name":)";
    base::append_json_string(text, tpl->name);
    text += R"(,"hash":)";
    base::append_json_string(text, tpl->hash);
    text += '}';
    separator = ',';
  }
  text += ']';
}

void append_replaced(std::string& text, const Plan& plan) {
  char separator = '[';
  text += R"(,"replaced":)";
  for (const ReplacedContainer& each : plan.replaced) {
    text += separator;
    text += fmt::format(R"({{"list":"{}","index":{},"container":)",
                        each.init ? "initContainers" : "containers", each.index);
    text += each.json;
    text += '}';
    separator = ',';
  }
  text += ']';
}

std::vector<TemplateVersion> read_templates(const Json& value) {
  std::vector<TemplateVersion> templates;
  const Json* list = base::find(value, "templates");
  if (list != nullptr && list->is_array()) {
    for (const Json& each : *list) {
      templates.push_back({std::string(base::text_of(base::find(each, "name"))),
                           std::string(base::text_of(base::find(each, "hash")))});
    }
  }
  if (templates.empty()) {
    templates.push_back(
        {std::string(kDefaultTemplate), std::string(base::text_of(base::find(value, "template")))});
  }
  return templates;
}

std::vector<ReplacedContainer> read_replaced(const Json& value) {
  std::vector<ReplacedContainer> replaced;
  const Json* list = base::find(value, "replaced");
  if (list == nullptr || !list->is_array()) {
    return replaced;
  }
  for (const Json& each : *list) {
    const Json* index = base::find(each, "index");
    const Json* container = base::find(each, "container");
    if (index != nullptr && index->is_number_unsigned() && container != nullptr &&
        container->is_object()) {
      replaced.push_back({base::text_of(base::find(each, "list")) == "initContainers",
                          index->get<std::size_t>(), base::to_text(*container)});
    }
  }
  return replaced;
}

void append_names(std::string& text, std::string_view key, const StringMap& map) {
  NameList list(text, key);
  for (const auto& entry : map) {
    list.add(entry.first);
  }
}

// Which parents the plan creates, or makes anew from null.
void append_created(std::string& text, const PodFacts& facts, const Plan& plan) {
  NameList list(text, "created");
  const auto note = [&](Presence parent, bool needed, std::string_view path) {
    if (needed && parent == Presence::Null) {
      list.add(std::string(path) + kWasNull);
    } else if (needed && parent == Presence::Absent) {
      list.add(path);
    }
  };
  constexpr bool kAlways = true;  // The status annotation itself needs them.
  note(facts.metadata, kAlways, "metadata");
  note(facts.annotations_map, kAlways, "metadata.annotations");
  note(facts.labels_map, !plan.labels.empty(), "metadata.labels");
  note(facts.init_container_list,
       !plan.init_containers.empty() || !plan.first_init_containers.empty(), "spec.initContainers");
  note(facts.volume_list, !plan.volumes.empty(), "spec.volumes");
  note(facts.image_pull_secret_list, !plan.image_pull_secrets.empty(), "spec.imagePullSecrets");
}

base::Result<Names> read_names(const Json& list, std::string_view key) {
  Names names;
  if (!list.is_array()) {
    return base::invalid(fmt::format("{}: not a list", key));
  }
  for (const Json& name : list) {
    if (!name.is_string()) {
      return base::invalid(fmt::format("{}: not a list of strings", key));
    }
    names.push_back(name.get<std::string>());
  }
  return names;
}

}  // namespace

std::string Status::versions() const {
  if (templates.size() == 1 && templates.front().name == kDefaultTemplate) {
    return templates.front().hash;
  }
  std::string text;
  for (const TemplateVersion& each : templates) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", each.name, each.hash);
  }
  return text;
}

std::string current_versions(const Status& status, const TemplateSet& templates,
                             std::string_view name_space) {
  Status today = status;
  for (TemplateVersion& each : today.templates) {
    const ServedTemplate* served = templates.find(each.name, name_space);
    each.hash = served == nullptr ? "none" : served->tpl->hash;
  }
  return today.versions();
}

bool is_current(const Status& status, const TemplateSet& templates, std::string_view name_space) {
  return std::all_of(status.templates.begin(), status.templates.end(),
                     [&](const TemplateVersion& each) {
                       const ServedTemplate* served = templates.find(each.name, name_space);
                       return served != nullptr && served->tpl->hash == each.hash;
                     });
}

std::string write_status(const PodFacts& facts, const Plan& plan) {
  std::string text;
  text.reserve(kUsualSize);
  text += R"({"template":)";
  base::append_json_string(text, main_hash(plan));
  if (!is_only_default(plan)) {
    append_templates(text, plan);
  }
  append_names(text, "containers", plan.first_containers, plan.containers);
  append_names(text, "initContainers", plan.first_init_containers, plan.init_containers);
  append_names(text, "volumes", plan.volumes);
  append_names(text, "imagePullSecrets", plan.image_pull_secrets);
  append_names(text, "labels", plan.labels);
  append_names(text, "annotations", plan.annotations);
  append_created(text, facts, plan);
  if (!plan.replaced.empty()) {
    append_replaced(text, plan);
  }
  text += '}';
  return text;
}

base::Result<Status> read_status(const Json& value) {
  if (!value.is_object()) {
    return base::invalid("not a JSON object");
  }
  Status status;
  status.templates = read_templates(value);
  status.replaced = read_replaced(value);
  for (const Member& member : kMembers) {
    const Json* list = base::find(value, member.key);
    if (list == nullptr) {
      continue;
    }
    auto names = read_names(*list, member.key);
    if (!names) {
      return std::move(names).error();
    }
    status.*member.names = std::move(names).value();
  }
  return status;
}

}  // namespace injector::core
