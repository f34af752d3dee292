#include "cli/rewriter.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/printable.h"
#include "cli/object_patches.h"
#include "cli/unified_diff.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr const char* kWhyReformatted =
    "an anchor, an alias or a merge key stands where the change goes";

// A file that is named twice is edited once.
std::vector<std::string> without_repeats(const std::vector<std::string>& files) {
  std::vector<std::string> kept;
  std::set<std::filesystem::path> seen;
  for (const std::string& file : files) {
    std::error_code error;
    const auto path = std::filesystem::canonical(file, error);
    if (error || seen.insert(path).second) {
      kept.push_back(file);
    }
  }
  return kept;
}

// Leaves out what complete_item() added.
Json as_in_list(Json item, const Json& place) {
  for (const char* key : {"kind", "apiVersion"}) {
    if (!place.contains(key)) {
      item.erase(key);
    }
  }
  return item;
}

void put_item(std::optional<NewValue>& value, const Json& before, std::size_t index,
              const ObjectChange& change) {
  if (!value) {
    value = NewValue{before, std::nullopt};
  }
  const Json& place = before.at("items").at(index);
  value->after.at("items").at(index) = as_in_list(*change.after, place);
  if (change.through) {
    if (!value->through) {
      value->through = before;
    }
    value->through->at("items").at(index) = as_in_list(*change.through, place);
  }
}

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

Rewriter::Rewriter(const RewriteOptions& options, const ObjectCommand& command,
                   const Streams& streams)
    : options_(options),
      command_(command),
      streams_(streams),
      progress_(streams.err, streams.live_progress),
      report_(streams.err) {}

int Rewriter::run() {
  auto files = expand_inputs(options_.files, options_.recursion);
  if (!files) {
    return failed(files.error());
  }
  several_inputs_ = files.value().size() > 1;
  if (several_inputs_ && !options_.in_place) {
    joiner_ = StreamJoiner(StreamJoiner::Inputs::Several);
  }
  for (const std::string& file :
       options_.in_place ? without_repeats(files.value()) : files.value()) {
    if (auto done = rewrite_file(file); !done) {
      return failed(base::annotate(std::move(done).error(), display_name(file)));
    }
  }
  return refused_ > 0 ? refused() : finish();
}

int Rewriter::finish() {
  progress_.clear();
  write(options_.in_place ? "" : list_.finish());
  auto written = options_.in_place ? replacer_.commit() : spool_.flush_to(streams_.out);
  if (!written) {
    return failed(written.error());
  }
  report_.write([](const std::string&) { return true; });
  return options_.strict && unmet_ ? kUnmet : kDone;
}

int Rewriter::failed(const base::Error& error) {
  progress_.clear();
  report_.write([this](const std::string& file) { return replacer_.replaced(file); });
  streams_.err << "error: " << base::printable(error.message) << "\n";
  if (options_.in_place) {
    const std::size_t count = replacer_.replaced_count();
    streams_.err << (count == 0 ? "no file was changed"
                                : fmt::format("files replaced before that: {}", count))
                 << "\n";
  }
  return kFailed;
}

int Rewriter::refused() {
  return failed(base::invalid(fmt::format(
      "{} object{} refused, so nothing was written; --on-conflict=skip passes such objects on "
      "without the sidecar",
      refused_, refused_ == 1 ? " was" : "s were")));
}

base::Result<void> Rewriter::rewrite_file(const std::string& file) {
  file_ = file;
  removed_lines_ = 0;
  added_lines_ = 0;
  file_has_output_ = false;
  return options_.in_place ? rewrite_in_place(file) : rewrite_documents();
}

base::Result<void> Rewriter::rewrite_in_place(const std::string& file) {
  joiner_ = StreamJoiner(StreamJoiner::Inputs::One);
  list_ = JsonListWriter();
  if (auto opened = replacer_.open(file); !opened) {
    return opened;
  }
  if (auto done = rewrite_documents(); !done) {
    return done;
  }
  write(list_.finish());
  return replacer_.close();
}

base::Result<void> Rewriter::rewrite_documents() {
  return visit_documents(
      file_, [&](const Document& document) { return rewrite_document(document); }, streams_);
}

base::Result<void> Rewriter::rewrite_document(const Document& document) {
  if (options_.in_place) {
    replacer_.saw(document.raw.text);
  }
  const auto change = change_document(document);
  return change ? write_result(document, change.value()) : change.error();
}

