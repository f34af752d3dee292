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

namespace injector::codec {

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
  std::istream& in_;  // Not owned; outlives this.
  std::size_t max_size_;
};

}  // namespace injector::codec
