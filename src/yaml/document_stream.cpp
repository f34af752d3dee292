#include "yaml/document_stream.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "yaml/syntax.h"

namespace injector::yaml {
namespace {

using std::string_view;

constexpr std::size_t kChunk = std::size_t{64} << 10U;
constexpr string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// What a line means for the borders of documents.
enum class Line { Empty, Start, End, Directive, Content };

Line classify(string_view line) {
  if (line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (is_document_start(line)) {
    return Line::Start;
  }
  if (is_document_end(line)) {
    return Line::End;
  }
  if (line.starts_with('%')) {
    return Line::Directive;
  }
  const std::size_t content = line.find_first_not_of(" \t\r\n");
  return content == string_view::npos || line[content] == '#' ? Line::Empty : Line::Content;
}

// How far a document has come, line by line.
class YamlProgress {
 public:
  /// True if `line` belongs to the next document.
  [[nodiscard]] bool is_border(Line line) const {
    switch (line) {
      case Line::Start:
        return stage_ != Stage::Prolog;
      case Line::Directive:
      case Line::Content:
        return stage_ == Stage::Ended;
      case Line::Empty:
      case Line::End:
        break;
    }
    return false;
  }

  void add(Line line) {
    if (line == Line::End) {
      stage_ = Stage::Ended;
    } else if (line == Line::Start || line == Line::Content) {
      stage_ = Stage::Content;
    }
  }

 private:
  enum class Stage { Prolog, Content, Ended };

  Stage stage_ = Stage::Prolog;
};

// Finds the end of a JSON object, byte by byte. Only strings can hide a bracket.
class JsonProgress {
 public:
  /// True if `c` closes the object.
  bool add(char c) {
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
      return false;
    }
    in_string_ = c == '"';
    if (c == '{' || c == '[') {
      ++depth_;
    }
    return (c == '}' || c == ']') && --depth_ <= 0;
  }

 private:
  std::ptrdiff_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace

DocumentStream::DocumentStream(std::istream& in, std::size_t max_document_size)
    : in_(in),
      max_size_(max_document_size) {}

base::Result<std::optional<RawDocument>> DocumentStream::next() {
  detect_format();
  const std::size_t size = format_ == Format::Json ? json_size() : yaml_size();
  if (in_.bad() || size > max_size_) {
    return failure();
  }
  if (size == 0) {
    return std::optional<RawDocument>();
  }
  return std::optional(take(size));
}

base::Error DocumentStream::failure() const {
  if (in_.bad()) {
    return {base::ErrorCode::Unavailable, "the stream cannot be read"};
  }
  return base::invalid(
      fmt::format("the document that begins on line {} is larger than {} bytes", line_, max_size_));
}

string_view DocumentStream::pending() const {
  return string_view(buffer_).substr(begin_);
}

// False at the end of the stream, or once the document is too large anyway.
bool DocumentStream::fill() {
  if (!in_.good() || pending().size() > max_size_ + kChunk) {
    return false;
  }
  buffer_.erase(0, std::exchange(begin_, 0));
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kChunk);
  in_.read(buffer_.data() + before, static_cast<std::streamsize>(kChunk));
  buffer_.resize(before + static_cast<std::size_t>(in_.gcount()));
  return buffer_.size() > before;
}

bool DocumentStream::has(std::size_t at) {
  return at < pending().size() || fill();
}

// The first byte from `at` on that is no white space; the end of what there is, if there is none.
std::size_t DocumentStream::find_content(std::size_t at) {
  while (has(at) && is_space(pending()[at])) {
    ++at;
  }
  return at;
}

char DocumentStream::content(std::size_t at) {
  return has(at) ? pending()[at] : '\0';
}

// An object in braces is JSON if a key in quotes comes first; else it is YAML in flow style. After
// JSON there may be more of it, or YAML for the rest of the stream.
void DocumentStream::detect_format() {
  if (format_ == Format::Yaml) {
    return;
  }
  const std::size_t mark = has(0) && pending().starts_with(kByteOrderMark) ? 3 : 0;
  const std::size_t brace = find_content(mark);
  const char first = content(brace);
  const char second = first == '{' ? content(find_content(brace + 1)) : '\0';
  format_ = second == '"' || second == '}' ? Format::Json : Format::Yaml;
}

std::size_t DocumentStream::line_end(std::size_t at) {
  for (std::size_t searched = at; has(searched);) {
    const std::size_t newline = pending().find('\n', searched);
    if (newline != string_view::npos) {
      return newline + 1;
    }
    searched = pending().size();
  }
  return pending().size();
}

std::size_t DocumentStream::yaml_size() {
  YamlProgress progress;
  std::size_t at = 0;
  while (has(at) && at <= max_size_) {
    const std::size_t end = line_end(at);
    const Line line = classify(pending().substr(at, end - at));
    if (progress.is_border(line)) {
      return at;
    }
    progress.add(line);
    at = end;
  }
  return at;
}

std::size_t DocumentStream::json_size() {
  JsonProgress progress;
  std::size_t at = 0;
  while (has(at)) {
    if (progress.add(pending()[at++])) {
      return find_content(at);
    }
  }
  return at;
}

RawDocument DocumentStream::take(std::size_t size) {
  RawDocument document{std::string(pending().substr(0, size)), line_, format_ == Format::Json};
  line_ += static_cast<std::size_t>(std::count(document.text.begin(), document.text.end(), '\n'));
  begin_ += size;
  return document;
}

}  // namespace injector::yaml
