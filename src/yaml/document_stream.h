// Splits a stream of YAML or JSON documents into the raw texts of its documents, as kubectl does,
// without holding more than one of them. The raw texts, separators included, are the stream byte
// for byte: a caller that changes nothing writes back what it read.
//
// Not thread-safe: one caller at a time.

#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace injector::yaml {

/// One document with all that belongs to it: comments and directives before it, its own `---` line,
/// a closing `...`. Joined together, the texts of a stream are the stream.
struct RawDocument {
  std::string text;            // May be read with read_yaml, or read_json where `json` is true.
  std::size_t first_line = 1;  // The line of the stream at which `text` begins.
  bool json = false;           // One JSON object of a stream that began with `{`.
};

class DocumentStream {
 public:
  static constexpr std::size_t kMaxDocumentSize = std::size_t{64} << 20U;

  explicit DocumentStream(std::istream& in, std::size_t max_document_size = kMaxDocumentSize);

  /// The next document; nothing at the end of the stream. An error (a document that is too large,
  /// a stream that cannot be read) is final: the same again from then on.
  [[nodiscard]] base::Result<std::optional<RawDocument>> next();

 private:
  enum class Format { Unknown, Yaml, Json };

  // All positions count from the start of what is pending: the next document and what follows.
  [[nodiscard]] std::string_view pending() const;
  [[nodiscard]] bool fill();
  [[nodiscard]] bool has(std::size_t at);
  [[nodiscard]] std::size_t find_content(std::size_t at);
  [[nodiscard]] char content(std::size_t at);
  [[nodiscard]] std::size_t line_end(std::size_t at);
  void detect_format();
  [[nodiscard]] std::size_t yaml_size();
  [[nodiscard]] std::size_t json_size();
  [[nodiscard]] RawDocument take(std::size_t size);
  [[nodiscard]] base::Error failure() const;

  std::istream& in_;  // Not owned; outlives this.
  std::size_t max_size_;
  Format format_ = Format::Unknown;
  std::string buffer_;
  std::size_t begin_ = 0;  // Of what was not handed out yet, in buffer_.
  std::size_t line_ = 1;   // At begin_.
};

}  // namespace injector::yaml
