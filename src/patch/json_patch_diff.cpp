#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_pointer.h"
#include "patch/json_patch.h"
#include "patch/limits.h"
#include "patch/list_order.h"

namespace injector::patch {
namespace {

using base::Json;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The identities of a keyed list's elements, if every element has one and no two share it.
std::optional<std::vector<std::string>> unique_identities(const Json& list, const Field& field) {
  base::Result<std::vector<std::string>> identities = element_identities(list, field.merge_key);
  if (!identities) {
    return std::nullopt;
  }
  std::vector<std::string> sorted = identities.value();
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return std::nullopt;
  }
  return std::move(identities).value();
}

// For each place in the modified list the place in the original that it came from, or kNone.
using Sources = std::vector<std::size_t>;

Sources match(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  const Ranks places(before);
  Sources sources;
  sources.reserve(after.size());
  std::transform(after.begin(), after.end(), std::back_inserter(sources),
                 [&](const std::string& identity) { return places.of(identity); });
  return sources;
}

// Keeps the longest increasing run of sources: those elements stay where they are, and the others
// are taken out and put in again.
void keep_longest_run(Sources& sources) {
  std::vector<std::size_t> tails;  // The place that ends the best run of each length.
  std::vector<std::size_t> previous(sources.size(), kNone);
  for (std::size_t place = 0; place < sources.size(); ++place) {
    if (sources[place] == kNone) {
      continue;
    }
    const auto spot = std::lower_bound(
        tails.begin(), tails.end(), sources[place],
        [&](std::size_t tail, std::size_t source) { return sources[tail] < source; });
    previous[place] = spot == tails.begin() ? kNone : *std::prev(spot);
    if (spot == tails.end()) {
      tails.push_back(place);
    } else {
      *spot = place;
    }
  }
  Sources kept(sources.size(), kNone);
  for (std::size_t place = tails.empty() ? kNone : tails.back(); place != kNone;
       place = previous[place]) {
    kept[place] = sources[place];
  }
  sources = std::move(kept);
}

class PatchWriter {
 public:
  void diff(const Json& original, const Json& modified, const Schema* schema) {
    if (original.is_object() && modified.is_object()) {
      diff_objects(original, modified, schema);
    } else if (original.is_array() && modified.is_array()) {
      diff_lists(original, modified);
    } else if (!base::same(original, modified)) {
      emit("replace", &modified);
    }
  }

  [[nodiscard]] Json take() && { return std::move(operations_); }

 private:
  // Runs `step` with the path one token longer.
  template <class Step>
  void at(std::string_view token, Step step) {
    const std::size_t length = path_.size();
    base::append_token(path_, token);
    step();
    path_.resize(length);
  }

  void emit(std::string_view name, const Json* value) {
    Json operation = Json::object();
    base::append_member(operation, "op", name);
    base::append_member(operation, "path", path_);
    if (value != nullptr) {
      base::append_member(operation, "value", *value);
    }
    operations_.push_back(std::move(operation));
  }

  void emit_at(std::string_view name, std::string_view token, const Json* value) {
    at(token, [&] { emit(name, value); });
  }

  void remove_at(std::size_t index) { emit_at("remove", std::to_string(index), nullptr); }

  // --- Objects

  void diff_objects(const Json& original, const Json& modified, const Schema* schema) {
    remove_missing(original, modified);
    const base::MemberIndex before(original);
    for (const auto& [key, value] : modified.get_ref<const Json::object_t&>()) {
      const Json* old = before.find(key);
      if (old == nullptr) {
        emit_at("add", key, &value);
      } else {
        diff_member(key, *old, value, schema);
      }
    }
  }

  void diff_member(std::string_view key, const Json& original, const Json& modified,
                   const Schema* schema) {
    const Field* field = schema == nullptr ? nullptr : schema->find(key);
    at(key, [&] { diff_value(original, modified, field); });
  }

