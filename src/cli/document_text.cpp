#include "cli/document_text.h"

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "yaml/edit.h"
#include "yaml/json_marks.h"

namespace injector::cli {
namespace {

using base::Json;

std::optional<std::string> edit_once(const std::string& text, bool json,
                                     const yaml::YamlSource& source, const Json& after) {
  return json ? yaml::edit_json(text, source, after) : yaml::edit_yaml(text, source, after);
}

// The document that `text` is, at the place of `before`.
std::optional<Document> read_again(std::string text, const Document& before) {
  auto source = before.raw.json ? yaml::read_json_with_marks(text)
                                : yaml::read_yaml_with_marks(text, before.raw.first_line,
                                                             yaml::LastLine::Ended);
  if (!source) {
    return std::nullopt;
  }
  return Document{{std::move(text), before.raw.first_line, before.raw.json},
                  std::move(source).value()};
}

std::optional<std::string> edit_in_steps(const Document& document, const NewValue& value) {
  auto bare = edit_once(document.raw.text, document.raw.json, document.source, *value.through);
  if (!bare) {
    return std::nullopt;
  }
  const auto between = read_again(*std::move(bare), document);
  return between ? edit_once(between->raw.text, between->raw.json, between->source, value.after)
                 : std::nullopt;
}

}  // namespace

std::optional<std::string> edited_text(const Document& document, const NewValue& value) {
  if (value.through) {
    if (auto edited = edit_in_steps(document, value)) {
      return edited;
    }
  }
  return edit_once(document.raw.text, document.raw.json, document.source, value.after);
}

std::string json_text(const Document& document, const NewValue& value) {
  const std::string_view text = document.raw.text;
  if (document.raw.json) {
    if (auto edited = edited_text(document, value)) {
      return *std::move(edited);
    }
  }
  const std::size_t open = text.find('{');
  const std::size_t line = text.find('\n', open == std::string_view::npos ? 0 : open);
  const bool one_line = document.raw.json && line >= text.find_last_of('}');
  return (one_line ? base::write_json(value.after) : base::write_json_pretty(value.after)) + "\n";
}

std::string reformatted_yaml(const Document& document, const Json& after) {
  const yaml::YamlNode* root = document.source.node("");
  const std::string& text = document.raw.text;
  const std::size_t offset = root == nullptr ? 0 : std::min(root->value_offset, text.size());
  const std::size_t newline = text.rfind('\n', offset == 0 ? 0 : offset - 1);
  const std::size_t begin = offset == 0 || newline == std::string::npos ? 0 : newline + 1;
  const std::string same_line = text.substr(begin, offset - begin);
  return text.substr(0, begin) + (same_line.starts_with("---") ? "---\n" : "") +
         yaml::write_yaml(after);
}

bool may_have_comments(const Document& document) {
  return !document.raw.json && document.raw.text.find('#') != std::string::npos;
}

}  // namespace injector::cli
