#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "yaml/converter.h"
#include "yaml/parser.h"
#include "yaml/syntax.h"
#include "yaml/yaml.h"

namespace injector::yaml {
namespace {

using std::string_view;
using Tree = TextTree;

// Offsets fit in 32 bits.
constexpr std::size_t kMaxText = std::size_t{256} << 20U;

// Thrown and caught in this file and the parser: deep in a tree, a Result at every step would hide
// what the step does.
using Problem = SyntaxProblem;

void require(std::optional<SyntaxProblem> problem) {
  if (problem) {
    throw *std::move(problem);
  }
}

Tree parse(string_view text) {
  if (text.size() > kMaxText) {
    throw Problem{0, fmt::format("document is larger than {} bytes", kMaxText)};
  }
  require(check_characters(text));
  Tree tree = parse_yaml(text);
  // go-yaml stops reading at the end of the root. What it accepts behind `{..}` is not refused
  // here, but the caller hears that something is ignored; behind anything else it is a mistake.
  const bool ignored = tree.rest && !tree.rest->refused && tree.nodes.front().flow;
  if (tree.rest && !ignored) {
    throw *std::move(tree.rest);
  }
  return tree;
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

base::Result<YamlSource> read(string_view raw, std::size_t first_line, LastLine last,
                              MarkRecorder* marks) {
  constexpr string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t start = raw.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  std::string text = with_newlines(raw.substr(start));
  if (last == LastLine::Ended && !text.empty() && !text.ends_with('\n')) {
    text += '\n';
  }
  try {
    Tree tree = parse(text);
    YamlSource source = convert(tree, {first_line, start}, marks);
    if (tree.rest) {
      source.warnings.push_back({mark_of(tree.rest->offset, text, first_line),
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

base::Result<YamlDocument> read_yaml(string_view text, std::size_t first_line, LastLine last) {
  INJ_ASSIGN(auto source, read(text, first_line, last, nullptr));
  YamlSource& read = source;
  return YamlDocument{std::move(read.value), std::move(read.warnings), read.uses_aliases};
}

base::Result<YamlSource> read_yaml_with_marks(string_view text, std::size_t first_line,
                                              LastLine last) {
  MarkRecorder marks;
  auto source = read(text, first_line, last, &marks);
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

}  // namespace injector::yaml
