#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <variant>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/json_text.h"
#include "yaml/scalar.h"
#include "yaml/syntax.h"
#include "yaml/yaml.h"

namespace injector::yaml {
namespace {

using base::Json;
using std::string_view;

constexpr std::size_t kStep = 2;
// A reader gives up looking for the colon of a simple key after 1024 characters.
constexpr std::size_t kMaxSimpleKey = 500;

// With these in front, text without quotes would be something else than text. A dash is harmless
// when it begins an option: `--concurrency 4`.
bool starts_like_syntax(string_view text) {
  constexpr string_view kIndicators = "?:,[]{}#&*!|>'\"%@`=<~ \t";
  if (text.front() == '-') {
    return text.size() == 1 || text[1] == ' ' || text.starts_with("---");
  }
  return kIndicators.find(text.front()) != string_view::npos || text.starts_with("...");
}

bool contains_syntax(string_view text) {
  return text.find(": ") != string_view::npos || text.find(" #") != string_view::npos ||
         text.ends_with(':') || text.ends_with(' ') ||
         text.find_first_of("\t\n\r") != string_view::npos;
}

// Text to Kubernetes, but dates or sexagesimal numbers (12:30) to other readers of YAML 1.1.
bool looks_like_time(string_view text) {
  if (text.size() > 5 && std::all_of(text.begin(), text.begin() + 4, base::is_digit) &&
      text[4] == '-') {
    return true;
  }
  return text.find(':') != string_view::npos &&
         text.find_first_not_of("0123456789+-_.:") == string_view::npos;
}

// Characters that stand only in double quotes, as escapes.
bool needs_escapes(string_view text) {
  if (check_characters(text)) {
    return true;
  }
  constexpr std::array<string_view, 5> kEscaped{"\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9",
                                                "\xEF\xBB\xBF"};
  return std::any_of(kEscaped.begin(), kEscaped.end(), [&](string_view character) {
    return text.find(character) != string_view::npos;
  });
}

// Without quotes it would be a number, a boolean, a null, or nothing at all.
bool reads_as_text(string_view text) {
  return !text.empty() && !looks_like_time(text) &&
         std::holds_alternative<std::string>(resolve_plain(text));
}

std::string single_quoted(string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out.append(c == '\'' ? 2 : 1, c);
  }
  return out + '\'';
}

// JSON's escapes are YAML's, but for the characters beyond ASCII that YAML wants escaped too.
std::string double_quoted(string_view text) {
  std::string out;
  const std::string json = base::write_json(Json(text));
  for (std::size_t at = 0; at < json.size();) {
    const Character character = decode_character(json, at);
    const string_view bytes = string_view(json).substr(at, character.length);
    out += needs_escapes(bytes) ? fmt::format("\\u{:04x}", character.code) : std::string(bytes);
    at += character.length;
  }
  return out;
}

// Quoted as kubectl quotes: "true", '{a: b}'.
std::string inline_text(string_view text) {
  if (!reads_as_text(text) || needs_escapes(text) ||
      text.find_first_of("\n\t") != string_view::npos) {
    return double_quoted(text);
  }
  const bool plain = !starts_like_syntax(text) && !contains_syntax(text);
  return plain ? std::string(text) : single_quoted(text);
}

// A block scalar cannot hold escapes, a tab where indentation is looked for, or only line breaks.
bool fits_block_scalar(string_view text) {
  if (text.find('\n') == string_view::npos || needs_escapes(text)) {
    return false;
  }
  const std::size_t first = text.find_first_not_of("\n ");
  if (first == string_view::npos || text[first] == '\t') {
    return false;
  }
  // Trailing spaces are lost on many who edit the file.
  return text.find(" \n") == string_view::npos && text.find("\t\n") == string_view::npos &&
         text.back() != ' ' && text.back() != '\t';
}

string_view chomping(string_view text) {
  if (!text.ends_with('\n')) {
    return "-";
  }
  return text.ends_with("\n\n") ? "+" : "";
}

std::string number(const Json& value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return "null";
  }
  return base::write_json(value);
}

bool is_empty_collection(const Json& value) {
  return value.is_structured() && value.empty();
}

class Writer {
 public:
  explicit Writer(std::size_t indent)
      : base_(indent) {}

  void document(const Json& value) {
    if (value.is_structured() && !value.empty()) {
      collection(value, base_);
      return;
    }
    spaces(base_);
    if (value.is_string()) {
      out_ += inline_text(value.get_ref<const std::string&>()) + '\n';  // No parent to indent from.
    } else {
      leaf(value, base_);
    }
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void spaces(std::size_t count) { out_.append(count, ' '); }

  void collection(const Json& value, std::size_t column) {
    spaces(column);
    compact(value, column);
  }

  // The collection from the current place on, which is `column`.
  void compact(const Json& value, std::size_t column) {
    bool first = true;
    for (const auto& item : value.items()) {
      if (!first) {
        spaces(column);
      }
      first = false;
      if (value.is_object()) {
        member(item.key(), item.value(), column);
      } else {
        element(item.value(), column);
      }
    }
  }

  void member(const std::string& key, const Json& value, std::size_t column) {
    const std::string text = inline_text(key);
    if (text.size() > kMaxSimpleKey) {
      out_ += "? " + text + '\n';
      spaces(column);
    } else {
      out_ += text;
    }
    out_ += ':';
    if (!value.is_structured() || value.empty()) {
      out_ += ' ';
      leaf(value, column + kStep);
      return;
    }
    out_ += '\n';
    collection(value, value.is_object() ? column + kStep : column);
  }

  void element(const Json& value, std::size_t column) {
    out_ += "- ";
    if (!value.is_structured() || value.empty()) {
      leaf(value, column + kStep);
      return;
    }
    compact(value, column + kStep);
  }

  // A scalar or an empty collection, and the end of its line. `column` is where its further lines
  // begin.
  void leaf(const Json& value, std::size_t column) {
    if (value.is_string()) {
      text(value.get_ref<const std::string&>(), column);
      return;
    }
    if (is_empty_collection(value)) {
      out_ += value.is_object() ? "{}" : "[]";
    } else {
      out_ += value.is_number() ? number(value) : base::write_json(value);
    }
    out_ += '\n';
  }

  void text(string_view text, std::size_t column) {
    if (!fits_block_scalar(text)) {
      out_ += inline_text(text) + '\n';
      return;
    }
    out_ += '|';
    if (text.front() == ' ' || text.front() == '\n') {
      out_ += std::to_string(kStep);
    }
    out_ += chomping(text);
    out_ += '\n';
    block_lines(text, column);
  }

  void block_lines(string_view text, std::size_t column) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) {
        spaces(column);
        out_ += text.substr(0, end);
      }
      out_ += '\n';
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  std::size_t base_;
  std::string out_;
};

}  // namespace

std::string write_yaml_inline(const Json& value) {
  if (value.is_string()) {
    return inline_text(value.get_ref<const std::string&>());
  }
  return value.is_number() ? number(value) : base::write_json(value);
}

std::string write_flow_scalar(const Json& value) {
  const std::string text = write_yaml_inline(value);
  const bool plain = value.is_string() && text == value.get_ref<const std::string&>();
  constexpr string_view kSafe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  if (!value.is_string() || (plain && text.find_first_not_of(kSafe) == std::string::npos)) {
    return text;
  }
  return double_quoted(value.get_ref<const std::string&>());
}

std::string write_yaml(const Json& value, std::size_t indent) {
  Writer writer(indent);
  writer.document(value);
  return writer.take();
}

}  // namespace injector::yaml
