#include "yaml/converter.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "yaml/scalar.h"
#include "yaml/syntax.h"

namespace injector::yaml {
namespace {

using base::Json;
using std::string_view;
using Index = NodeIndex;

constexpr Index kNone = kNoNode;

// What aliases may add to the text of a document, in bytes.
constexpr std::size_t kMaxAliasedBytes = std::size_t{64} << 20U;

// Turns the tree into JSON: types, keys, aliases and merge keys as go-yaml decodes them.
class Converter {
 public:
  Converter(TextTree& tree, const TextOrigin& origin, MarkRecorder* marks)
      : tree_(tree),
        first_line_(origin.line),
        first_byte_(origin.byte),
        marks_(marks) {}

  [[nodiscard]] Json root() { return tree_.nodes.empty() ? Json() : value(0, kNone, 1); }

  [[nodiscard]] std::vector<YamlWarning> take_warnings() { return std::move(warnings_); }

  [[nodiscard]] bool uses_aliases() const noexcept { return uses_aliases_; }

 private:
  struct Member {
    Index key;
    std::size_t marks_begin = 0;  // What MarkRecorder holds of it.
    std::size_t marks_end = 0;
  };

  // An object on its way, with an index once it is large.
  struct Object {
    Json value = Json::object();
    std::vector<Member> members;  // In the order of the value's.
    std::unordered_map<std::string, std::size_t> index;
  };

  static constexpr std::size_t kSmallObject = 16;

  [[noreturn]] static void fail(const TextNode& node, std::string message) {
    throw SyntaxProblem{node.offset, std::move(message)};
  }

  template <class T>
  static T required(const TextNode& node, base::Result<T> result) {
    if (!result) {
      fail(node, std::move(result).error().message);
    }
    return std::move(result).value();
  }

  // go-yaml's own measure, so that we refuse what it refuses: in a small document almost all may
  // come from aliases, in a large one a tenth.
  [[nodiscard]] double allowed_alias_ratio() const {
    constexpr double kLow = 400'000;
    constexpr double kHigh = 4'000'000;
    const double share = (static_cast<double>(decoded_) - kLow) / (kHigh - kLow);
    return 0.99 - 0.89 * std::clamp(share, 0.0, 1.0);
  }

  void count(const TextNode& node) {
    ++decoded_;
    if (alias_depth_ == 0) {
      return;
    }
    ++aliased_;
    aliased_bytes_ += node.text.size();
    const bool many =
        aliased_ > 100 && decoded_ > 1000 &&
        static_cast<double>(aliased_) / static_cast<double>(decoded_) > allowed_alias_ratio();
    if (many || aliased_bytes_ > kMaxAliasedBytes) {
      fail(node, "document contains excessive aliasing");
    }
  }

  Json value(Index index, Index key, std::size_t depth) {
    TextNode& node = tree_.nodes[index];
    count(node);
    if (marks_ == nullptr || unmarked_ > 0) {
      return plain_value(node, depth);
    }
    const std::size_t entry = marks_->entries.size();
    marks_->entries.push_back({marks_->pointer, describe(node, key), false});
    const std::size_t shared_before = shared_;
    Json result = plain_value(node, depth);
    marks_->entries[entry].node.aliased = shared_ != shared_before;
    return result;
  }

  Json plain_value(TextNode& node, std::size_t depth) {
    shared_ += node.anchored ? 1 : 0;
    switch (node.kind) {
      case TextNode::Kind::Scalar:
        return required(node, scalar_to_json(scalar(node)));
      case TextNode::Kind::Alias:
        return follow(node, depth);
      case TextNode::Kind::Sequence:
        return sequence(node, depth);
      case TextNode::Kind::Mapping:
        return mapping(node, depth);
    }
    return {};
  }

  ScalarValue scalar(const TextNode& node) {
    if (node.tag != 0) {
      return required(node, resolve_tagged(node.text, tree_.tags[node.tag]));
    }
    return node.plain ? resolve_plain(node.text) : ScalarValue(node.text);
  }

  Json follow(const TextNode& alias, std::size_t depth) {
    uses_aliases_ = true;
    ++shared_;
    if (tree_.nodes[alias.target].open) {
      fail(alias, "the anchor's value contains itself");
    }
    ++alias_depth_;
    ++unmarked_;
    Json result = value(alias.target, kNone, depth);
    --unmarked_;
    --alias_depth_;
    return result;
  }

