// One output of inject and uninject, to a stream or to one file: changed documents in the format
// that -o names.
//
// Not thread-safe.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/document_change.h"
#include "cli/objects.h"
#include "cli/stream_joiner.h"

namespace injector::cli {

class ChangeWriter {
 public:
  struct Sinks {
    std::function<void(std::string_view text)> out;
    std::function<void(std::string line)> note;  // What a person should know about the text.
  };

  /// `options` is not owned and outlives this.
  ChangeWriter(const RewriteOptions& options, StreamJoiner::Inputs inputs, bool color, Sinks sinks)
      : options_(options),
        inputs_(inputs),
        color_(color),
        sinks_(std::move(sinks)),
        joiner_(inputs) {}

  /// The documents that follow are of `file`.
  void begin_file(const std::string& file);

  /// An Error: the text cannot be edited, and --in-place may not reformat it.
  [[nodiscard]] base::Result<void> write(const Document& document, const DocumentChange& change);

  /// After the last document.
  void finish() { sinks_.out(list_.finish()); }

 private:
  [[nodiscard]] base::Result<void> write_document(const Document& document,
                                                  const DocumentChange& change);
  [[nodiscard]] base::Result<void> write_json(const Document& document,
                                              const DocumentChange& change);
  [[nodiscard]] base::Result<std::string> yaml_text(const Document& document,
                                                    const NewValue& value);
  [[nodiscard]] base::Result<void> write_diff(const Document& document,
                                              const DocumentChange& change);
  [[nodiscard]] base::Result<void> write_patches(const DocumentChange& change);

  [[nodiscard]] bool must_keep_comments() const {
    return options_.in_place && !options_.allow_reformat;
  }

  const RewriteOptions& options_;  // Not owned.
  const StreamJoiner::Inputs inputs_;
  const bool color_;
  const Sinks sinks_;
  StreamJoiner joiner_;
  JsonListWriter list_;

  // Of the current file:
  std::string file_;
  bool has_header_ = false;  // Of its diff.
  std::size_t removed_lines_ = 0;
  std::size_t added_lines_ = 0;
};

}  // namespace injector::cli