  void remove_missing(const Json& original, const Json& modified) {
    const base::MemberIndex after(modified);
    for (const auto& [key, value] : original.get_ref<const Json::object_t&>()) {
      if (after.find(key) == nullptr) {
        emit_at("remove", key, nullptr);
      }
    }
  }

  void diff_value(const Json& original, const Json& modified, const Field* field) {
    const bool lists = original.is_array() && modified.is_array();
    if (!lists || field == nullptr || field->kind != FieldKind::ObjectList) {
      diff(original, modified, field == nullptr || is_merge_list(field) ? nullptr : &field->schema);
      return;
    }
    const auto before = unique_identities(original, *field);
    const auto after = unique_identities(modified, *field);
    if (!before || !after) {
      diff_lists(original, modified);
      return;
    }
    Sources sources = match(*before, *after);
    keep_longest_run(sources);
    diff_keyed(original, modified, sources, field->schema);
  }

  // --- Lists by key

  void diff_keyed(const Json& original, const Json& modified, const Sources& sources,
                  const Schema& schema) {
    const auto kept = static_cast<std::size_t>(std::count_if(
        sources.begin(), sources.end(), [](std::size_t from) { return from != kNone; }));
    if (kept == 0 && !original.empty()) {
      diff_whole(original, modified);
      return;
    }
    remove_all_but(sources, original.size());
    std::size_t size = kept;
    for (std::size_t place = 0; place < sources.size(); ++place) {
      if (sources[place] == kNone) {
        emit_at("add", place == size ? "-" : std::to_string(place), &modified[place]);
        ++size;
        continue;
      }
      at(std::to_string(place), [&] { diff(original[sources[place]], modified[place], &schema); });
    }
  }

  // From the end, so that the indices in front stay true.
  void remove_all_but(const Sources& sources, std::size_t size) {
    std::vector<bool> stays(size, false);
    for (const std::size_t source : sources) {
      if (source != kNone) {
        stays[source] = true;
      }
    }
    for (std::size_t index = size; index-- > 0;) {
      if (!stays[index]) {
        remove_at(index);
      }
    }
  }

  void diff_whole(const Json& original, const Json& modified) {
    if (!base::same(original, modified)) {
      emit("replace", &modified);
    }
  }

  // --- Lists by position

  void diff_lists(const Json& original, const Json& modified) {
    const auto heads = std::mismatch(original.begin(), original.end(), modified.begin(),
                                     modified.end(), base::same);
    const auto head = static_cast<std::size_t>(heads.first - original.begin());
    const std::size_t shorter = std::min(original.size(), modified.size());
    std::size_t tail = 0;
    while (tail < shorter - head &&
           base::same(original[original.size() - 1 - tail], modified[modified.size() - 1 - tail])) {
      ++tail;
    }
    if (head + tail == 0 && !original.empty()) {
      diff_whole(original, modified);
      return;
    }
    diff_middle(original, modified, head, tail);
  }

  void diff_middle(const Json& original, const Json& modified, std::size_t head, std::size_t tail) {
    const std::size_t before = original.size() - tail;
    const std::size_t after = modified.size() - tail;
    const std::size_t common = std::min(before, after);
    for (std::size_t index = head; index < common; ++index) {
      at(std::to_string(index), [&] { diff(original[index], modified[index], nullptr); });
    }
    for (std::size_t index = before; index > common; --index) {
      remove_at(index - 1);
    }
    for (std::size_t index = common; index < after; ++index) {
      emit_at("add", tail == 0 ? "-" : std::to_string(index), &modified[index]);
    }
  }

  std::string path_;
  Json operations_ = Json::array();
};

}  // namespace

base::Result<Json> diff_json_patch(const Json& original, const Json& modified,
                                   const Schema* schema) {
  INJ_TRY(check_depth({&original, &modified}));
  PatchWriter writer;
  writer.diff(original, modified, schema);
  return std::move(writer).take();
}

}  // namespace injector::patch
