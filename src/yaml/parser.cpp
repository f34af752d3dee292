#include "yaml/parser.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "yaml/scanner.h"
#include "yaml/tag_directives.h"

namespace injector::yaml {
namespace {

using std::string_view;
using Kind = Token::Kind;

// A document of more values than this is no Kubernetes object; each costs about 90 bytes.
constexpr std::size_t kMaxNodes = 4'000'000;

class Parser {
 public:
  explicit Parser(string_view text)
      : scanner_(text) {}

  TextTree parse() {
    const bool directives = tags_.read(scanner_);
    const Kind first = scanner_.peek().kind;
    if (first == Kind::DocumentStart) {
      const Token marker = scanner_.take();
      document(marker);
    } else if (directives) {
      fail_at(scanner_.peek(), "directives need a --- line behind them");
    } else if (first != Kind::StreamEnd) {
      node(Context::Block, 1);
      look_behind();
    }
    return std::move(tree_);
  }

 private:
  // Where a node stands: in brackets, in a block, or in a block mapping, where the dashes of a list
  // need no indentation.
  enum class Context { Flow, Block, BlockMember };

  // What is known of a node before its content is read.
  struct Properties {
    std::optional<Position> start;
    std::size_t end = 0;
    std::string anchor;
    std::string tag;
    bool tagged = false;
  };

  template <class... Kinds>
  [[nodiscard]] bool next_is(Kinds... kinds) {
    const Kind next = scanner_.peek().kind;
    return ((next == kinds) || ...);
  }

  void document(const Token& marker) {
    if (next_is(Kind::Directive, Kind::DocumentStart, Kind::DocumentEnd, Kind::StreamEnd)) {
      absent(behind(marker), nullptr);
    } else {
      node(Context::Block, 1);
    }
    look_behind();
  }

  void look_behind() {
    try {
      const Token& token = scanner_.peek();
      if (!next_is(Kind::DocumentStart, Kind::DocumentEnd, Kind::StreamEnd)) {
        tree_.rest =
            SyntaxProblem{token.start.offset, token.kind == Kind::Directive
                                                  ? "a directive in the middle of a document"
                                                  : "expected the end of the document"};
      }
    } catch (SyntaxProblem& problem) {
      tree_.rest = std::move(problem);
      tree_.rest->refused = true;
    }
  }

  NodeIndex node(Context context, std::size_t depth) {
    if (depth > base::kMaxJsonDepth + 1) {
      fail_at(scanner_.peek(), fmt::format("nested deeper than {} levels", base::kMaxJsonDepth));
    }
    if (next_is(Kind::Alias)) {
      return alias();
    }
    const Properties properties = read_properties();
    if (next_is(Kind::Scalar)) {
      return scalar(properties);
    }
    if (next_is(Kind::FlowSequenceStart)) {
      return flow_sequence(properties, depth);
    }
    if (next_is(Kind::FlowMappingStart)) {
      return flow_mapping(properties, depth);
    }
    return block_node(properties, context, depth);
  }

  NodeIndex block_node(const Properties& properties, Context context, std::size_t depth) {
    if (context == Context::BlockMember && next_is(Kind::BlockEntry)) {
      return indentless_sequence(properties, depth);
    }
    if (context != Context::Flow && next_is(Kind::BlockSequenceStart)) {
      return block_sequence(properties, depth);
    }
    if (context != Context::Flow && next_is(Kind::BlockMappingStart)) {
      return block_mapping(properties, depth);
    }
    if (!properties.start) {
      fail_at(scanner_.peek(), context == Context::Flow ? "expected a value"
                                                        : "expected a value, or less indentation");
    }
    return absent(*properties.start, &properties);
  }

  Properties read_properties() {
    Properties properties;
    while (next_is(Kind::Anchor, Kind::Tag)) {
      const bool anchor = next_is(Kind::Anchor);
      if (anchor ? !properties.anchor.empty() : properties.tagged) {
        fail_at(scanner_.peek(), "a second anchor or tag of one value");
      }
      const Token token = scanner_.take();
      properties.start = properties.start.value_or(token.start);
      properties.end = token.end;
      properties.tagged = properties.tagged || !anchor;
      (anchor ? properties.anchor : properties.tag) = anchor ? token.text : tags_.name_of(token);
    }
    return properties;
  }

  static TextNode at(const Position& start, std::size_t content, std::size_t end) {
    TextNode node;
    node.line = static_cast<std::uint32_t>(start.line);
    node.column = static_cast<std::uint32_t>(start.column);
    node.offset = static_cast<std::uint32_t>(start.offset);
    node.content = static_cast<std::uint32_t>(content);
    node.end = static_cast<std::uint32_t>(end);
    return node;
  }

