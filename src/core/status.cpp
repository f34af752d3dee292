#include "core/status.h"

#include <array>

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

void append_names(std::string& text, std::string_view key,
                  const std::vector<const Piece*>& pieces) {
  NameList list(text, key);
  for (const Piece* piece : pieces) {
    list.add(piece->name);
  }
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
  note(facts.init_container_list, !plan.init_containers.empty(), "spec.initContainers");
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

std::string write_status(const PodFacts& facts, const Plan& plan, std::string_view hash) {
  std::string text;
  text.reserve(kUsualSize);
  text += R"({"template":)";
  base::append_json_string(text, hash);
  append_names(text, "containers", plan.containers);
  append_names(text, "initContainers", plan.init_containers);
  append_names(text, "volumes", plan.volumes);
  append_names(text, "imagePullSecrets", plan.image_pull_secrets);
  append_names(text, "labels", plan.labels);
  append_names(text, "annotations", plan.annotations);
  append_created(text, facts, plan);
  text += '}';
  return text;
}

base::Result<Status> read_status(const Json& value) {
  if (!value.is_object()) {
    return base::invalid("not a JSON object");
  }
  Status status;
  status.template_hash = base::text_of(base::find(value, "template"));
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
