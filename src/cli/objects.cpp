#include "cli/objects.h"

#include <array>
#include <utility>

namespace injector::cli {
namespace {

using base::Json;

struct FormatName {
  std::string_view name;
  OutputFormat format;
};

constexpr std::array<FormatName, 5> kFormats = {{
    {"yaml", OutputFormat::Yaml},
    {"json", OutputFormat::Json},
    {"diff", OutputFormat::Diff},
    {"strategic", OutputFormat::Strategic},
    {"json-patch", OutputFormat::JsonPatch},
}};

// The document's object, or those of its List.
base::Result<void> visit_document(const Json& value, const ObjectVisitor& visit) {
  if (!is_list(value)) {
    return value.is_null() ? base::Result<void>() : visit(value);
  }
  for (const Json& item : value.at("items")) {
    if (auto done = visit(complete_item(value, item)); !done) {
      return done;
    }
  }
  return {};
}

}  // namespace

std::optional<OutputFormat> parse_output_format(std::string_view text) {
  for (const FormatName& row : kFormats) {
    if (row.name == text) {
      return row.format;
    }
  }
  return std::nullopt;
}

base::Result<void> visit_objects(const std::vector<std::string>& files, const ObjectVisitor& visit,
                                 const Streams& streams) {
  INJ_ASSIGN(auto expanded, expand_inputs(files));
  for (const std::string& file : expanded) {
    auto done = visit_documents(
        file,
        [&](const Document& document) { return visit_document(document.source.value, visit); },
        streams);
    if (!done) {
      return base::annotate(std::move(done).error(), display_name(file));
    }
  }
  return {};
}

}  // namespace injector::cli