  NodeIndex add(TextNode node, const Properties* properties) {
    if (tree_.nodes.size() >= kMaxNodes) {
      throw SyntaxProblem{node.offset, fmt::format("document has more than {} values", kMaxNodes)};
    }
    const auto index = static_cast<NodeIndex>(tree_.nodes.size());
    if (properties != nullptr && !properties->anchor.empty()) {
      node.anchored = true;
      anchors_[properties->anchor] = index;
    }
    tree_.nodes.push_back(std::move(node));
    return index;
  }

  // A node that begins with the next token, or with what stands before it.
  static TextNode begin(const Properties& properties, const Token& token) {
    return at(properties.start.value_or(token.start), token.start.offset, token.end);
  }

  // Nothing, which is null unless a tag says otherwise.
  NodeIndex absent(const Position& place, const Properties* properties) {
    const std::size_t end = properties == nullptr ? place.offset : properties->end;
    TextNode node = at(place, end, end);
    set_scalar(node, "", true, properties);
    return add(std::move(node), properties);
  }

  NodeIndex alias() {
    const Token token = scanner_.take();
    const auto target = anchors_.find(token.text);
    if (target == anchors_.end()) {
      fail_at(token, fmt::format("no anchor is called {}", token.text));
    }
    TextNode node = at(token.start, token.start.offset, token.end);
    node.kind = TextNode::Kind::Alias;
    node.target = target->second;
    return add(std::move(node), nullptr);
  }

  NodeIndex scalar(const Properties& properties) {
    Token token = scanner_.take();
    TextNode node = begin(properties, token);
    set_scalar(node, std::move(token.text), token.plain, &properties);
    return add(std::move(node), &properties);
  }

  void set_scalar(TextNode& node, std::string text, bool plain, const Properties* properties) {
    const bool tagged = properties != nullptr && properties->tagged;
    node.text = std::move(text);
    node.plain = plain && !tagged;
    // A lone `!` only says that the scalar is text.
    node.tag = tagged && properties->tag != "!" ? intern(properties->tag) : 0;
  }

  std::uint32_t intern(const std::string& tag) {
    const auto [found, is_new] =
        tag_index_.emplace(tag, static_cast<std::uint32_t>(tree_.tags.size()));
    if (is_new) {
      tree_.tags.push_back(tag);
    }
    return found->second;
  }

  // A collection on its way: links each child behind the last one.
  class Builder {
   public:
    Builder(Parser& parser, const Properties& properties, const Token& first, TextNode::Kind kind)
        : parser_(parser) {
      TextNode node = begin(properties, first);
      node.kind = kind;
      index_ = parser.add(std::move(node), &properties);
    }

    void set_flow() { parser_.tree_.nodes[index_].flow = true; }

    void add(NodeIndex child) {
      auto& nodes = parser_.tree_.nodes;
      (last_ == kNoNode ? nodes[index_].child : nodes[last_].next) = child;
      last_ = child;
      end(nodes[child].end);
    }

    void end(std::size_t offset) {
      std::uint32_t& end = parser_.tree_.nodes[index_].end;
      end = std::max(end, static_cast<std::uint32_t>(offset));
    }

    [[nodiscard]] NodeIndex index() const { return index_; }

   private:
    Parser& parser_;
    NodeIndex index_ = kNoNode;
    NodeIndex last_ = kNoNode;
  };

  // The place behind a token or a node, for a value that is not there.
  static Position behind(const Token& token) {
    Position place = token.start;
    place.column += token.end - place.offset;
    place.offset = token.end;
    return place;
  }

  Position behind(NodeIndex index) {
    const TextNode& node = tree_.nodes[index];
    return {node.end, node.line, node.column + node.end - node.offset};
  }

  NodeIndex block_sequence(const Properties& properties, std::size_t depth) {
    Builder list(*this, properties, scanner_.take(), TextNode::Kind::Sequence);
    while (next_is(Kind::BlockEntry)) {
      const Token dash = scanner_.take();
      const bool empty = next_is(Kind::BlockEntry, Kind::BlockEnd);
      list.add(empty ? absent(behind(dash), nullptr) : node(Context::Block, depth + 1));
    }
    expect(Kind::BlockEnd, "expected '-' or less indentation");
    return list.index();
  }

  NodeIndex indentless_sequence(const Properties& properties, std::size_t depth) {
    Builder list(*this, properties, scanner_.peek(), TextNode::Kind::Sequence);
    while (next_is(Kind::BlockEntry)) {
      const Token dash = scanner_.take();
      const bool empty = next_is(Kind::BlockEntry, Kind::Key, Kind::Value, Kind::BlockEnd);
      list.add(empty ? absent(behind(dash), nullptr) : node(Context::Block, depth + 1));
    }
    return list.index();
  }