  static void check_depth(const TextNode& node, std::size_t depth) {
    if (depth > base::kMaxJsonDepth) {
      fail(node, fmt::format("nested deeper than {} levels", base::kMaxJsonDepth));
    }
  }

  Json sequence(TextNode& node, std::size_t depth) {
    check_depth(node, depth);
    node.open = true;
    Json list = Json::array();
    for (Index child = node.child; child != kNone; child = tree_.nodes[child].next) {
      const std::size_t before = enter(std::to_string(list.size()));
      list.push_back(value(child, kNone, depth + 1));
      leave(before);
    }
    node.open = false;
    return list;
  }

  Json mapping(TextNode& node, std::size_t depth) {
    Object object;
    add_members(node, object, depth);
    return std::move(object.value);
  }

  void add_members(TextNode& node, Object& object, std::size_t depth) {
    check_depth(node, depth);
    node.open = true;
    for (Index key = node.child; key != kNone;) {
      const Index value = tree_.nodes[key].next;
      if (is_merge(tree_.nodes[key])) {
        merge(value, key, object, depth);
      } else {
        add_member(key, value, object, depth);
      }
      key = tree_.nodes[value].next;
    }
    node.open = false;
  }

  [[nodiscard]] bool is_merge(const TextNode& key) const {
    return key.kind == TextNode::Kind::Scalar && key.text == "<<" &&
           (key.plain || tree_.tags[key.tag] == "tag:yaml.org,2002:merge");
  }

  std::string key_text(Index index) {
    const TextNode& key = tree_.nodes[index];
    count(key);
    shared_ += key.anchored ? 1 : 0;
    if (key.kind == TextNode::Kind::Alias) {
      uses_aliases_ = true;
      ++shared_;
      return key_text(key.target);
    }
    if (key.kind != TextNode::Kind::Scalar) {
      fail(key, "a list or a map cannot be a key");
    }
    return required(key, scalar_to_key(scalar(key)));
  }

  void add_member(Index key, Index value_index, Object& object, std::size_t depth) {
    const std::string name = key_text(key);
    Member member{key, marks_ == nullptr ? 0 : marks_->entries.size(), 0};
    const std::size_t before = enter(name);
    Json member_value = value(value_index, key, depth + 1);
    leave(before);
    member.marks_end = marks_ == nullptr ? 0 : marks_->entries.size();
    set(object, name, std::move(member_value), member);
  }

  // A key that is there already keeps its place and takes the new value.
  void set(Object& object, const std::string& name, Json value, const Member& member) {
    const auto place = find(object, name);
    if (!place) {
      if (!object.index.empty()) {
        object.index.emplace(name, object.members.size());
      }
      object.members.push_back(member);
      base::append_member(object.value, name, std::move(value));
      return;
    }
    replace(object, *place, std::move(value), member);
  }

  void replace(Object& object, std::size_t place, Json value, const Member& member) {
    auto& members = object.value.get_ref<Json::object_t&>();
    auto& [name, old] = *(members.begin() + static_cast<std::ptrdiff_t>(place));
    warn_of_duplicate(name, object.members[place], member);
    old = std::move(value);
    if (marks_ != nullptr) {
      const Member& earlier = object.members[place];
      for (std::size_t i = earlier.marks_begin; i < earlier.marks_end; ++i) {
        marks_->entries[i].obsolete = true;
      }
    }
    object.members[place] = member;
  }

  static std::optional<std::size_t> find(Object& object, const std::string& name) {
    const auto& members = object.value.get_ref<const Json::object_t&>();
    if (members.size() >= kSmallObject) {
      return find_in_index(object, name);
    }
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const auto& member) { return member.first == name; });
    if (found == members.end()) {
      return std::nullopt;
    }
    return static_cast<std::size_t>(found - members.begin());
  }

  static std::optional<std::size_t> find_in_index(Object& object, const std::string& name) {
    if (object.index.empty()) {
      std::size_t place = 0;
      for (const auto& member : object.value.get_ref<const Json::object_t&>()) {
        object.index.emplace(member.first, place++);
      }
    }
    const auto found = object.index.find(name);
    return found == object.index.end() ? std::nullopt : std::optional(found->second);
  }

