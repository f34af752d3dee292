#include "cli/patch_command.h"

#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/result.h"
#include "patch/json_patch.h"
#include "patch/merge_patch.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

using base::Error;
using base::Json;
using base::Result;

enum class Format { JsonText, YamlText };

struct Document {
  Json value;
  Format format = Format::JsonText;
};

struct DocumentPair {
  Document first;
  Document second;
};

std::string read_all(std::istream& stream) {
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

Result<std::string> read_source(const std::string& path, std::istream& in) {
  if (path == "-") {
    return read_all(in);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Error{base::ErrorCode::NotFound, "cannot be opened"};
  }
  std::string text = read_all(file);
  if (file.bad()) {
    return base::invalid("cannot be read");
  }
  return text;
}

// JSON is tried first: it is stricter, and what is JSON shall come out as JSON.
Result<Document> parse(const std::string& text, const std::string& path, std::ostream& err) {
  if (Result<Json> json = base::read_json(text); json) {
    return Document{std::move(json).value(), Format::JsonText};
  }
  Result<yaml::YamlDocument> yaml = yaml::read_yaml(text);
  if (!yaml) {
    return std::move(yaml).error();
  }
  for (const yaml::YamlWarning& warning : yaml.value().warnings) {
    err << path << ": line " << warning.where.line << ": " << base::printable(warning.message)
        << '\n';
  }
  return Document{std::move(yaml).value().value, Format::YamlText};
}

Result<Document> read_document(const std::string& path, PatchStreams streams) {
  Result<std::string> text = read_source(path, streams.in);
  Result<Document> document =
      text ? parse(text.value(), path, streams.err) : Result<Document>(std::move(text).error());
  if (!document) {
    return base::annotate(std::move(document).error(), path == "-" ? "standard input" : path);
  }
  return document;
}

Result<DocumentPair> read_pair(const std::string& first, const std::string& second,
                               PatchStreams streams) {
  if (first == "-" && second == "-") {
    return base::invalid("only one of the two documents can come from standard input");
  }
  Result<Document> left = read_document(first, streams);
  if (!left) {
    return std::move(left).error();
  }
  Result<Document> right = read_document(second, streams);
  if (!right) {
    return std::move(right).error();
  }
  return DocumentPair{std::move(left).value(), std::move(right).value()};
}

// The schema of the kind asked for, or else of the kind that the document names.
Result<const patch::Schema*> choose_schema(std::string_view asked, const Json& document) {
  const std::string kind(asked.empty() ? base::text_of(base::find(document, "kind")) : asked);
  const patch::Schema* schema = patch::schema_for_kind(kind);
  if (schema != nullptr) {
    return schema;
  }
  std::string message = kind.empty() ? "the original names no kind" : "unknown kind " + kind;
  message.append("; --kind takes ").append(patch::supported_kinds());
  message.append("; patch apply --type=merge|json needs no kind");
  return base::invalid(std::move(message));
}

Result<Json> apply_typed(const PatchApplyOptions& options, const Json& original,
                         const Json& patch) {
  switch (options.type) {
    case PatchType::Merge:
      return patch::apply_merge_patch(original, patch);
    case PatchType::Json:
      return patch::apply_json_patch(original, patch);
    case PatchType::Strategic:
      break;
  }
  const Result<const patch::Schema*> schema = choose_schema(options.kind, original);
  return schema ? patch::apply_strategic(original, patch, *schema.value())
                : Result<Json>(schema.error());
}

Result<std::string> diff(const PatchDiffOptions& options, PatchStreams streams) {
  const Result<DocumentPair> pair = read_pair(options.original, options.modified, streams);
  if (!pair) {
    return pair.error();
  }
  const Json& original = pair.value().first.value;
  const Result<const patch::Schema*> schema = choose_schema(options.kind, original);
  if (!schema) {
    return schema.error();
  }
  const Result<Json> patch =
      patch::two_way_merge_patch(original, pair.value().second.value, *schema.value());
  return patch ? Result<std::string>(base::write_json_pretty(patch.value()) + "\n")
               : Result<std::string>(patch.error());
}

Result<std::string> apply(const PatchApplyOptions& options, PatchStreams streams) {
  const Result<DocumentPair> pair = read_pair(options.original, options.patch, streams);
  if (!pair) {
    return pair.error();
  }
  const Document& original = pair.value().first;
  const Result<Json> patched = apply_typed(options, original.value, pair.value().second.value);
  if (!patched) {
    return patched.error();
  }
  return original.format == Format::YamlText ? yaml::write_yaml(patched.value())
                                             : base::write_json_pretty(patched.value()) + "\n";
}

int finish(const Result<std::string>& text, std::string_view command, PatchStreams streams) {
  if (!text) {
    streams.err << command << ": " << base::printable(text.error().message) << '\n';
    return 1;
  }
  streams.out << text.value() << std::flush;
  if (!streams.out) {
    streams.err << command << ": the result cannot be written\n";
    return 1;
  }
  return 0;
}

}  // namespace

int run_patch_diff(const PatchDiffOptions& options, PatchStreams streams) {
  return finish(diff(options, streams), "patch diff", streams);
}

int run_patch_apply(const PatchApplyOptions& options, PatchStreams streams) {
  return finish(apply(options, streams), "patch apply", streams);
}

}  // namespace injector::cli
