#include "cli/objects.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "cli/file_replacer.h"
#include "cli/inputs.h"
#include "cli/progress.h"
#include "cli/spool.h"
#include "cli/unified_diff.h"
#include "codec/document_stream.h"
#include "codec/json.h"
#include "codec/json_marks.h"
#include "codec/yaml.h"
#include "codec/yaml_edit.h"
#include "core/render.h"
#include "patch/json_patch.h"
#include "patch/schema.h"

namespace injector::cli {
namespace {

using base::Json;
using codec::RawDocument;

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

// kind List, or PodList and the like, whose items may leave out their kind.
bool is_list(const Json& document) {
  const Json* items = base::find(document, "items");
  return base::text_of(base::find(document, "kind")).ends_with("List") && items != nullptr &&
         items->is_array();
}

Json item_with_kind(const Json& list, const Json& item) {
  const std::string_view list_kind = base::text_of(base::find(list, "kind"));
  if (!item.is_object() || item.contains("kind") || list_kind == "List") {
    return item;
  }
  Json named = item;
  named["kind"] = list_kind.substr(0, list_kind.size() - std::string_view("List").size());
  return named;
}

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

// One document, read.
struct Document {
  RawDocument raw;
  codec::YamlSource source;
};

// Braces with quoted keys may be YAML all the same: with comments, or a comma too many.
base::Result<codec::YamlSource> read_braces(RawDocument& raw) {
  auto json = codec::read_json_with_marks(raw.text);
  if (json) {
    return json;
  }
  auto yaml = codec::read_yaml_with_marks(raw.text, raw.first_line, codec::LastLine::Ended);
  if (!yaml || !yaml.value().warnings.empty()) {
    return base::annotate(std::move(json).error(),
                          fmt::format("document at line {}", raw.first_line));
  }
  raw.json = false;
  return yaml;
}

base::Result<Document> read_document(RawDocument raw) {
  Document document;
  auto source = raw.json
                    ? read_braces(raw)
                    : codec::read_yaml_with_marks(raw.text, raw.first_line, codec::LastLine::Ended);
  if (!source) {
    return std::move(source).error();
  }
  document.source = std::move(source).value();
  document.raw = std::move(raw);
  return document;
}

using DocumentVisitor = std::function<base::Result<void>(Document document)>;

base::Result<void> visit_documents(const std::string& file, std::istream& in,
                                   const DocumentVisitor& visit, const Streams& streams) {
  OpenInput input(file, in);
  if (!input.ok()) {
    return base::Error{base::ErrorCode::NotFound, "cannot be read"};
  }
  codec::DocumentStream documents(input.stream());
  while (true) {
    auto raw = documents.next();
    if (!raw) {
      return std::move(raw).error();
    }
    if (!raw.value()) {
      return {};
    }
    auto document = read_document(*std::move(raw).value());
    if (!document) {
      return std::move(document).error();
    }
    for (const codec::YamlWarning& warning : document.value().source.warnings) {
      streams.err << fmt::format("{}:{}: warning: {}\n", file, warning.where.line,
                                 base::printable(warning.message));
    }
    if (auto done = visit(std::move(document).value()); !done) {
      return done;
    }
  }
}

// What a document becomes, and what its objects had to say.
struct DocumentChange {
  std::optional<Json> after;  // Unset: no object changed.
  std::vector<std::pair<Json, ObjectChange>> objects;
};

class Rewriter {
 public:
  Rewriter(const RewriteOptions& options, const ObjectCommand& command, const Streams& streams)
      : options_(options),
        command_(command),
        streams_(streams),
        progress_(streams.err, streams.live_progress && options.quiet) {}

  int run() {
    auto files = expand_inputs(options_.files);
    if (!files) {
      return failed(files.error());
    }
    for (const std::string& file : files.value()) {
      if (auto done = rewrite_file(file); !done) {
        return failed(base::annotate(std::move(done).error(), display_name(file)));
      }
    }
    progress_.clear();
    auto written = options_.in_place ? replacer_.commit() : spool_.flush_to(streams_.out);
    if (!written) {
      return failed(written.error());
    }
    return options_.strict && unmet_ ? kUnmet : kDone;
  }

 private:
  static std::string display_name(const std::string& file) {
    return file == kStandardInput ? "standard input" : file;
  }