  // An explicit key overrides a merged one by design. The other way round it surprises: YAML says
  // that the explicit key wins, go-yaml lets the last one win.
  void warn_of_duplicate(const std::string& name, const Member& earlier, const Member& later) {
    const bool merged_before = is_merge(tree_.nodes[earlier.key]);
    if (alias_depth_ > 0 || merged_before) {
      return;
    }
    const TextNode& at = tree_.nodes[later.key];
    const std::size_t line = tree_.nodes[earlier.key].line + first_line_;
    const string_view what = is_merge(at) ? "a merge key replaces" : "duplicate key";
    warnings_.push_back({mark(at), fmt::format("{} \"{}\" (first on line {}): the last one wins",
                                               what, name, line)});
  }

  void merge(Index value, Index key, Object& object, std::size_t depth) {
    uses_aliases_ = true;
    ++shared_;
    ++unmarked_;
    const TextNode& node = tree_.nodes[value];
    if (node.kind == TextNode::Kind::Sequence) {
      merge_list(node, key, object, depth);
    } else {
      merge_map(value, key, object, depth);
    }
    --unmarked_;
  }

  // The first of the list wins, so it is merged last.
  void merge_list(const TextNode& list, Index key, Object& object, std::size_t depth) {
    std::vector<Index> maps;
    for (Index child = list.child; child != kNone; child = tree_.nodes[child].next) {
      maps.push_back(child);
    }
    std::for_each(maps.rbegin(), maps.rend(),
                  [&](Index map) { merge_map(map, key, object, depth); });
  }

  void merge_map(Index value, Index key, Object& object, std::size_t depth) {
    const TextNode& node = tree_.nodes[value];
    const bool alias = node.kind == TextNode::Kind::Alias;
    count(node);
    TextNode& map = tree_.nodes[alias ? node.target : value];
    if (map.kind != TextNode::Kind::Mapping) {
      fail(node, "a merge key needs a map or a list of maps");
    }
    if (map.open) {
      fail(node, "the anchor's value contains itself");
    }
    alias_depth_ += alias ? 1 : 0;
    Json members = mapping(map, depth);
    alias_depth_ -= alias ? 1 : 0;
    for (auto& member : members.get_ref<Json::object_t&>()) {
      set(object, member.first, std::move(member.second), Member{key, 0, 0});
    }
  }

  [[nodiscard]] Mark mark(const TextNode& node) const {
    return {node.line + first_line_, node.column + 1};
  }

  [[nodiscard]] YamlNode describe(const TextNode& node, Index key) const {
    YamlNode result;
    result.value = mark(node);
    result.value_offset = node.offset + first_byte_;
    result.content_offset = node.content + first_byte_;
    result.end_offset = node.end + first_byte_;
    result.flow = node.flow;
    if (key != kNone) {
      result.key = mark(tree_.nodes[key]);
      result.key_offset = tree_.nodes[key].offset + first_byte_;
      result.key_end = tree_.nodes[key].end + first_byte_;
    }
    return result;
  }

  std::size_t enter(string_view token) {
    return marks_ == nullptr || unmarked_ > 0 ? 0 : marks_->enter(token);
  }

  void leave(std::size_t before) {
    if (marks_ != nullptr && unmarked_ == 0) {
      marks_->pointer.resize(before);
    }
  }

  TextTree& tree_;
  std::size_t first_line_;
  std::size_t first_byte_;
  MarkRecorder* marks_;  // Not owned; null where nobody asks for marks.
  std::vector<YamlWarning> warnings_;
  bool uses_aliases_ = false;
  std::size_t decoded_ = 0;        // Nodes, those that aliases repeat included.
  std::size_t aliased_ = 0;        // Of these, the repeated ones,
  std::size_t aliased_bytes_ = 0;  // and their text.
  std::size_t alias_depth_ = 0;
  std::size_t unmarked_ = 0;  // Above zero inside an alias or a merge key.
  std::size_t shared_ = 0;    // Anchors, aliases and merge keys so far.
};

}  // namespace

YamlSource convert(TextTree& tree, const TextOrigin& origin, MarkRecorder* marks) {
  Converter converter(tree, origin, marks);
  YamlSource source;
  source.value = converter.root();
  source.warnings = converter.take_warnings();
  source.uses_aliases = converter.uses_aliases();
  return source;
}

}  // namespace injector::yaml
