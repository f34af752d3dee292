#include "cli/match_condition.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace injector::cli {
namespace {

using base::Json;

// Nothing: an error of evaluation, such as a field that is not there.
using Value = std::optional<Json>;

constexpr int kMaxDepth = 64;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::optional<bool> truth(const Value& value) {
  return value && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
}

Value both(const Value& left, const Value& right) {
  const auto one = truth(left);
  const auto two = truth(right);
  if ((one && !*one) || (two && !*two)) {
    return Json(false);
  }
  return one && two ? Value(Json(true)) : std::nullopt;
}

Value either(const Value& left, const Value& right) {
  const auto one = truth(left);
  const auto two = truth(right);
  if ((one && *one) || (two && *two)) {
    return Json(true);
  }
  return one && two ? Value(Json(false)) : std::nullopt;
}

Value is_in(const Value& wanted, const Value& where) {
  if (!wanted || !where) {
    return std::nullopt;
  }
  if (where->is_object() && wanted->is_string()) {
    return Json(base::find(std::as_const(*where), base::text_of(&*wanted)) != nullptr);
  }
  if (!where->is_array()) {
    return std::nullopt;
  }
  return Json(std::any_of(where->begin(), where->end(),
                          [&](const Json& item) { return base::same(item, *wanted); }));
}

Value member(const Value& value, const std::string& name) {
  const Json* found = value ? base::find(std::as_const(*value), name) : nullptr;
  return found == nullptr ? std::nullopt : Value(*found);
}

Value call(const Value& value, const std::string& method, const std::vector<Value>& arguments) {
  if (!value || !value->is_string()) {
    return std::nullopt;
  }
  std::string text(base::text_of(&*value));
  if (method == "lowerAscii" && arguments.empty()) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return Json(text);
  }
  if (arguments.size() != 1 || !arguments[0] || !arguments[0]->is_string()) {
    return std::nullopt;
  }
  const std::string_view part = base::text_of(&*arguments[0]);
  if (method == "startsWith") {
    return Json(std::string_view(text).starts_with(part));
  }
  if (method == "endsWith") {
    return Json(std::string_view(text).ends_with(part));
  }
  return Json(text.find(part) != std::string::npos);
}

