#include "yaml/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "yaml/number.h"

namespace injector::yaml {
namespace {

using base::is_digit;
using base::Json;
using std::string_view;

constexpr string_view kTagPrefix = "tag:yaml.org,2002:";

template <std::size_t N>
bool one_of(string_view text, const std::array<string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_null(string_view text) {
  return one_of(text, std::to_array<string_view>({"", "~", "null", "Null", "NULL"}));
}

bool is_true(string_view text) {
  return one_of(text, std::to_array<string_view>({"y", "Y", "yes", "Yes", "YES", "true", "True",
                                                  "TRUE", "on", "On", "ON"}));
}

bool is_false(string_view text) {
  return one_of(text, std::to_array<string_view>({"n", "N", "no", "No", "NO", "false", "False",
                                                  "FALSE", "off", "Off", "OFF"}));
}

std::optional<double> special_float(string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (one_of(text, std::to_array<string_view>({".nan", ".NaN", ".NAN"}))) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  if (!one_of(text, std::to_array<string_view>({".inf", ".Inf", ".INF"}))) {
    return std::nullopt;
  }
  return negative ? -kInfinity : kInfinity;
}

int take_number(string_view& text, std::size_t max_digits) {
  const std::size_t digits = std::min(skip_digits(text, 0), max_digits);
  int value = -1;
  std::from_chars(text.data(), text.data() + digits, value);
  text.remove_prefix(digits);
  return value;
}

bool take(string_view& text, char c) {
  if (!text.starts_with(c)) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

bool take_date(string_view& text) {
  if (skip_digits(text, 0) != 4) {
    return false;
  }
  const int year = take_number(text, 4);
  const int month = take(text, '-') ? take_number(text, 2) : -1;
  const int day = take(text, '-') ? take_number(text, 2) : -1;
  constexpr std::array<int, 12> kDays{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1 || day > kDays.at(static_cast<std::size_t>(month - 1))) {
    return false;
  }
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return month != 2 || day < 29 || leap;
}

bool take_time(string_view& text) {
  const int hour = take_number(text, 2);
  const int minute = take(text, ':') ? take_number(text, 2) : -1;
  const int second = take(text, ':') ? take_number(text, 2) : -1;
  if (text.size() > 1 && text.front() == '.' && is_digit(text[1])) {
    text.remove_prefix(skip_digits(text, 1));
  }
  return hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
}

bool is_zone(string_view text) {
  if (text == "Z") {
    return true;
  }
  if (text.size() != 6 || skip_sign(text, 0) != 1 || text[3] != ':') {
    return false;
  }
  return skip_digits(text, 1) == 3 && skip_digits(text, 4) == 6;
}

bool is_timestamp(string_view text) {
  if (!take_date(text)) {
    return false;
  }
  if (text.empty()) {
    return true;
  }
  const char separator = text.front();
  text.remove_prefix(1);
  if (separator == ' ') {
    return take_time(text) && text.empty();
  }
  return (separator == 'T' || separator == 't') && take_time(text) && is_zone(text);
}

string_view type_name(const ScalarValue& value) {
  constexpr std::array<string_view, 6> kNames{"null", "bool", "int", "int", "float", "str"};
  return kNames.at(value.index());
}

base::Error cannot_decode(string_view text, const ScalarValue& value, string_view type) {
  constexpr std::size_t kShown = 40;
  const string_view shown = text.substr(0, kShown);
  return base::invalid(fmt::format("cannot decode !!{} `{}{}` as a !!{}", type_name(value), shown,
                                   shown.size() < text.size() ? "..." : "", type));
}

base::Result<ScalarValue> resolve_binary(string_view text) {
  const auto bytes = base::base64_decode(text);
  if (!bytes) {
    return base::invalid("!!binary value contains invalid base64 data");
  }
  // JSON holds no bytes: what is not UTF-8 becomes U+FFFD, as in Go.
  const std::string quoted = Json(*bytes).dump(-1, ' ', false, Json::error_handler_t::replace);
  return ScalarValue(Json::parse(quoted).get<std::string>());
}

}  // namespace

ScalarValue resolve_plain(string_view text) {
  if (is_null(text)) {
    return nullptr;
  }
  if (is_true(text)) {
    return true;
  }
  if (is_false(text)) {
    return false;
  }
  if (const auto special = special_float(text)) {
    return *special;
  }
  const char first = text.front();
  if (first == '.') {
    const auto real = parse_fraction(text);
    return real ? ScalarValue(*real) : ScalarValue(std::string(text));
  }
  if (is_digit(first) || first == '+' || first == '-') {
    if (const auto number = parse_number(text)) {
      return std::visit([](auto value) { return ScalarValue(value); }, *number);
    }
  }
  return std::string(text);
}

base::Result<ScalarValue> resolve_tagged(string_view text, string_view tag) {
  const string_view type =
      tag.starts_with(kTagPrefix) ? tag.substr(kTagPrefix.size()) : string_view();
  if (type == "binary") {
    return resolve_binary(text);
  }
  if (!one_of(type, std::to_array<string_view>({"bool", "int", "float", "null", "timestamp"}))) {
    return ScalarValue(std::string(text));
  }
  ScalarValue value = resolve_plain(text);
  if (type == "timestamp" && is_timestamp(text)) {
    return ScalarValue(std::string(text));
  }
  if (type == "float" && std::holds_alternative<std::int64_t>(value)) {
    return ScalarValue(static_cast<double>(std::get<std::int64_t>(value)));
  }
  if (type_name(value) != type) {
    return cannot_decode(text, value, type);
  }
  return value;
}

base::Result<Json> scalar_to_json(ScalarValue value) {
  if (const auto* real = std::get_if<double>(&value)) {
    if (!std::isfinite(*real)) {
      return base::invalid("infinity and NaN have no place in JSON");
    }
    return integral_or_float(*real);
  }
  return std::visit([](auto&& held) { return Json(std::forward<decltype(held)>(held)); },
                    std::move(value));
}

base::Result<std::string> scalar_to_key(ScalarValue value) {
  if (auto* text = std::get_if<std::string>(&value)) {
    return std::move(*text);
  }
  if (const auto* flag = std::get_if<bool>(&value)) {
    return std::string(*flag ? "true" : "false");
  }
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*number);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return float_key(*real);
  }
  return base::invalid(std::holds_alternative<std::nullptr_t>(value)
                           ? "null cannot be a key"
                           : "an integer beyond 64 bits with sign cannot be a key");
}

}  // namespace injector::yaml