  int failed(const base::Error& error) {
    progress_.clear();
    streams_.err << "error: " << base::printable(error.message) << "\n";
    return kFailed;
  }

  base::Result<void> rewrite_file(const std::string& file) {
    file_ = file;
    removed_lines_ = 0;
    added_lines_ = 0;
    file_has_output_ = false;
    if (options_.in_place) {
      if (auto opened = replacer_.open(file); !opened) {
        return opened;
      }
    }
    auto done = visit_documents(
        file, streams_.in, [&](const Document& document) { return rewrite_document(document); },
        streams_);
    if (done && options_.in_place) {
      return replacer_.close();
    }
    return done;
  }

  base::Result<void> rewrite_document(const Document& document) {
    auto change = change_document(document);
    if (!change) {
      return std::move(change).error();
    }
    switch (options_.output) {
      case OutputFormat::Strategic:
      case OutputFormat::JsonPatch:
        return write_patches(change.value());
      case OutputFormat::Diff:
        write_diff(document, change.value());
        return {};
      case OutputFormat::AsInput:
      case OutputFormat::Yaml:
      case OutputFormat::Json:
        write(output_text(document, change.value()));
        return {};
    }
    return {};
  }

  base::Result<DocumentChange> change_document(const Document& document) {
    const Json& before = document.source.value;
    DocumentChange change;
    if (!is_list(before)) {
      auto after = change_object(before, document, change);
      if (!after) {
        return std::move(after).error();
      }
      change.after = std::move(after).value();
      return change;
    }
    for (std::size_t i = 0; i < before.at("items").size(); ++i) {
      const Json& item = before.at("items").at(i);
      auto after = change_object(item_with_kind(before, item), document, change);
      if (!after) {
        return std::move(after).error();
      }
      if (after.value()) {
        put_item(change, before, i, *std::move(after).value());
      }
    }
    return change;
  }

  static void put_item(DocumentChange& change, const Json& before, std::size_t index, Json item) {
    if (!change.after) {
      change.after = before;
    }
    Json& place = change.after->at("items").at(index);
    if (!place.contains("kind")) {
      item.erase("kind");
    }
    place = std::move(item);
  }

  base::Result<std::optional<Json>> change_object(const Json& object, const Document& document,
                                                  DocumentChange& into) {
    auto change = command_(object);
    if (!change) {
      return base::annotate(
          std::move(change).error(),
          fmt::format("document at line {}: {}", document.raw.first_line, object_title(object)));
    }
    report(object, change.value());
    into.objects.emplace_back(object, std::move(change).value());
    return into.objects.back().second.after;
  }

  void report(const Json& object, const ObjectChange& change) {
    unmet_ = unmet_ || change.unmet;
    progress_.count();
    const std::string title = object_title(object);
    if (!change.report.empty() && (!options_.quiet || change.unmet)) {
      progress_.clear();
      streams_.err << title << ": " << base::printable(change.report) << "\n";
    }
    for (const std::string& warning : change.warnings) {
      progress_.clear();
      streams_.err << title << ": warning: " << base::printable(warning) << "\n";
    }
  }

  std::string output_text(const Document& document, const DocumentChange& change) {
    const Json& value = change.after ? *change.after : document.source.value;
    const bool json = options_.output == OutputFormat::Json ||
                      (options_.output == OutputFormat::AsInput && document.raw.json);
    if (json == document.raw.json && !change.after) {
      return document.raw.text;
    }
    if (json) {
      return value.is_null() ? "" : json_text(document, value);
    }
    return document.raw.json ? "---\n" + codec::write_yaml(value) : yaml_text(document, value);
  }

  // A JSON document is edited; printed anew, it keeps to one line if it was on one.
  static std::string json_text(const Document& document, const Json& value) {
    const std::string_view text = document.raw.text;
    if (document.raw.json) {
      if (auto edited = codec::edit_json(text, document.source, value)) {
        return *std::move(edited);
      }
    }
    const std::size_t open = text.find('{');
    const std::size_t line = text.find('\n', open == std::string_view::npos ? 0 : open);
    const bool one_line = document.raw.json && line >= text.find_last_of('}');
    return (one_line ? codec::write_json(value) : codec::write_json_pretty(value)) + "\n";
  }

