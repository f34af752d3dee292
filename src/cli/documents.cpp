#include "cli/documents.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/inputs.h"
#include "yaml/json_marks.h"

namespace injector::cli {
namespace {

using base::Json;
using yaml::RawDocument;

// Opens what a name of -f means. The stream lives as long as the opened input.
class OpenInput {
 public:
  OpenInput(const std::string& path, std::istream& in)
      : stream_(&in) {
    if (path != kStandardInput) {
      file_.open(path, std::ios::binary);
      stream_ = &file_;
    }
  }

  [[nodiscard]] std::istream& stream() { return *stream_; }

  [[nodiscard]] bool ok() const { return stream_ != &file_ || file_.is_open(); }

 private:
  std::ifstream file_;
  std::istream* stream_;
};

// Braces with quoted keys may be YAML all the same: with comments, or a comma too many.
base::Result<yaml::YamlSource> read_braces(RawDocument& raw) {
  auto json = yaml::read_json_with_marks(raw.text);
  if (json) {
    return json;
  }
  auto yaml = yaml::read_yaml_with_marks(raw.text, raw.first_line, yaml::LastLine::Ended);
  if (!yaml || !yaml.value().warnings.empty()) {
    return base::annotate(std::move(json).error(),
                          fmt::format("document at line {}", raw.first_line));
  }
  raw.json = false;
  return yaml;
}

// "{{" is an error in nearly every place of a YAML document, and what Helm templates are full of.
base::Error with_hint(base::Error error, const RawDocument& raw) {
  if (raw.text.find("{{") != std::string::npos) {
    error.message +=
        "; this looks like a Helm template, which has to be rendered first: "
        "helm template . | envoy-initializer inject -f -";
  }
  return error;
}

base::Result<Document> read_document(RawDocument raw) {
  auto source = raw.json
                    ? read_braces(raw)
                    : yaml::read_yaml_with_marks(raw.text, raw.first_line, yaml::LastLine::Ended);
  if (!source) {
    return with_hint(std::move(source).error(), raw);
  }
  return Document{std::move(raw), std::move(source).value()};
}

void write_warnings(const std::string& file, const Document& document, std::ostream& err) {
  for (const yaml::YamlWarning& warning : document.source.warnings) {
    err << fmt::format("{}:{}: warning: {}\n", display_name(file), warning.where.line,
                       base::printable(warning.message));
  }
}

}  // namespace

base::Result<void> visit_documents(const std::string& file, const DocumentVisitor& visit,
                                   const Streams& streams, const UnreadableDocument& skip) {
  OpenInput input(file, streams.in);
  if (!input.ok()) {
    return base::Error{base::ErrorCode::NotFound, "cannot be read"};
  }
  yaml::DocumentStream documents(input.stream());
  while (true) {
    INJ_ASSIGN(auto raw, documents.next());
    if (!raw) {
      return {};
    }
    const auto document = read_document(*std::move(raw));
    if (!document && skip) {
      skip(document.error());
      continue;
    }
    if (!document) {
      return document.error();
    }
    write_warnings(file, document.value(), streams.err);
    if (auto done = visit(document.value()); !done) {
      return done;
    }
  }
}

std::string display_name(const std::string& file) {
  return file == kStandardInput ? "standard input" : file;
}

bool is_list(const Json& document) {
  const Json* items = base::find(document, "items");
  return base::text_of(base::find(document, "kind")).ends_with("List") && items != nullptr &&
         items->is_array();
}

Json complete_item(const Json& list, const Json& item) {
  const std::string_view list_kind = base::text_of(base::find(list, "kind"));
  if (!item.is_object() || item.contains("kind") || list_kind == "List") {
    return item;
  }
  Json named = item;
  named["kind"] = list_kind.substr(0, list_kind.size() - std::string_view("List").size());
  const std::string_view version = base::text_of(base::find(list, "apiVersion"));
  if (!named.contains("apiVersion") && !version.empty()) {
    named["apiVersion"] = version;
  }
  return named;
}

std::string object_title(const Json& object) {
  std::string kind(base::text_of(base::find(object, "kind")));
  std::transform(kind.begin(), kind.end(), kind.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string name(base::text_of(base::find(object, "metadata", "name")));
  if (name.empty()) {
    name = std::string(base::text_of(base::find(object, "metadata", "generateName"))) + "*";
  }
  return fmt::format("{}/{}", kind.empty() ? "object" : base::echoed(kind), base::echoed(name));
}

}  // namespace injector::cli
