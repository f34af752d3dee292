#include "cli/change_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cli/object_patches.h"
#include "cli/unified_diff.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr const char* kWhyReformatted =
    "an anchor, an alias or a merge key stands where the change goes";

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

base::Error needs_consent(const Document& document, std::string_view why) {
  return base::invalid(
      fmt::format("document at line {}: {}; --allow-reformat accepts that; without --in-place the "
                  "result is printed",
                  document.raw.first_line, why));
}

}  // namespace

void ChangeWriter::begin_file(const std::string& file) {
  file_ = file;
  has_header_ = false;
  removed_lines_ = 0;
  added_lines_ = 0;
}

base::Result<void> ChangeWriter::write(const Document& document, const DocumentChange& change) {
  switch (options_.output) {
    case OutputFormat::Strategic:
    case OutputFormat::JsonPatch:
      return write_patches(change);
    case OutputFormat::Diff:
      return write_diff(document, change);
    case OutputFormat::AsInput:
    case OutputFormat::Yaml:
    case OutputFormat::Json:
      return write_document(document, change);
  }
  return {};
}

base::Result<void> ChangeWriter::write_document(const Document& document,
                                                const DocumentChange& change) {
  const bool json = options_.output == OutputFormat::Json ||
                    (options_.output == OutputFormat::AsInput && document.raw.json);
  if (json) {
    return write_json(document, change);
  }
  if (document.raw.json) {
    const Json& value = change.value ? change.value->after : document.source.value;
    sinks_.out(joiner_.next(yaml::write_yaml(value), DocumentText::Written));
    return {};
  }
  INJ_ASSIGN(auto text, change.value ? yaml_text(document, *change.value) : document.raw.text);
  sinks_.out(joiner_.next(std::move(text), DocumentText::Yaml));
  return {};
}

base::Result<void> ChangeWriter::write_json(const Document& document,
                                            const DocumentChange& change) {
  if (must_keep_comments() && may_have_comments(document)) {
    return needs_consent(document, "as JSON it loses its comments");
  }
  const NewValue value =
      change.value ? *change.value : NewValue{document.source.value, std::nullopt};
  const bool as_it_is = document.raw.json && !change.value;
  std::string text = as_it_is ? document.raw.text : json_text(document, value);
  if (options_.output == OutputFormat::Json) {
    sinks_.out(list_.next(std::move(text), value.after));
    return {};
  }
  if (inputs_ == StreamJoiner::Inputs::Several && has_surrogate_escapes(text)) {
    text = base::write_json_pretty(value.after) + "\n";
  }
  sinks_.out(joiner_.next(std::move(text), DocumentText::Json));
  return {};
}

base::Result<std::string> ChangeWriter::yaml_text(const Document& document, const NewValue& value) {
  if (auto edited = edited_text(document, value)) {
    return *std::move(edited);
  }
  if (must_keep_comments()) {
    return needs_consent(document,
                         fmt::format("the change would reformat it, and comments would be lost: {}",
                                     kWhyReformatted));
  }
  sinks_.note(fmt::format("{}: document at line {}: reformatted, comments are lost: {}",
                          display_name(file_), document.raw.first_line, kWhyReformatted));
  return reformatted_yaml(document, value.after);
}

base::Result<void> ChangeWriter::write_diff(const Document& document,
                                            const DocumentChange& change) {
  if (!change.value) {
    return {};
  }
  INJ_ASSIGN(const auto after, document.raw.json
                                   ? base::Result<std::string>(json_text(document, *change.value))
                                   : yaml_text(document, *change.value));
  const std::size_t line = document.raw.first_line;
  std::string diff =
      unified_diff(document.raw.text, after, {line, line + added_lines_ - removed_lines_});
  added_lines_ += count_lines(after);
  removed_lines_ += count_lines(document.raw.text);
  if (!has_header_) {
    diff.insert(0, fmt::format("--- {0}\n+++ {0}\n", display_name(file_)));
    has_header_ = true;
  }
  sinks_.out(color_ ? coloured(diff) : diff);
  return {};
}

base::Result<void> ChangeWriter::write_patches(const DocumentChange& change) {
  for (const auto& [before, object] : change.objects) {
    if (!object.handled) {
      continue;
    }
    const auto patch = options_.output == OutputFormat::Strategic
                           ? strategic_patch_of(before, object)
                           : json_patch_of(before, object);
    if (!patch) {
      return base::annotate(patch.error(), object_title(before));
    }
    sinks_.out(base::write_json_pretty(patch.value()) + "\n");
  }
  return {};
}

}  // namespace injector::cli