  std::string yaml_text(const Document& document, const Json& after) {
    if (auto edited = codec::edit_yaml(document.raw.text, document.source, after)) {
      return *std::move(edited);
    }
    progress_.clear();
    streams_.err << fmt::format(
        "{}: document at line {}: reformatted, comments are lost: an anchor, an alias or a merge "
        "key stands where the change goes\n",
        display_name(file_), document.raw.first_line);
    return head_of(document) + codec::write_yaml(after);
  }

  // What stands before the document's value: comments, directives, its "---".
  static std::string head_of(const Document& document) {
    const codec::YamlNode* root = document.source.node("");
    const std::string& text = document.raw.text;
    const std::size_t offset = root == nullptr ? 0 : std::min(root->value_offset, text.size());
    const std::size_t newline = text.rfind('\n', offset == 0 ? 0 : offset - 1);
    const std::size_t begin = offset == 0 || newline == std::string::npos ? 0 : newline + 1;
    const std::string same_line = text.substr(begin, offset - begin);
    return text.substr(0, begin) + (same_line.starts_with("---") ? "---\n" : "");
  }

  void write_diff(const Document& document, const DocumentChange& change) {
    if (!change.after) {
      return;
    }
    const std::string after =
        document.raw.json ? json_text(document, *change.after) : yaml_text(document, *change.after);
    const std::size_t line = document.raw.first_line;
    std::string diff =
        unified_diff(document.raw.text, after, {line, line + added_lines_ - removed_lines_});
    added_lines_ += count_lines(after);
    removed_lines_ += count_lines(document.raw.text);
    if (!file_has_output_) {
      diff.insert(0, fmt::format("--- {0}\n+++ {0}\n", display_name(file_)));
      file_has_output_ = true;
    }
    write(streams_.color ? coloured(diff) : diff);
  }

  static std::size_t count_lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  }

  base::Result<void> write_patches(const DocumentChange& change) {
    for (const auto& [before, object] : change.objects) {
      if (!object.handled) {
        continue;
      }
      auto patch = options_.output == OutputFormat::Strategic ? strategic(before, object)
                                                              : json_patch(before, object);
      if (!patch) {
        return base::annotate(std::move(patch).error(), object_title(before));
      }
      write(codec::write_json_pretty(patch.value()) + "\n");
    }
    return {};
  }

  static base::Result<Json> strategic(const Json& before, const ObjectChange& change) {
    if (!change.after) {
      return Json::object();
    }
    return core::strategic_patch(before, *change.after, base::text_of(base::find(before, "kind")));
  }

  static base::Result<Json> json_patch(const Json& before, const ObjectChange& change) {
    if (!change.after) {
      return Json::array();
    }
    if (!change.json_patch.empty()) {
      return codec::read_json(change.json_patch);
    }
    return patch::diff_json_patch(
        before, *change.after, patch::schema_for_kind(base::text_of(base::find(before, "kind"))));
  }

  void write(std::string_view text) {
    if (options_.in_place) {
      replacer_.write(text);
    } else {
      spool_.write(text);
    }
  }

  const RewriteOptions& options_;  // Not owned, nor are the next two.
  const ObjectCommand& command_;
  const Streams& streams_;
  Progress progress_;
  Spool spool_;
  FileReplacer replacer_;
  std::string file_;  // The one that is being read.
  std::size_t removed_lines_ = 0;
  std::size_t added_lines_ = 0;
  bool file_has_output_ = false;
  bool unmet_ = false;
};

// The document's object, or those of its List.
base::Result<void> visit_document(const Json& value, const ObjectVisitor& visit) {
  if (!is_list(value)) {
    return value.is_null() ? base::Result<void>() : visit(value);
  }
  for (const Json& item : value.at("items")) {
    if (auto done = visit(item_with_kind(value, item)); !done) {
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

int rewrite_objects(const RewriteOptions& options, const ObjectCommand& command,
                    const Streams& streams) {
  return Rewriter(options, command, streams).run();
}

base::Result<void> visit_objects(const std::vector<std::string>& files, const ObjectVisitor& visit,
                                 const Streams& streams) {
  auto expanded = expand_inputs(files);
  if (!expanded) {
    return std::move(expanded).error();
  }
  for (const std::string& file : expanded.value()) {
    auto done = visit_documents(
        file, streams.in,
        [&](const Document& document) { return visit_document(document.source.value, visit); },
        streams);
    if (!done) {
      return base::annotate(std::move(done).error(), file);
    }
  }
  return {};
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
