#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "codec/yaml.h"
#include "codec/yaml_scalar.h"

namespace injector::codec {
namespace {

using base::Json;
using std::string_view;
using Index = std::uint32_t;

constexpr Index kNone = std::numeric_limits<Index>::max();

// A document of more values than this is no Kubernetes object; each costs about 64 bytes.
constexpr std::size_t kMaxNodes = 4'000'000;
// What aliases may add to the text of a document, in bytes.
constexpr std::size_t kMaxAliasedBytes = std::size_t{64} << 20U;

// Thrown and caught in this file: the parser calls us back, and a Result cannot pass through it.
struct Problem {
  std::size_t line = 0;  // Counted from 0.
  std::size_t column = 0;
  std::string message;
};

// One node of the text, before its meaning is known. The tree is an array with links, so that an
// anchor is an index and no subtree is ever copied before an alias asks for it.
struct Node {
  enum class Kind : std::uint8_t { Scalar, Sequence, Mapping, Alias };

  std::string text;  // Of a scalar.
  Index line = 0;
  Index column = 0;
  Index offset = 0;
  Index child = kNone;  // The first; a mapping has its keys and values in turn.
  Index next = kNone;
  Index target = kNone;  // Of an alias.
  Index tag = 0;         // Into Tree::tags; 0 is no tag.
  Kind kind = Kind::Scalar;
  bool plain = false;  // A scalar without quotes.
  bool flow = false;
  bool anchored = false;
  bool open = false;  // A collection that is being converted: an alias to it is a cycle.
};

struct Tree {
  std::vector<Node> nodes;        // The root is the first.
  std::vector<std::string> tags;  // The first is empty: no tag.
};

// Builds the tree from the parser's events.
class Composer final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (done_) {
      throw Problem{static_cast<std::size_t>(mark.line), static_cast<std::size_t>(mark.column),
                    "expected the end of the document"};
    }
  }

  void OnDocumentEnd() override { done_ = true; }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = at(mark);
    node.plain = true;
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node = at(mark);
    node.kind = Node::Kind::Alias;
    node.target = anchors_.at(anchor);
    add(std::move(node), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = at(mark);
    node.text = value;
    node.plain = tag == "?";
    node.tag = tag == "?" || tag == "!" ? 0 : intern(tag);
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, Node::Kind::Sequence, anchor, style);
  }

  void OnSequenceEnd() override { open_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, Node::Kind::Mapping, anchor, style);
  }

  void OnMapEnd() override { open_.pop_back(); }

  [[nodiscard]] Tree take() { return std::move(tree_); }

 private:
  struct Open {
    Index node;
    Index last_child;
  };

  static Node at(const YAML::Mark& mark) {
    Node node;
    node.line = static_cast<Index>(mark.line);
    node.column = static_cast<Index>(mark.column);
    node.offset = static_cast<Index>(mark.pos);
    return node;
  }

  Index intern(const std::string& tag) {
    const auto found = std::find(tree_.tags.begin(), tree_.tags.end(), tag);
    if (found == tree_.tags.end()) {
      tree_.tags.push_back(tag);
      return static_cast<Index>(tree_.tags.size() - 1);
    }
    return static_cast<Index>(found - tree_.tags.begin());
  }

  void open(const YAML::Mark& mark, Node::Kind kind, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    Node node = at(mark);
    node.kind = kind;
    node.flow = style == YAML::EmitterStyle::Flow;
    const Index index = add(std::move(node), anchor);
    open_.push_back({index, kNone});
  }

  Index add(Node node, YAML::anchor_t anchor) {
    if (tree_.nodes.size() >= kMaxNodes) {
      throw Problem{node.line, node.column,
                    fmt::format("document has more than {} values", kMaxNodes)};
    }
    const auto index = static_cast<Index>(tree_.nodes.size());
    if (anchor != 0) {
      node.anchored = true;
      anchors_[anchor] = index;
    }
    tree_.nodes.push_back(std::move(node));
    link(index);
    return index;
  }

  void link(Index index) {
    if (open_.empty()) {
      return;
    }
    Open& parent = open_.back();
    Index& place = parent.last_child == kNone ? tree_.nodes[parent.node].child
                                              : tree_.nodes[parent.last_child].next;
    place = index;
    parent.last_child = index;
  }

  Tree tree_{{}, {""}};
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Index> anchors_;
  bool done_ = false;
};

