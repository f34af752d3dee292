#include "cli/rewriter.h"

#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"

namespace injector::cli {
namespace {

using base::Json;

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

base::Result<void> named(const std::string& file, base::Result<void> done) {
  return done ? done : base::annotate(std::move(done).error(), display_name(file));
}

}  // namespace

Rewriter::Rewriter(const RewriteOptions& options, const ObjectCommand& command,
                   const Streams& streams)
    : options_(options),
      command_(command),
      streams_(streams),
      progress_(streams.err, streams.live_progress, "reading objects"),
      report_(streams.err) {}

int Rewriter::run() {
  if (auto done = rewrite(); !done) {
    return failed(done.error());
  }
  report_.write([](const std::string&) { return true; });
  return options_.strict && unmet_ ? kUnmet : kDone;
}

base::Result<void> Rewriter::rewrite() {
  INJ_ASSIGN(const auto files, expand_inputs(options_.files, options_.recursion));
  several_inputs_ = files.size() > 1;
  return options_.in_place ? replace_files(without_repeats(files)) : print_files(files);
}

base::Result<void> Rewriter::print_files(const std::vector<std::string>& files) {
  ChangeWriter writer(options_,
                      several_inputs_ ? StreamJoiner::Inputs::Several : StreamJoiner::Inputs::One,
                      streams_.color, sinks());
  for (const std::string& file : files) {
    INJ_TRY(named(file, rewrite_documents(file, writer)));
  }
  INJ_TRY(check_refused());
  writer.finish();
  progress_.clear();
  return spool_.flush_to(streams_.out);
}

base::Result<void> Rewriter::replace_files(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    INJ_TRY(named(file, replace_file(file)));
  }
  INJ_TRY(check_refused());
  progress_.clear();
  return replacer_.commit();
}

base::Result<void> Rewriter::replace_file(const std::string& file) {
  INJ_TRY(replacer_.open(file));
  ChangeWriter writer(options_, StreamJoiner::Inputs::One, streams_.color, sinks());
  INJ_TRY(rewrite_documents(file, writer));
  writer.finish();
  return replacer_.close();
}

base::Result<void> Rewriter::rewrite_documents(const std::string& file, ChangeWriter& writer) {
  writer.begin_file(file);
  const auto rewrite_document = [&](const Document& document) -> base::Result<void> {
    if (options_.in_place) {
      replacer_.saw(document.raw.text);
    }
    INJ_ASSIGN(const auto change, change_document(document, command_));
    for (const auto& [object, outcome] : change.objects) {
      report(file, object, outcome);
    }
    return writer.write(document, change);
  };
  return visit_documents(file, rewrite_document, streams_);
}

base::Result<void> Rewriter::check_refused() const {
  if (refused_ == 0) {
    return {};
  }
  return base::invalid(fmt::format(
      "{} object{} refused, so nothing was written; --on-conflict=skip passes such objects on "
      "without the sidecar",
      refused_, refused_ == 1 ? " was" : "s were"));
}

ChangeWriter::Sinks Rewriter::sinks() {
  return {[this](std::string_view text) {
            options_.in_place ? replacer_.write(text) : spool_.write(text);
          },
          [this](std::string line) { report_.note(std::move(line)); }};
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

// "app/web.yaml: deployment/web (namespace shop)"; without the file where there is only one input.
std::string Rewriter::place_of(const std::string& file, const Json& object) const {
  const std::string_view name_space = base::text_of(base::find(object, "metadata", "namespace"));
  return (several_inputs_ ? display_name(file) + ": " : "") + object_title(object) +
         (name_space.empty() ? "" : fmt::format(" (namespace {})", name_space));
}

void Rewriter::report(const std::string& file, const Json& object, const ObjectChange& change) {
  unmet_ = unmet_ || change.unmet;
  refused_ += change.refused ? 1 : 0;
  progress_.count();
  const std::string place = place_of(file, object);
  if (!change.report.empty() && (!options_.quiet || change.unmet)) {
    std::string line = place + ": " + change.report;
    change.after ? report_.claim(file, std::move(line)) : report_.note(std::move(line));
  }
  for (const std::string& warning : change.warnings) {
    report_.note(place + ": warning: " + warning);
  }
}

int rewrite_objects(const RewriteOptions& options, const ObjectCommand& command,
                    const Streams& streams) {
  return Rewriter(options, command, streams).run();
}

}  // namespace injector::cli
