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
#include "codec/yaml_syntax.h"

namespace injector::codec {
namespace {

using base::Json;
using std::string_view;
using Index = std::uint32_t;

constexpr Index kNone = std::numeric_limits<Index>::max();

// Offsets fit in an Index, and the parser counts them in an int.
constexpr std::size_t kMaxText = std::size_t{256} << 20U;
// A document of more values than this is no Kubernetes object; each costs about 64 bytes.
constexpr std::size_t kMaxNodes = 4'000'000;
// What aliases may add to the text of a document, in bytes.
constexpr std::size_t kMaxAliasedBytes = std::size_t{64} << 20U;

// Thrown and caught in this file: the parser calls us back, and a Result cannot pass through it.
using Problem = SyntaxProblem;

void require(std::optional<SyntaxProblem> problem) {
  if (problem) {
    throw *std::move(problem);
  }
}

// One node of the text, before its meaning is known. The tree is an array with links, so that an
// anchor is an index and no subtree is ever copied before an alias asks for it.
struct TextNode {
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
  std::vector<TextNode> nodes;    // The root is the first.
  std::vector<std::string> tags;  // The first is empty: no tag.
};

// Builds the tree from the parser's events, and asks yaml_syntax.h what the parser does not.
class Composer final : public YAML::EventHandler {
 public:
  explicit Composer(string_view text)
      : text_(text) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}

  void OnDocumentEnd() override {
    if (last_ != Last::Block) {
      require(check_indentation(text_, text_.size(), last_ == Last::Plain));
    }
  }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    TextNode node = at(mark);
    node.plain = true;
    check_null(node);
    add(std::move(node), anchor);
    last_ = Last::Plain;
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    TextNode node = at(mark);
    node.kind = TextNode::Kind::Alias;
    node.target = anchors_.at(anchor);
    add(std::move(node), 0);
    last_ = Last::Other;
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    TextNode node = at(mark);
    node.text = value;
    node.plain = tag == "?";
    node.tag = tag == "?" || tag == "!" ? 0 : intern(tag);
    const std::size_t offset = node.offset;
    add(std::move(node), anchor);
    last_ = check_scalar(offset);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(mark, TextNode::Kind::Sequence, anchor, style);
  }

  void OnSequenceEnd() override { open_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    open(mark, TextNode::Kind::Mapping, anchor, style);
  }

  void OnMapEnd() override { open_.pop_back(); }

  /// True once the root is there with all that belongs to it.
  [[nodiscard]] bool complete() const { return !tree_.nodes.empty() && open_.empty(); }

  /// Where the innermost open bracket stands.
  [[nodiscard]] std::optional<std::size_t> open_bracket() const {
    if (open_.empty() || !tree_.nodes[open_.back().node].flow) {
      return std::nullopt;
    }
    return tree_.nodes[open_.back().node].offset;
  }

  [[nodiscard]] Tree take() { return std::move(tree_); }

 private:
  struct Open {
    Index node = 0;
    Index last_child = kNone;
    bool flow = false;      // Or inside one.
    bool at_value = false;  // In a mapping: the next child is a value.
  };

  // What stands before the next node, for the question whether a tab may stand between.
  enum class Last { Other, Plain, Block };

  static TextNode at(const YAML::Mark& mark) {
    TextNode node;
    node.line = static_cast<Index>(mark.line);
    node.column = static_cast<Index>(mark.column);
    node.offset = static_cast<Index>(mark.pos);
    return node;
  }

  Index intern(const std::string& tag) {
    const auto [found, is_new] = tag_index_.emplace(tag, static_cast<Index>(tree_.tags.size()));
    if (is_new) {
      tree_.tags.push_back(tag);
    }
    return found->second;
  }

  [[nodiscard]] bool in_flow() const { return !open_.empty() && open_.back().flow; }

  [[nodiscard]] char byte(std::size_t offset) const {
    return offset < text_.size() ? text_[offset] : '\0';
  }

  // The parser reports a null wherever a node is missing.
  void check_null(TextNode& node) {
    if (open_.empty()) {
      restore_tag(node);
      return;
    }
    const Open& parent = open_.back();
    if (tree_.nodes[parent.node].kind == TextNode::Kind::Sequence) {
      if (parent.flow && (byte(node.offset) == ',' || byte(node.offset) == ']')) {
        throw Problem{node.offset, "expected a value"};
      }
    } else if (parent.at_value) {
      place_behind_key(node, tree_.nodes[parent.last_child], parent.flow);
    }
  }