  NodeIndex block_mapping(const Properties& properties, std::size_t depth) {
    Builder map(*this, properties, scanner_.take(), TextNode::Kind::Mapping);
    while (next_is(Kind::Key)) {
      const Token mark = scanner_.take();
      const bool no_key = next_is(Kind::Key, Kind::Value, Kind::BlockEnd);
      const NodeIndex key =
          no_key ? absent(behind(mark), nullptr) : node(Context::BlockMember, depth + 1);
      map.add(key);
      map.add(block_value(key, depth));
    }
    expect(Kind::BlockEnd, "expected ':' or more indentation");
    return map.index();
  }

  NodeIndex block_value(NodeIndex key, std::size_t depth) {
    if (!next_is(Kind::Value)) {
      return absent(behind(key), nullptr);
    }
    const Token colon = scanner_.take();
    if (next_is(Kind::Key, Kind::Value, Kind::BlockEnd)) {
      return absent(behind(colon), nullptr);
    }
    return node(Context::BlockMember, depth + 1);
  }

  void expect(Kind kind, const char* message) {
    if (!next_is(kind)) {
      fail_at(scanner_.peek(), message);
    }
    static_cast<void>(scanner_.take());
  }

  NodeIndex flow_sequence(const Properties& properties, std::size_t depth) {
    Builder list(*this, properties, scanner_.take(), TextNode::Kind::Sequence);
    list.set_flow();
    for (bool first = true; !next_is(Kind::FlowSequenceEnd); first = false) {
      if (!first) {
        expect(Kind::FlowEntry, "expected ',' or ']'");
      }
      if (next_is(Kind::Key)) {
        list.add(flow_pair(depth));
      } else if (!next_is(Kind::FlowSequenceEnd)) {
        list.add(node(Context::Flow, depth + 1));
      }
    }
    list.end(scanner_.take().end);
    return list.index();
  }

  // `[a: b]`: a mapping of one member without brackets of its own.
  NodeIndex flow_pair(std::size_t depth) {
    Builder map(*this, Properties(), scanner_.peek(), TextNode::Kind::Mapping);
    map.set_flow();
    const Token mark = scanner_.take();
    NodeIndex key = kNoNode;
    if (next_is(Kind::Value, Kind::FlowEntry, Kind::FlowSequenceEnd)) {
      static_cast<void>(scanner_.take());  // As go-yaml does it, so that we refuse the same.
      key = absent(behind(mark), nullptr);
    } else {
      key = node(Context::Flow, depth + 2);
    }
    map.add(key);
    map.add(flow_value(key, Kind::FlowSequenceEnd, depth + 1));
    return map.index();
  }

  NodeIndex flow_value(NodeIndex key, Kind close, std::size_t depth) {
    if (!next_is(Kind::Value)) {
      return absent(behind(key), nullptr);
    }
    const Token colon = scanner_.take();
    if (next_is(Kind::FlowEntry, close)) {
      return absent(behind(colon), nullptr);
    }
    return node(Context::Flow, depth + 1);
  }

  NodeIndex flow_mapping(const Properties& properties, std::size_t depth) {
    Builder map(*this, properties, scanner_.take(), TextNode::Kind::Mapping);
    map.set_flow();
    for (bool first = true; !next_is(Kind::FlowMappingEnd); first = false) {
      if (!first) {
        expect(Kind::FlowEntry, "expected ',' or '}'");
      }
      if (!next_is(Kind::FlowMappingEnd)) {
        flow_member(map, depth);
      }
    }
    map.end(scanner_.take().end);
    return map.index();
  }

  void flow_member(Builder& map, std::size_t depth) {
    if (!next_is(Kind::Key)) {
      const NodeIndex key = node(Context::Flow, depth + 1);
      map.add(key);
      map.add(absent(behind(key), nullptr));
      return;
    }
    const Token mark = scanner_.take();
    const bool no_key = next_is(Kind::Value, Kind::FlowEntry, Kind::FlowMappingEnd);
    const NodeIndex key = no_key ? absent(behind(mark), nullptr) : node(Context::Flow, depth + 1);
    map.add(key);
    map.add(flow_value(key, Kind::FlowMappingEnd, depth));
  }

  Scanner scanner_;
  TextTree tree_{{}, {""}, {}};
  TagDirectives tags_;
  std::unordered_map<std::string, NodeIndex> anchors_;
  std::unordered_map<std::string, std::uint32_t> tag_index_;
};

}  // namespace

TextTree parse_yaml(string_view text) {
  return Parser(text).parse();
}

}  // namespace injector::yaml
