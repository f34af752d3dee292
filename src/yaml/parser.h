// YAML tokens to a tree of nodes, whose meaning (types, keys, aliases) is not known yet.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "yaml/syntax.h"

namespace injector::yaml {

/// Of a node in its tree.
using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = std::numeric_limits<NodeIndex>::max();

/// The tree is an array with links, so that an anchor is an index and no subtree is ever copied
/// before an alias asks for it. Places are counted from 0, offsets in bytes.
struct TextNode {
  enum class Kind : std::uint8_t { Scalar, Sequence, Mapping, Alias };

  std::string text;  // Of a scalar.
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t offset = 0;   // With its anchor and tag.
  std::uint32_t content = 0;  // Without them.
  std::uint32_t end = 0;      // The byte behind it.
  NodeIndex child = kNoNode;  // The first; a mapping has its keys and values in turn.
  NodeIndex next = kNoNode;
  NodeIndex target = kNoNode;  // Of an alias.
  std::uint32_t tag = 0;       // Into TextTree::tags; 0 is no tag.
  Kind kind = Kind::Scalar;
  bool plain = false;  // A scalar without quotes.
  bool flow = false;   // A collection in brackets.
  bool anchored = false;
  bool open = false;  // For the reader: a collection that is being converted.
};

struct TextTree {
  std::vector<TextNode> nodes;    // The root is the first. Empty: there is no document.
  std::vector<std::string> tags;  // The first is empty: no tag.
  /// What stands behind the root and is no end of the document. go-yaml does not look at it.
  std::optional<SyntaxProblem> rest;
};

/// Parses the first document. `text` is well-formed UTF-8. Throws a SyntaxProblem.
[[nodiscard]] TextTree parse_yaml(std::string_view text);

}  // namespace injector::yaml