  // The parser gives an absent value the place of the next token.
  void place_behind_key(TextNode& node, const TextNode& key, bool flow) const {
    const auto colon = find_colon(text_, key.offset, key.text);
    if (!flow && !colon && !is_explicit_key(text_, key.offset)) {
      throw Problem{key.offset, "expected ':' after a key"};
    }
    // To go-yaml the colon of {a:} belongs to the key: ask for a text that is clear to both.
    constexpr string_view kFlowIndicators = ",[]{}";
    if (flow && colon && kFlowIndicators.find(byte(*colon + 1)) != string_view::npos) {
      throw Problem{*colon, "expected a space after ':'"};
    }
    const bool same_line =
        colon && text_.substr(key.offset, *colon - key.offset).find('\n') == string_view::npos;
    if (same_line && node.offset > *colon && !is_written(node, key)) {
      node.line = key.line;
      node.column = key.column + static_cast<Index>(*colon + 1 - key.offset);
      node.offset = static_cast<Index>(*colon + 1);
    }
  }

  // False where the place is that of the next token: an indicator, or a line that is not indented
  // further than the key.
  [[nodiscard]] bool is_written(const TextNode& node, const TextNode& key) const {
    const char first = byte(node.offset);
    const bool next_line = node.line > key.line && node.column <= key.column;
    return first != '\0' && first != ',' && first != '}' && first != ']' && !next_line;
  }

  // The parser forgets the tag of an empty document.
  void restore_tag(TextNode& node) {
    if (byte(node.offset) != '!') {
      return;
    }
    const string_view tag =
        text_.substr(node.offset, text_.find_first_of(" \t\r\n", node.offset) - node.offset);
    node.plain = false;
    node.tag = tag == "!" ? 0
                          : intern(tag.starts_with("!!")
                                       ? "tag:yaml.org,2002:" + std::string(tag.substr(2))
                                       : std::string(tag));
  }

  [[nodiscard]] Last check_scalar(std::size_t offset) const {
    const std::size_t content = skip_properties(text_, offset);
    const char first = byte(content);
    if (first == '"' || first == '\'') {
      if (!quoted_end(text_, content)) {
        throw Problem{content, "the quote is never closed"};
      }
      return Last::Other;
    }
    if (first == '|' || first == '>') {
      require(check_block_scalar(text_, content));
      return Last::Block;
    }
    return Last::Plain;
  }

  void open(const YAML::Mark& mark, TextNode::Kind kind, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    TextNode node = at(mark);
    node.kind = kind;
    node.flow = style == YAML::EmitterStyle::Flow;
    const bool flow = node.flow || in_flow();
    const Index index = add(std::move(node), anchor);
    open_.push_back({index, kNone, flow, false});
  }

