#include "cli/stream_joiner.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/json_text.h"
#include "cli/documents.h"
#include "yaml/syntax.h"

namespace injector::cli {
namespace {

using base::Json;
using std::string_view;

constexpr string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr string_view kSeparator = "---";
constexpr string_view kBlanks = " \t\r\n";

string_view without_mark(string_view text) {
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return text;
}

bool is_blank(string_view text) {
  return text.find_first_not_of(kBlanks) == string_view::npos;
}

// Blank, or a comment.
bool is_empty_line(string_view line) {
  const std::size_t first = line.find_first_not_of(kBlanks);
  return first == string_view::npos || line[first] == '#';
}

string_view line_at(string_view text, std::size_t at) {
  const std::size_t newline = text.find('\n', at);
  return text.substr(at, newline == string_view::npos ? newline : newline + 1 - at);
}

// What comes before a document's value.
struct Prolog {
  std::size_t start = string_view::npos;  // Of its "---" line, if it has one.
  bool directives = false;
};

Prolog prolog_of(string_view text) {
  Prolog prolog;
  for (std::size_t at = 0; at < text.size();) {
    const string_view line = line_at(text, at);
    if (yaml::is_document_start(line)) {
      prolog.start = at;
      return prolog;
    }
    if (!is_empty_line(line) && !line.starts_with('%')) {
      return prolog;
    }
    prolog.directives = prolog.directives || line.starts_with('%');
    at += line.size();
  }
  return prolog;
}

// The document without its "---"; what stands behind that on its line is kept.
std::string without_start(string_view text, const Prolog& prolog) {
  if (prolog.start == string_view::npos) {
    return std::string(text);
  }
  const string_view line = line_at(text, prolog.start);
  string_view rest = line.substr(kSeparator.size());
  const std::size_t content = rest.find_first_not_of(" \t\r");
  rest.remove_prefix(std::min(content, rest.size()));
  if (rest == "\n") {
    rest = {};
  }
  return std::string(text.substr(0, prolog.start)) + std::string(rest) +
         std::string(text.substr(prolog.start + line.size()));
}

}  // namespace

std::string StreamJoiner::next(std::string text, DocumentText kind) {
  const bool verbatim = inputs_ == Inputs::One && kind != DocumentText::Written && !last_written_;
  if (inputs_ == Inputs::Several && is_blank(without_mark(text))) {
    return {};
  }
  std::string written = verbatim ? std::move(text) : separated(without_mark(text), kind);
  remember(written, kind);
  return written;
}

std::string StreamJoiner::separated(string_view text, DocumentText kind) const {
  const std::string newline = ended_line_ ? "" : "\n";
  const Prolog prolog = prolog_of(text);
  if (prolog.directives) {
    return newline + (began_ ? "...\n" : "") + std::string(text);
  }
  const bool wants = kind == DocumentText::Json || prolog.start != string_view::npos || content_;
  return newline + (wants && !bare_ ? "---\n" : "") + without_start(text, prolog);
}

void StreamJoiner::remember(string_view written, DocumentText kind) {
  if (written.empty()) {
    return;
  }
  began_ = true;
  ended_line_ = written.ends_with('\n');
  last_written_ = kind == DocumentText::Written;
  for (std::size_t at = 0; at < written.size();) {
    const string_view line = line_at(written, at);
    at += line.size();
    if (yaml::is_document_start(line)) {
      content_ = !is_empty_line(line.substr(kSeparator.size()));
      bare_ = !content_;
    } else if (!is_blank(line)) {
      content_ = content_ || !is_empty_line(line);
      bare_ = false;
    }
  }
}

std::string JsonListWriter::next(std::string text, const Json& value) {
  if (value.is_null()) {
    return {};
  }
  if (stage_ == Stage::Empty) {
    stage_ = Stage::Single;
    single_text_ = std::move(text);
    single_ = value;
    return {};
  }
  std::string written;
  if (stage_ == Stage::Single) {
    stage_ = Stage::List;
    written = "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"List\",\n  \"items\": [";
    written += items_of(std::exchange(single_, Json()));
  }
  return written + items_of(value);
}

std::string JsonListWriter::items_of(const Json& document) {
  if (is_list(document)) {
    std::string items;
    for (const Json& item : document.at("items")) {
      items += items_of(complete_item(document, item));
    }
    return items;
  }
  std::string item = (first_item_ ? "\n    " : ",\n    ");
  first_item_ = false;
  for (const char c : base::write_json_pretty(document)) {
    item += c;
    item += c == '\n' ? "    " : "";
  }
  return item;
}

std::string JsonListWriter::finish() {
  switch (stage_) {
    case Stage::Empty:
      return {};
    case Stage::Single:
      return std::move(single_text_);
    case Stage::List:
      return first_item_ ? "]\n}\n" : "\n  ]\n}\n";
  }
  return {};
}

bool has_surrogate_escapes(string_view json) {
  for (std::size_t at = json.find("\\u"); at != string_view::npos; at = json.find("\\u", at + 2)) {
    const string_view digits = json.substr(at + 2, 2);
    const bool high = digits.size() == 2 && (digits[0] == 'd' || digits[0] == 'D') &&
                      string_view("89abAB").find(digits[1]) != string_view::npos;
    if (high) {
      return true;
    }
  }
  return false;
}

}  // namespace injector::cli
