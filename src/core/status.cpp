#include "core/status.h"

#include <array>

#include <fmt/format.h>

namespace injector::core {
namespace {

using base::Json;
using Names = std::vector<std::string>;

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

Names names_of(const std::vector<const Piece*>& pieces) {
  Names names;
  for (const Piece* piece : pieces) {
    names.push_back(piece->name);
  }
  return names;
}

Names keys_of(const StringMap& map) {
  Names keys;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
  }
  return keys;
}

Names created_by(const PodFacts& facts, const Plan& plan) {
  Names created;
  const auto note = [&](Presence parent, bool needed, const std::string& path) {
    if (needed && parent != Presence::Present) {
      created.push_back(parent == Presence::Null ? path + kWasNull : path);
    }
  };
  constexpr bool kAlways = true;  // The status annotation itself needs them.
  note(facts.metadata, kAlways, "metadata");
  note(facts.annotations_map, kAlways, "metadata.annotations");
  note(facts.labels_map, !plan.labels.empty(), "metadata.labels");
  note(facts.init_container_list, !plan.init_containers.empty(), "spec.initContainers");
  note(facts.volume_list, !plan.volumes.empty(), "spec.volumes");
  note(facts.image_pull_secret_list, !plan.image_pull_secrets.empty(), "spec.imagePullSecrets");
  return created;
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

Status status_of(const PodFacts& facts, const Plan& plan, std::string_view hash) {
  return {
      .template_hash = std::string(hash),
      .containers = names_of(plan.containers),
      .init_containers = names_of(plan.init_containers),
      .volumes = names_of(plan.volumes),
      .image_pull_secrets = names_of(plan.image_pull_secrets),
      .labels = keys_of(plan.labels),
      .annotations = keys_of(plan.annotations),
      .created = created_by(facts, plan),
  };
}

std::string write_status(const Status& status) {
  Json value = Json::object();
  value["template"] = status.template_hash;
  for (const Member& member : kMembers) {
    const Names& names = status.*member.names;
    if (!names.empty()) {
      value[std::string(member.key)] = names;
    }
  }
  return base::to_text(value);
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