  Index add(TextNode node, YAML::anchor_t anchor) {
    check_place(node);
    if (tree_.nodes.size() >= kMaxNodes) {
      throw Problem{node.offset, fmt::format("document has more than {} values", kMaxNodes)};
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

  void check_place(const TextNode& node) const {
    require(check_properties(text_, node.offset));
    if (in_flow()) {
      return;
    }
    if (last_ != Last::Block) {
      require(check_indentation(text_, node.offset, last_ == Last::Plain));
    }
    check_column(node);
  }

  // The parser takes a value on a new line that is not indented further than its parent.
  void check_column(const TextNode& node) const {
    const bool block = node.kind == TextNode::Kind::Sequence && !node.flow;
    if (open_.empty() || block || is_absent(node)) {
      return;
    }
    const TextNode& parent = tree_.nodes[open_.back().node];
    if (skip_properties(text_, parent.offset) != parent.offset) {
      return;  // The parent's place is that of its anchor or tag.
    }
    const bool key = parent.kind == TextNode::Kind::Mapping && !open_.back().at_value;
    if (!key && node.column <= parent.column && node.line > parent.line) {
      throw Problem{node.offset, "expected ':' or more indentation"};
    }
  }

  // A null that nobody wrote: its place is that of the next token.
  static bool is_absent(const TextNode& node) {
    return node.plain && node.text.empty() && node.tag == 0 && !node.anchored;
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
    parent.at_value = !parent.at_value;
  }

  string_view text_;
  Tree tree_{{}, {""}};
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, Index> anchors_;
  std::unordered_map<std::string, Index> tag_index_;
  Last last_ = Last::Other;
};

// Says where the parser finds more after the first document.
class Epilog final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    throw Problem{static_cast<std::size_t>(mark.pos), "expected the end of the document"};
  }

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}

  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}

  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}

  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}

  void OnSequenceEnd() override {}

  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}

  void OnMapEnd() override {}
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

  [[noreturn]] static void fail(const TextNode& node, std::string message) {
    throw Problem{node.offset, std::move(message)};
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

Problem problem_of(const YAML::Exception& error, const Composer& composer) {
  const auto bracket = composer.open_bracket();
  if (bracket && error.msg.find("flow not found") != std::string::npos) {
    return {*bracket, "the bracket is never closed"};
  }
  const bool deep = dynamic_cast<const YAML::DeepRecursion*>(&error) != nullptr;
  return {error.mark.is_null() ? 0 : static_cast<std::size_t>(error.mark.pos),
          deep ? "nested too deep" : error.msg};
}

void compose(YAML::Parser& parser, Composer& composer) {
  try {
    if (parser.HandleNextDocument(composer)) {
      Epilog epilog;
      parser.HandleNextDocument(epilog);
    } else {
      composer.OnDocumentEnd();
    }
  } catch (const YAML::Exception& error) {
    throw problem_of(error, composer);
  }
}

Tree parse(string_view text, std::optional<Problem>& rest) {
  if (text.size() > kMaxText) {
    throw Problem{0, fmt::format("document is larger than {} bytes", kMaxText)};
  }
  require(check_characters(text));
  FirstDocument document = first_document(text);
  require(std::move(document.problem));
  std::istringstream in{std::string(document.text)};
  Composer composer(document.text);
  try {
    YAML::Parser parser(in);
    compose(parser, composer);
    return composer.take();
  } catch (const Problem& problem) {
    const bool complete = composer.complete();
    Tree tree = composer.take();
    // go-yaml stops reading at the end of `{..}`. What it accepts is not refused here, but the
    // caller hears that something is ignored.
    if (!complete || !tree.nodes.front().flow) {
      throw;
    }
    rest = problem;
    return tree;
  }
}

Mark mark_of(std::size_t offset, string_view text, std::size_t first_line) {
  const string_view before = text.substr(0, offset);
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  return {first_line + line,
          newline == string_view::npos ? before.size() + 1 : before.size() - newline};
}

// A carriage return alone ends a line too, which the parser does not know.
std::string with_newlines(string_view text) {
  std::string result(text);
  for (std::size_t at = result.find('\r'); at != std::string::npos;
       at = result.find('\r', at + 1)) {
    if (at + 1 == result.size() || result[at + 1] != '\n') {
      result[at] = '\n';
    }
  }
  return result;
}

base::Result<YamlSource> read(string_view raw, std::size_t first_line, MarkRecorder* marks) {
  constexpr string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t start = raw.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const std::string text = with_newlines(raw.substr(start));
  try {
    std::optional<Problem> rest;
    Tree tree = parse(text, rest);
    Converter converter(tree, first_line, start, marks);
    YamlSource source;
    source.value = converter.root();
    source.warnings = converter.take_warnings();
    source.uses_aliases = converter.uses_aliases();
    if (rest) {
      source.warnings.push_back({mark_of(rest->offset, text, first_line),
                                 "what follows the end of the document is ignored"});
    }
    return source;
  } catch (const Problem& problem) {
    const Mark mark = mark_of(problem.offset, text, first_line);
    return base::invalid(
        fmt::format("line {}, column {}: {}", mark.line, mark.column, problem.message));
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
  if (!source) {
    return source;
  }
  for (auto& entry : marks.entries) {
    if (!entry.obsolete) {
      source.value().nodes.emplace(std::move(entry.pointer), entry.node);
    }
  }
  return source;
}

const YamlNode* YamlSource::node(const std::string& pointer) const {
  const auto found = nodes.find(pointer);
  return found == nodes.end() ? nullptr : &found->second;
}

}  // namespace injector::codec