// Reads and evaluates in one go; `understood()` is false once it met something it does not know.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Json& variables)
      : text_(text),
        variables_(variables) {}

  [[nodiscard]] std::optional<bool> run() {
    const Value value = ternary();
    skip_space();
    return understood_ && at_ == text_.size() ? truth(value) : std::nullopt;
  }

 private:
  // Counts how deep the expression is nested, as long as it lives.
  class Level {
   public:
    explicit Level(Evaluator& owner)
        : owner_(owner) {
      ++owner_.depth_;
      owner_.understood_ = owner_.understood_ && owner_.depth_ < kMaxDepth;
    }

    ~Level() { --owner_.depth_; }

    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Evaluator& owner_;  // Not owned.
  };

  Value ternary() {
    const Level level(*this);
    const Value condition = any();
    if (!understood_ || !take("?")) {
      return condition;
    }
    Value yes = ternary();
    expect(":");
    Value no = ternary();
    const auto chosen = truth(condition);
    if (!chosen) {
      return std::nullopt;
    }
    return *chosen ? std::move(yes) : std::move(no);
  }

  Value any() {
    Value left = all();
    while (understood_ && take("||")) {
      left = either(left, all());
    }
    return left;
  }

  Value all() {
    Value left = relation();
    while (understood_ && take("&&")) {
      left = both(left, relation());
    }
    return left;
  }

  Value relation() {
    Value left = unary();
    const bool equal = understood_ && take("==");
    if (equal || (understood_ && take("!="))) {
      const Value right = unary();
      return left && right ? Value(Json(base::same(*left, *right) == equal)) : std::nullopt;
    }
    return understood_ && take_word("in") ? is_in(left, unary()) : left;
  }

  Value unary() {
    const Level level(*this);
    if (!understood_) {
      return std::nullopt;
    }
    skip_space();
    if (peek() == '!' && peek(1) != '=') {
      ++at_;
      const auto inner = truth(unary());
      return inner ? Value(Json(!*inner)) : std::nullopt;
    }
    return selection(primary());
  }

  Value primary() {
    skip_space();
    const char c = peek();
    if (c == '(') {
      ++at_;
      Value inner = ternary();
      expect(")");
      return inner;
    }
    if (c == '\'' || c == '"') {
      return literal(c);
    }
    if (c == '[') {
      ++at_;
      return list();
    }
    return std::isdigit(static_cast<unsigned char>(c)) != 0 ? number() : named();
  }

  Value named() {
    const std::string word = identifier();
    if (word == "true" || word == "false") {
      return Json(word == "true");
    }
    if (word == "null") {
      return Json();
    }
    if (word == "has" && take("(")) {
      return presence();
    }
    const bool known = word == "object" || word == "oldObject" || word == "request";
    understood_ = understood_ && known;
    return known ? member(variables_, word) : std::nullopt;
  }

  // has(a.b.c): whether a.b has c. An absent a.b is an error.
  Value presence() {
    Value value = member(variables_, identifier());
    Value last;
    while (understood_ && take(".")) {
      const std::string name = identifier();
      last = value && value->is_object()
                 ? Value(Json(base::find(std::as_const(*value), name) != nullptr))
                 : std::nullopt;
      value = member(value, name);
    }
    expect(")");
    return last;
  }

  Value selection(Value value) {
    while (understood_) {
      if (next_is(".?") || next_is("[?")) {
        value = optional_chain(std::move(value));
      } else if (take("[")) {
        value = element(value);
      } else if (take(".")) {
        const std::string name = identifier();
        value = take("(") ? method(value, name) : member(value, name);
      } else {
        return value;
      }
    }
    return std::nullopt;
  }

  // What stands behind an opening bracket.
  Value element(const Value& value) {
    const Value index = ternary();
    expect("]");
    return index && index->is_string() ? member(value, std::string(base::text_of(&*index)))
                                       : std::nullopt;
  }

  // a.?b[?'c'].orValue(d): from the first question mark to the method that ends it. On the way
  // nothing means that there is nothing, unless `value` was an error to begin with.
  Value optional_chain(Value value) {
    const bool sound = value.has_value();
    while (understood_) {
      if (take("[?") || take("[")) {
        value = element(value);
      } else if (take(".?")) {
        value = member(value, identifier());
      } else {
        expect(".");
        const std::string name = identifier();
        if (take("(")) {
          Value end = end_of_chain(value, name);
          return sound ? std::move(end) : std::nullopt;
        }
        value = member(value, name);
      }
    }
    return std::nullopt;
  }

  Value end_of_chain(const Value& value, const std::string& method) {
    if (method == "hasValue") {
      expect(")");
      return Json(value.has_value());
    }
    understood_ = understood_ && method == "orValue";
    Value otherwise = ternary();
    expect(")");
    return value ? value : std::move(otherwise);
  }

  Value method(const Value& value, const std::string& name) {
    constexpr std::array<std::string_view, 4> kKnown = {"startsWith", "endsWith", "contains",
                                                        "lowerAscii"};
    understood_ = understood_ && std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end();
    std::vector<Value> arguments;
    while (understood_ && !take(")")) {
      arguments.push_back(ternary());
      if (!take(",")) {
        expect(")");
        break;
      }
    }
    return understood_ ? call(value, name, arguments) : std::nullopt;
  }

  Value list() {
    Json items = Json::array();
    bool whole = true;
    while (understood_ && !take("]")) {
      Value item = ternary();
      whole = whole && item;
      items.push_back(item ? *std::move(item) : Json());
      if (!take(",")) {
        expect("]");
        break;
      }
    }
    return whole ? Value(std::move(items)) : std::nullopt;
  }

  Value literal(char quote) {
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) {
      understood_ = false;
      return std::nullopt;
    }
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    understood_ = understood_ && content.find('\\') == std::string_view::npos;
    at_ = end + 1;
    return Json(std::string(content));
  }

  Value number() {
    std::int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_, end, value);
    at_ = static_cast<std::size_t>(rest - text_.data());
    understood_ = understood_ && error == std::errc() && peek() != '.' && !is_word(peek());
    return Json(value);
  }

  std::string identifier() {
    skip_space();
    const std::size_t begin = at_;
    while (is_word(peek())) {
      ++at_;
    }
    understood_ = understood_ && at_ > begin;
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool next_is(std::string_view sign) {
    skip_space();
    return text_.substr(at_).starts_with(sign);
  }

  bool take(std::string_view sign) {
    if (!next_is(sign)) {
      return false;
    }
    at_ += sign.size();
    return true;
  }

  bool take_word(std::string_view word) {
    skip_space();
    if (!text_.substr(at_).starts_with(word) || is_word(peek(word.size()))) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  void expect(std::string_view sign) { understood_ = take(sign) && understood_; }

  void skip_space() {
    while (std::isspace(static_cast<unsigned char>(peek())) != 0) {
      ++at_;
    }
  }

  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  const std::string_view text_;
  const Json& variables_;  // Not owned.
  std::size_t at_ = 0;
  int depth_ = 0;
  bool understood_ = true;
};

}  // namespace

std::optional<bool> evaluate_condition(std::string_view expression, const Json& variables) {
  return Evaluator(expression, variables).run();
}

}  // namespace injector::cli
