// Puts documents of several files into one stream that kubectl reads as the same objects.
//
// Documents of different files need a "---" between them, a newline where a file ends without one,
// and no byte order mark but at the very start. kubectl takes a stream that begins with a brace for
// JSON to its end, so JSON among several inputs is written as documents of a YAML stream. A single
// input is written as it is, byte for byte.
//
// Not thread-safe.

#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace injector::cli {

enum class DocumentText {
  Yaml,     // As it stood in a file, edited or not, with its own "---" if it has one.
  Json,     // Likewise.
  Written,  // YAML that we made, without "---".
};

class StreamJoiner {
 public:
  enum class Inputs { One, Several };

  explicit StreamJoiner(Inputs inputs)
      : inputs_(inputs) {}

  /// What to write for the next document.
  [[nodiscard]] std::string next(std::string text, DocumentText kind);

 private:
  [[nodiscard]] std::string separated(std::string_view text, DocumentText kind) const;
  void remember(std::string_view written, DocumentText kind);

  Inputs inputs_;
  bool began_ = false;         // Something was written.
  bool ended_line_ = true;     // It ended with a newline.
  bool content_ = false;       // More than comments stands behind the last "---".
  bool bare_ = false;          // Nothing at all does.
  bool last_written_ = false;  // The last document was DocumentText::Written.
};

/// Several objects as the one List that `-o json` prints; a single document stays itself.
class JsonListWriter {
 public:
  /// `text` is the document as it would be printed alone. Returns what can be written by now.
  [[nodiscard]] std::string next(std::string text, const base::Json& value);
  [[nodiscard]] std::string finish();

 private:
  [[nodiscard]] std::string items_of(const base::Json& document);

  enum class Stage { Empty, Single, List };

  Stage stage_ = Stage::Empty;
  bool first_item_ = true;
  std::string single_text_;
  base::Json single_;
};

/// JSON text that YAML readers understand too: they refuse the pairs of escapes that JSON writes
/// characters beyond U+FFFF with.
[[nodiscard]] bool has_surrogate_escapes(std::string_view json);

}  // namespace injector::cli
