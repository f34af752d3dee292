#include "core/render.h"

#include <fmt/format.h>

#include "patch/schema.h"
#include "patch/strategic_merge.h"

namespace injector::core {
namespace {

using base::Json;

// The member, made (or made anew from null) with `empty` where it is not there.
Json& member(Json& object, const char* key, const Json& empty) {
  Json& value = object[key];
  if (value.is_null()) {
    value = empty;
  }
  return value;
}

void add_pieces(Json& spec, const char* field, const std::vector<const Piece*>& pieces) {
  if (pieces.empty()) {
    return;
  }
  Json& list = member(spec, field, Json::array());
  for (const Piece* piece : pieces) {
    list.push_back(piece->value);
  }
}

void add_entries(Json& metadata, const char* field, const StringMap& entries) {
  if (entries.empty()) {
    return;
  }
  Json& map = member(metadata, field, Json::object());
  for (const auto& [key, value] : entries) {
    map[key] = value;
  }
}

std::string json_string(std::string_view text) {
  return base::to_text(Json(text));
}

std::string pointer_token(std::string_view key) {
  std::string token;
  for (const char c : key) {
    token += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return token;
}

std::string as_object(const StringMap& entries) {
  std::string text;
  for (const auto& [key, value] : entries) {
    text += (text.empty() ? "" : ",") + json_string(key) + ":" + json_string(value);
  }
  return "{" + text + "}";
}

std::string as_list(const std::vector<const Piece*>& pieces) {
  std::string text;
  for (const Piece* piece : pieces) {
    text += (text.empty() ? "" : ",") + piece->text;
  }
  return "[" + text + "]";
}

class PatchText {
 public:
  explicit PatchText(std::string_view prefix)
      : prefix_(prefix) {}

  // `path` starts with a slash; `value` is JSON.
  void add(std::string_view path, std::string_view value) {
    text_ += text_.empty() ? "[" : ",";
    text_ += R"({"op":"add","path":)";
    text_ += json_string(prefix_ + std::string(path));
    text_ += R"(,"value":)";
    text_ += value;
    text_ += '}';
  }

  void add_entries(const std::string& path, const StringMap& entries, Presence parent) {
    if (entries.empty()) {
      return;
    }
    if (parent != Presence::Present) {
      add(path, as_object(entries));
      return;
    }
    for (const auto& [key, value] : entries) {
      add(path + "/" + pointer_token(key), json_string(value));
    }
  }

  void add_pieces(const std::string& path, const std::vector<const Piece*>& pieces,
                  Presence parent) {
    if (pieces.empty()) {
      return;
    }
    if (parent != Presence::Present) {
      add(path, as_list(pieces));
      return;
    }
    for (const Piece* piece : pieces) {
      add(path + "/-", piece->text);
    }
  }

  [[nodiscard]] std::string take() && { return std::move(text_) + "]"; }

 private:
  std::string prefix_;
  std::string text_;
};

}  // namespace

Json patched_object(Json pod, const Plan& plan) {
  Json& metadata = member(pod, "metadata", Json::object());
  add_entries(metadata, "labels", plan.labels);
  add_entries(metadata, "annotations", plan.annotations);
  Json& spec = member(pod, "spec", Json::object());
  add_pieces(spec, "initContainers", plan.init_containers);
  add_pieces(spec, "containers", plan.containers);
  add_pieces(spec, "volumes", plan.volumes);
  add_pieces(spec, "imagePullSecrets", plan.image_pull_secrets);
  return pod;
}

std::string json_patch(const PodFacts& facts, const Plan& plan, std::string_view prefix) {
  PatchText patch(prefix);
  if (facts.metadata != Presence::Present) {
    patch.add("/metadata", "{}");
  }
  patch.add_entries("/metadata/labels", plan.labels, facts.labels_map);
  patch.add_entries("/metadata/annotations", plan.annotations, facts.annotations_map);
  patch.add_pieces("/spec/initContainers", plan.init_containers, facts.init_container_list);
  patch.add_pieces("/spec/containers", plan.containers, Presence::Present);
  patch.add_pieces("/spec/volumes", plan.volumes, facts.volume_list);
  patch.add_pieces("/spec/imagePullSecrets", plan.image_pull_secrets, facts.image_pull_secret_list);
  return std::move(patch).take();
}

base::Result<Json> strategic_patch(const Json& original, const Json& patched,
                                   std::string_view kind) {
  const patch::Schema* schema = patch::schema_for_kind(kind);
  if (schema == nullptr) {
    return base::invalid(fmt::format("kind {} has no pod template", kind));
  }
  return patch::two_way_merge_patch(original, patched, *schema);
}

}  // namespace injector::core