// Where nodes of the text stand, in the order of the walk. A key that comes again makes what stood
// under it before obsolete, so the list is thinned before it becomes YamlSource::nodes.
struct MarkRecorder {
  struct Entry {
    std::string pointer;
    YamlNode node;
    bool obsolete = false;
  };

  std::vector<Entry> entries;
  std::string pointer;  // Of the value that is being converted.

  std::size_t enter(string_view token) {
    const std::size_t before = pointer.size();
    pointer.push_back('/');
    for (const char c : token) {
      if (c == '~' || c == '/') {
        pointer.append(c == '~' ? "~0" : "~1");
      } else {
        pointer.push_back(c);
      }
    }
    return before;
  }
};

// Turns the tree into JSON: types, keys, aliases and merge keys as go-yaml decodes them.
class Converter {
 public:
  Converter(Tree& tree, std::size_t first_line, std::size_t first_byte, MarkRecorder* marks)
      : tree_(tree),
        first_line_(first_line),
        first_byte_(first_byte),
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

  [[noreturn]] static void fail(const Node& node, std::string message) {
    throw Problem{node.line, node.column, std::move(message)};
  }

  template <class T>
  static T required(const Node& node, base::Result<T> result) {
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

  void count(const Node& node) {
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
    Node& node = tree_.nodes[index];
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

  Json plain_value(Node& node, std::size_t depth) {
    shared_ += node.anchored ? 1 : 0;
    switch (node.kind) {
      case Node::Kind::Scalar:
        return required(node, scalar_to_json(scalar(node)));
      case Node::Kind::Alias:
        return follow(node, depth);
      case Node::Kind::Sequence:
        return sequence(node, depth);
      case Node::Kind::Mapping:
        return mapping(node, depth);
    }
    return {};
  }

  ScalarValue scalar(const Node& node) {
    if (node.tag != 0) {
      return required(node, resolve_tagged(node.text, tree_.tags[node.tag]));
    }
    return node.plain ? resolve_plain(node.text) : ScalarValue(node.text);
  }

  Json follow(const Node& alias, std::size_t depth) {
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

  static void check_depth(const Node& node, std::size_t depth) {
    if (depth > base::kMaxJsonDepth) {
      fail(node, fmt::format("nested deeper than {} levels", base::kMaxJsonDepth));
    }
  }

  Json sequence(Node& node, std::size_t depth) {
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

  Json mapping(Node& node, std::size_t depth) {
    Object object;
    add_members(node, object, depth);
    return std::move(object.value);
  }

  void add_members(Node& node, Object& object, std::size_t depth) {
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

  [[nodiscard]] bool is_merge(const Node& key) const {
    return key.kind == Node::Kind::Scalar && key.text == "<<" &&
           (key.plain || tree_.tags[key.tag] == "tag:yaml.org,2002:merge");
  }

  std::string key_text(Index index) {
    const Node& key = tree_.nodes[index];
    count(key);
    shared_ += key.anchored ? 1 : 0;
    if (key.kind == Node::Kind::Alias) {
      uses_aliases_ = true;
      ++shared_;
      return key_text(key.target);
    }
    if (key.kind != Node::Kind::Scalar) {
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
    const Node& at = tree_.nodes[later.key];
    const std::size_t line = tree_.nodes[earlier.key].line + first_line_;
    const string_view what = is_merge(at) ? "a merge key replaces" : "duplicate key";
    warnings_.push_back({mark(at), fmt::format("{} \"{}\" (first on line {}): the last one wins",
                                               what, name, line)});
  }

  void merge(Index value, Index key, Object& object, std::size_t depth) {
    uses_aliases_ = true;
    ++shared_;
    ++unmarked_;
    const Node& node = tree_.nodes[value];
    if (node.kind == Node::Kind::Sequence) {
      merge_list(node, key, object, depth);
    } else {
      merge_map(value, key, object, depth);
    }
    --unmarked_;
  }

  // The first of the list wins, so it is merged last.
  void merge_list(const Node& list, Index key, Object& object, std::size_t depth) {
    std::vector<Index> maps;
    for (Index child = list.child; child != kNone; child = tree_.nodes[child].next) {
      maps.push_back(child);
    }
    std::for_each(maps.rbegin(), maps.rend(),
                  [&](Index map) { merge_map(map, key, object, depth); });
  }

  void merge_map(Index value, Index key, Object& object, std::size_t depth) {
    const Node& node = tree_.nodes[value];
    const bool alias = node.kind == Node::Kind::Alias;
    count(node);
    Node& map = tree_.nodes[alias ? node.target : value];
    if (map.kind != Node::Kind::Mapping) {
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

  [[nodiscard]] Mark mark(const Node& node) const {
    return {node.line + first_line_, node.column + 1};
  }

  [[nodiscard]] YamlNode describe(const Node& node, Index key) const {
    YamlNode result;
    result.value = mark(node);
    result.value_offset = node.offset + first_byte_;
    result.flow = node.flow;
    if (key != kNone) {
      result.key = mark(tree_.nodes[key]);
      result.key_offset = tree_.nodes[key].offset + first_byte_;
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

  Tree& tree_;
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

Tree compose(string_view text) {
  std::istringstream in{std::string(text)};
  Composer composer;
  YAML::Parser parser(in);
  if (parser.HandleNextDocument(composer)) {
    parser.HandleNextDocument(composer);  // Throws if something follows.
  }
  return composer.take();
}

// The whole of reading; the value is all that the caller gets to see of this file.
base::Result<YamlSource> read(string_view text, std::size_t first_line, MarkRecorder* marks) {
  const auto failure = [&](std::size_t line, std::size_t column, string_view message) {
    return base::invalid(
        fmt::format("line {}, column {}: {}", line + first_line, column + 1, message));
  };
  try {
    const std::size_t bom = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
    Tree tree = compose(text.substr(bom));
    Converter converter(tree, first_line, bom, marks);
    YamlSource source;
    source.value = converter.root();
    source.warnings = converter.take_warnings();
    source.uses_aliases = converter.uses_aliases();
    return source;
  } catch (const Problem& problem) {
    return failure(problem.line, problem.column, problem.message);
  } catch (const YAML::DeepRecursion& error) {
    return failure(static_cast<std::size_t>(error.mark.line),
                   static_cast<std::size_t>(error.mark.column), "nested too deep");
  } catch (const YAML::Exception& error) {
    const std::size_t line = error.mark.is_null() ? 0 : static_cast<std::size_t>(error.mark.line);
    const std::size_t column =
        error.mark.is_null() ? 0 : static_cast<std::size_t>(error.mark.column);
    return failure(line, column, error.msg);
  }
}

}  // namespace

base::Result<YamlDocument> read_yaml(string_view text, std::size_t first_line) {
  auto source = read(text, first_line, nullptr);
  if (!source) {
    return std::move(source).error();
  }
  YamlSource& read = source.value();
  return YamlDocument{std::move(read.value), std::move(read.warnings), read.uses_aliases};
}

base::Result<YamlSource> read_yaml_with_marks(string_view text, std::size_t first_line) {
  MarkRecorder marks;
  auto source = read(text, first_line, &marks);
  if (source) {
    for (auto& entry : marks.entries) {
      if (!entry.obsolete) {
        source.value().nodes.emplace(std::move(entry.pointer), entry.node);
      }
    }
  }
  return source;
}

const YamlNode* YamlSource::node(const std::string& pointer) const {
  const auto found = nodes.find(pointer);
  return found == nodes.end() ? nullptr : &found->second;
}

}  // namespace injector::codec