base::Result<void> Rewriter::write_result(const Document& document, const DocumentChange& change) {
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

base::Result<Rewriter::DocumentChange> Rewriter::change_document(const Document& document) {
  const Json& before = document.source.value;
  DocumentChange change;
  if (is_list(before)) {
    auto done = change_list(document, change);
    return done ? base::Result<DocumentChange>(std::move(change)) : std::move(done).error();
  }
  INJ_ASSIGN(const auto object, change_object(before, document, change));
  if (object->after) {
    change.value = NewValue{*object->after, object->through};
  }
  return change;
}

base::Result<void> Rewriter::change_list(const Document& document, DocumentChange& into) {
  const Json& before = document.source.value;
  for (std::size_t i = 0; i < before.at("items").size(); ++i) {
    const Json& item = before.at("items").at(i);
    INJ_ASSIGN(const auto object, change_object(complete_item(before, item), document, into));
    if (object->after) {
      put_item(into.value, before, i, *object);
    }
  }
  return {};
}

base::Result<const ObjectChange*> Rewriter::change_object(const Json& object,
                                                          const Document& document,
                                                          DocumentChange& into) {
  auto change = command_(object);
  if (!change) {
    return base::annotate(
        std::move(change).error(),
        fmt::format("document at line {}: {}", document.raw.first_line, object_title(object)));
  }
  report(object, change.value());
  into.objects.emplace_back(object, std::move(change).value());
  return &into.objects.back().second;
}

// "app/web.yaml: deployment/web (namespace shop)"; without the file where there is but one input.
std::string Rewriter::place_of(const Json& object) const {
  const std::string_view name_space = base::text_of(base::find(object, "metadata", "namespace"));
  return (several_inputs_ ? display_name(file_) + ": " : "") + object_title(object) +
         (name_space.empty() ? "" : fmt::format(" (namespace {})", name_space));
}

void Rewriter::report(const Json& object, const ObjectChange& change) {
  unmet_ = unmet_ || change.unmet;
  refused_ += change.refused ? 1 : 0;
  progress_.count();
  const std::string place = place_of(object);
  if (!change.report.empty() && (!options_.quiet || change.unmet)) {
    std::string line = place + ": " + change.report;
    change.after ? report_.claim(file_, std::move(line)) : report_.note(std::move(line));
  }
  for (const std::string& warning : change.warnings) {
    report_.note(place + ": warning: " + warning);
  }
}

base::Result<void> Rewriter::write_document(const Document& document,
                                            const DocumentChange& change) {
  const bool json = options_.output == OutputFormat::Json ||
                    (options_.output == OutputFormat::AsInput && document.raw.json);
  if (json) {
    return write_json(document, change);
  }
  if (document.raw.json) {
    const Json& value = change.value ? change.value->after : document.source.value;
    write(joiner_.next(yaml::write_yaml(value), DocumentText::Written));
    return {};
  }
  INJ_ASSIGN(auto text, change.value ? yaml_text(document, *change.value) : document.raw.text);
  write(joiner_.next(std::move(text), DocumentText::Yaml));
  return {};
}

base::Result<void> Rewriter::write_json(const Document& document, const DocumentChange& change) {
  if (options_.in_place && !options_.allow_reformat && may_have_comments(document)) {
    return needs_consent(document, "as JSON it loses its comments");
  }
  const NewValue value =
      change.value ? *change.value : NewValue{document.source.value, std::nullopt};
  const bool as_it_is = document.raw.json && !change.value;
  std::string text = as_it_is ? document.raw.text : json_text(document, value);
  if (options_.output == OutputFormat::Json) {
    write(list_.next(std::move(text), value.after));
    return {};
  }
  if (several_inputs_ && !options_.in_place && has_surrogate_escapes(text)) {
    text = base::write_json_pretty(value.after) + "\n";
  }
  write(joiner_.next(std::move(text), DocumentText::Json));
  return {};
}

base::Result<std::string> Rewriter::yaml_text(const Document& document, const NewValue& value) {
  if (auto edited = edited_text(document, value)) {
    return *std::move(edited);
  }
  if (options_.in_place && !options_.allow_reformat) {
    return needs_consent(document,
                         fmt::format("the change would reformat it, and comments would be lost: {}",
                                     kWhyReformatted));
  }
  report_.note(fmt::format("{}: document at line {}: reformatted, comments are lost: {}",
                           display_name(file_), document.raw.first_line, kWhyReformatted));
  return reformatted_yaml(document, value.after);
}

base::Result<void> Rewriter::write_diff(const Document& document, const DocumentChange& change) {
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
  if (!file_has_output_) {
    diff.insert(0, fmt::format("--- {0}\n+++ {0}\n", display_name(file_)));
    file_has_output_ = true;
  }
  write(streams_.color ? coloured(diff) : diff);
  return {};
}

base::Result<void> Rewriter::write_patches(const DocumentChange& change) {
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
    write(base::write_json_pretty(patch.value()) + "\n");
  }
  return {};
}

void Rewriter::write(std::string_view text) {
  if (options_.in_place) {
    replacer_.write(text);
  } else {
    spool_.write(text);
  }
}

int rewrite_objects(const RewriteOptions& options, const ObjectCommand& command,
                    const Streams& streams) {
  return Rewriter(options, command, streams).run();
}

}  // namespace injector::cli
