#include "cli/json_path.h"

#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace injector::cli {

using base::Json;

class JsonPath::Parser {
 public:
  explicit Parser(std::string_view text)
      : rest_(text) {}

  [[nodiscard]] base::Result<std::vector<Piece>> parse() {
    INJ_ASSIGN(auto pieces, parse_pieces(Within::Template));
    return pieces;
  }

 private:
  enum class Within { Template, Range };

  [[nodiscard]] base::Result<std::vector<Piece>> parse_pieces(Within within) {
    std::vector<Piece> pieces;
    while (!rest_.empty()) {
      if (rest_.front() != '{') {
        pieces.push_back({Piece::Kind::Text, std::string(take_until('{'))});
        continue;
      }
      INJ_ASSIGN(const auto inside, take_braces());
      if (inside == "end") {
        return within == Within::Range ? base::Result<std::vector<Piece>>(std::move(pieces))
                                       : base::invalid("{end} without {range}");
      }
      INJ_ASSIGN(auto piece, parse_inside(inside));
      pieces.push_back(std::move(piece));
    }
    return within == Within::Template ? base::Result<std::vector<Piece>>(std::move(pieces))
                                      : base::invalid("{range} without {end}");
  }

  std::string_view take_until(char stop) {
    const std::string_view text = rest_.substr(0, rest_.find(stop));
    rest_.remove_prefix(text.size());
    return text;
  }

  // What stands between a brace and its partner; a brace in quotes is none.
  base::Result<std::string_view> take_braces() {
    char quote = 0;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (quote != 0) {
        i += c == '\\' ? 1U : 0U;
        quote = c == quote ? '\0' : quote;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '}') {
        const std::string_view inside = rest_.substr(1, i - 1);
        rest_.remove_prefix(i + 1);
        return trimmed(inside);
      }
    }
    return base::invalid(fmt::format("\"{}\": the brace is not closed", rest_));
  }

  static std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    const std::size_t last = text.find_last_not_of(' ');
    return first == std::string_view::npos ? "" : text.substr(first, last - first + 1);
  }

  base::Result<Piece> parse_inside(std::string_view inside) {
    if (!inside.empty() && (inside.front() == '"' || inside.front() == '\'')) {
      INJ_ASSIGN(auto text, unquoted(inside));
      return Piece{Piece::Kind::Text, std::move(text)};
    }
    constexpr std::string_view kRange = "range ";
    const bool range = inside.starts_with(kRange);
    INJ_ASSIGN(auto steps, parse_steps(range ? trimmed(inside.substr(kRange.size())) : inside));
    Piece piece{range ? Piece::Kind::Range : Piece::Kind::Values, {}, std::move(steps)};
    if (range) {
      INJ_ASSIGN(piece.body, parse_pieces(Within::Range));
    }
    return piece;
  }

  static base::Result<std::string> unquoted(std::string_view text) {
    if (text.size() < 2 || text.back() != text.front()) {
      return base::invalid(fmt::format("{{{}}}: the text is not closed", text));
    }
    std::string result;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
      const bool escape = text[i] == '\\' && i + 2 < text.size();
      const char c = text[escape ? ++i : i];
      result += !escape ? c : c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    return result;
  }

  static base::Result<std::vector<Step>> parse_steps(std::string_view path) {
    const auto unsupported = [whole = std::string(path)](std::string_view what) {
      return base::invalid(
          fmt::format("{{{}}}: {} is not supported; fields, [*], [n], ['key'], range and end are",
                      whole, what));
    };
    std::vector<Step> steps;
    if (path.starts_with('$') || path.starts_with('@')) {
      path.remove_prefix(1);
    }
    while (!path.empty()) {
      if (path.starts_with("..")) {
        return unsupported("recursive descent (..)");
      }
      if (path.front() == '[') {
        const std::size_t close = path.find(']');
        auto step =
            close == std::string_view::npos ? std::nullopt : bracket(path.substr(1, close - 1));
        if (!step) {
          return unsupported(fmt::format("\"{}\"", path.substr(0, close + 1)));
        }
        steps.push_back(*std::move(step));
        path.remove_prefix(close + 1);
      } else if (path.front() == '.') {
        path.remove_prefix(1);
        take_field(path, steps);
      } else {
        return unsupported(fmt::format("\"{}\" without a dot before it", path));
      }
    }
    return steps;
  }

  // "name" or "*", up to the next dot or bracket; nothing for the dot that means the value itself.
  static void take_field(std::string_view& path, std::vector<Step>& steps) {
    std::string name;
    while (!path.empty() && path.front() != '.' && path.front() != '[') {
      path.remove_prefix(path.front() == '\\' && path.size() > 1 ? 1 : 0);
      name += path.front();
      path.remove_prefix(1);
    }
    if (!name.empty()) {
      steps.push_back({name == "*" ? Step::Kind::All : Step::Kind::Field, name});
    }
  }

  static std::optional<Step> bracket(std::string_view inside) {
    if (inside == "*") {
      return Step{Step::Kind::All};
    }
    if (inside.size() >= 2 && (inside.front() == '\'' || inside.front() == '"') &&
        inside.back() == inside.front()) {
      return Step{Step::Kind::Field, std::string(inside.substr(1, inside.size() - 2))};
    }
    int index = 0;
    const char* end = inside.data() + inside.size();
    const auto [read, problem] = std::from_chars(inside.data(), end, index);
    return problem == std::errc() && read == end ? std::optional(Step{Step::Kind::Index, {}, index})
                                                 : std::nullopt;
  }

  std::string_view rest_;
};

base::Result<JsonPath> JsonPath::parse(std::string_view text) {
  JsonPath path;
  INJ_ASSIGN(path.pieces_, Parser(text).parse());
  return path;
}

void JsonPath::walk(const Json& value, const std::vector<Step>& steps, std::size_t at,
                    std::vector<const Json*>& found) {
  if (at == steps.size()) {
    found.push_back(&value);
    return;
  }
  const Step& step = steps[at];
  if (step.kind == Step::Kind::All && value.is_structured()) {
    for (const Json& element : value) {
      walk(element, steps, at + 1, found);
    }
  } else if (step.kind == Step::Kind::Index && value.is_array()) {
    const auto size = static_cast<int>(value.size());
    const int index = step.index < 0 ? step.index + size : step.index;
    if (index >= 0 && index < size) {
      walk(value.at(static_cast<std::size_t>(index)), steps, at + 1, found);
    }
  } else if (step.kind == Step::Kind::Field) {
    if (const Json* member = base::find(value, step.field)) {
      walk(*member, steps, at + 1, found);
    }
  }
}

void JsonPath::print(const std::vector<Piece>& pieces, const Json& value, std::string& out) {
  for (const Piece& piece : pieces) {
    std::vector<const Json*> found;
    if (piece.kind == Piece::Kind::Text) {
      out += piece.text;
    } else {
      walk(value, piece.steps, 0, found);
    }
    for (const Json* one : found) {
      if (piece.kind == Piece::Kind::Range) {
        print(piece.body, *one, out);
      } else {
        out += one == found.front() ? "" : " ";
        out += one->is_string() ? std::string(base::text_of(one)) : base::to_text(*one);
      }
    }
  }
}

std::string JsonPath::print(const Json& document) const {
  std::string out;
  print(pieces_, document, out);
  return out;
}

}  // namespace injector::cli
