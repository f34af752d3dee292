#include "core/render.h"

#include <optional>

#include <fmt/format.h>

#include "base/json_pointer.h"
#include "base/json_string.h"
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

using Pieces = std::vector<const Piece*>;

void add_pieces(Json& spec, const char* field, const Pieces& first, const Pieces& last) {
  if (first.empty() && last.empty()) {
    return;
  }
  Json& list = member(spec, field, Json::array());
  Json all = Json::array();
  for (const Piece* piece : first) {
    all.push_back(piece->json());
  }
  for (Json& own : list) {
    all.push_back(std::move(own));
  }
  for (const Piece* piece : last) {
    all.push_back(piece->json());
  }
  list = std::move(all);
}

void take_out(Json& spec, const std::vector<ReplacedContainer>& replaced) {
  for (auto each = replaced.rbegin(); each != replaced.rend(); ++each) {
    Json* list = base::find(spec, each->init ? "initContainers" : "containers");
    if (list != nullptr && each->index < list->size()) {
      list->erase(each->index);
    }
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

// The operations' text, written once from front to back.
class PatchText {
 public:
  PatchText(std::string_view prefix, std::size_t room)
      : prefix_(prefix) {
    constexpr std::size_t kUsualPath = 128;
    text_.reserve(room);
    path_.reserve(kUsualPath);
  }

  void add_empty_object(std::string_view path) {
    begin(path);
    text_ += "{}}";
  }

  void add_entries(std::string_view path, const StringMap& entries, Presence parent) {
    if (parent == Presence::Present) {
      for (const auto& [key, value] : entries) {
        begin(path, key);
        base::append_json_string(text_, value);
        text_ += '}';
      }
    } else if (!entries.empty()) {
      begin(path);
      append_object(entries);
      text_ += '}';
    }
  }

  // `first` go before what is there, `last` behind it.
  void add_pieces(std::string_view path, const Pieces& first, const Pieces& last, Presence parent) {
    if (parent == Presence::Present) {
      for (std::size_t i = 0; i < first.size(); ++i) {
        add_piece(path, std::to_string(i), *first[i]);
      }
      for (const Piece* piece : last) {
        add_piece(path, "-", *piece);
      }
    } else if (!first.empty() || !last.empty()) {
      begin(path);
      append_list(first, last);
      text_ += '}';
    }
  }

  // From the end, so that the indexes of the others stay.
  void remove(const std::vector<ReplacedContainer>& replaced) {
    for (auto each = replaced.rbegin(); each != replaced.rend(); ++each) {
      text_ += text_.empty() ? "[" : ",";
      text_ += fmt::format(R"({{"op":"remove","path":"{}/spec/{}/{}"}})", prefix_,
                           each->init ? "initContainers" : "containers", each->index);
    }
  }

  [[nodiscard]] std::string take() && {
    text_ += text_.empty() ? "[]" : "]";
    return std::move(text_);
  }

 private:
  void add_piece(std::string_view path, std::string_view key, const Piece& piece) {
    begin(path, key);
    text_ += piece.text;
    text_ += '}';
  }

  // Up to the value, which the caller appends, with the closing brace. `path` starts with a slash.
  void begin(std::string_view path, std::optional<std::string_view> key = std::nullopt) {
    text_ += text_.empty() ? "[" : ",";
    text_ += R"({"op":"add","path":)";
    path_.assign(prefix_).append(path);
    if (key) {
      base::append_token(path_, *key);
    }
    base::append_json_string(text_, path_);
    text_ += R"(,"value":)";
  }

  void append_object(const StringMap& entries) {
    char separator = '{';
    for (const auto& [key, value] : entries) {
      text_ += separator;
      base::append_json_string(text_, key);
      text_ += ':';
      base::append_json_string(text_, value);
      separator = ',';
    }
    text_ += '}';
  }

  void append_list(const Pieces& first, const Pieces& last) {
    char separator = '[';
    for (const Pieces* pieces : {&first, &last}) {
      for (const Piece* piece : *pieces) {
        text_ += separator;
        text_ += piece->text;
        separator = ',';
      }
    }
    text_ += ']';
  }

  std::string_view prefix_;
  std::string text_;
  std::string path_;  // Of the operation at hand; keeps its memory.
};

// At least what the patch takes, in all but odd cases: an operation around each value, and escapes.
std::size_t room_for(const Plan& plan) {
  constexpr std::size_t kOperation = 96;
  std::size_t room = kOperation;
  for (const auto* pieces : {&plan.first_containers, &plan.first_init_containers, &plan.containers,
                             &plan.init_containers, &plan.volumes, &plan.image_pull_secrets}) {
    for (const Piece* piece : *pieces) {
      room += kOperation + piece->text.size();
    }
  }
  for (const auto* entries : {&plan.labels, &plan.annotations}) {
    for (const auto& [key, value] : *entries) {
      room += kOperation + key.size() + value.size() * 3 / 2;
    }
  }
  return room;
}

}  // namespace

Json patched_object(Json pod, const Plan& plan) {
  Json& metadata = member(pod, "metadata", Json::object());
  add_entries(metadata, "labels", plan.labels);
  add_entries(metadata, "annotations", plan.annotations);
  Json& spec = member(pod, "spec", Json::object());
  take_out(spec, plan.replaced);
  add_pieces(spec, "initContainers", plan.first_init_containers, plan.init_containers);
  add_pieces(spec, "containers", plan.first_containers, plan.containers);
  add_pieces(spec, "volumes", {}, plan.volumes);
  add_pieces(spec, "imagePullSecrets", {}, plan.image_pull_secrets);
  return pod;
}

std::string json_patch(const PodFacts& facts, const Plan& plan, std::string_view prefix) {
  PatchText patch(prefix, room_for(plan));
  if (facts.metadata != Presence::Present) {
    patch.add_empty_object("/metadata");
  }
  patch.add_entries("/metadata/labels", plan.labels, facts.labels_map);
  patch.add_entries("/metadata/annotations", plan.annotations, facts.annotations_map);
  patch.remove(plan.replaced);
  patch.add_pieces("/spec/initContainers", plan.first_init_containers, plan.init_containers,
                   facts.init_container_list);
  patch.add_pieces("/spec/containers", plan.first_containers, plan.containers, Presence::Present);
  patch.add_pieces("/spec/volumes", {}, plan.volumes, facts.volume_list);
  patch.add_pieces("/spec/imagePullSecrets", {}, plan.image_pull_secrets,
                   facts.image_pull_secret_list);
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
