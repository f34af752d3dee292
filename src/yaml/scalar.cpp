#include "yaml/scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/base64.h"

namespace injector::yaml {
namespace {

using base::Json;
using std::string_view;

constexpr string_view kTagPrefix = "tag:yaml.org,2002:";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

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

// All of `digits`, or nothing: no sign, no rest, no overflow.
std::optional<std::uint64_t> parse_digits(string_view digits, int base) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc{} || stop != end) {
    return std::nullopt;
  }
  return value;
}

// The base that a prefix names, which is cut off: 0x, 0o, 0b in either case, and 0 for octal.
int take_base(string_view& digits) {
  if (digits.size() < 2 || digits.front() != '0') {
    return 10;
  }
  const char letter = digits[1];
  const bool upper = letter >= 'A' && letter <= 'Z';
  switch (upper ? letter - 'A' + 'a' : letter) {
    case 'x':
      digits.remove_prefix(2);
      return 16;
    case 'o':
      digits.remove_prefix(2);
      return 8;
    case 'b':
      digits.remove_prefix(2);
      return 2;
    default:
      digits.remove_prefix(1);
      return 8;
  }
}

std::optional<ScalarValue> signed_value(std::uint64_t magnitude, bool negative) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (!negative && magnitude <= kMax) {
    return static_cast<std::int64_t>(magnitude);
  }
  if (negative && magnitude <= kMax + 1) {
    return static_cast<std::int64_t>(0 - magnitude);
  }
  return std::nullopt;
}

std::optional<ScalarValue> parse_integer(string_view text) {
  string_view digits = text;
  const bool sign = digits.starts_with('-') || digits.starts_with('+');
  if (sign) {
    digits.remove_prefix(1);
  }
  const int base = take_base(digits);
  const auto magnitude = parse_digits(digits, base);
  if (!magnitude) {
    return std::nullopt;
  }
  if (auto value = signed_value(*magnitude, text.front() == '-')) {
    return value;
  }
  return sign ? std::nullopt : std::optional<ScalarValue>(*magnitude);
}

// go-yaml's own fallback for binary numbers takes a sign behind the prefix: `0b-11` is -3.
std::optional<ScalarValue> parse_odd_binary(string_view text) {
  if (!text.starts_with("0b-") && !text.starts_with("0b+")) {
    return std::nullopt;
  }
  const auto magnitude = parse_digits(text.substr(3), 2);
  return magnitude ? signed_value(*magnitude, text[2] == '-') : std::nullopt;
}

std::size_t skip_digits(string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return at;
}

std::size_t skip_sign(string_view text, std::size_t at) {
  return at < text.size() && (text[at] == '+' || text[at] == '-') ? at + 1 : at;
}

// [-+]? ( .digits | digits [. digits*] ) ( [eE] [-+]? digits )?
bool looks_like_float(string_view text) {
  const std::size_t start = skip_sign(text, 0);
  const std::size_t whole = skip_digits(text, start);
  std::size_t at = whole;
  if (at < text.size() && text[at] == '.') {
    at = skip_digits(text, at + 1);
  }
  if (whole == start && at <= start + 1) {
    return false;
  }
  if (at == text.size()) {
    return true;
  }
  if (text[at] != 'e' && text[at] != 'E') {
    return false;
  }
  const std::size_t exponent = skip_sign(text, at + 1);
  return exponent < text.size() && skip_digits(text, exponent) == text.size();
}

// from_chars reports underflow as out of range as well, where Go answers zero. What is out of range
// and below one, is far below.
bool underflows(string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  if (e < text.size()) {
    return text.substr(e + 1).starts_with('-');
  }
  return text.find_first_not_of("0_") == text.find('.');
}

std::optional<double> parse_float(string_view text) {
  if (!looks_like_float(text)) {
    return std::nullopt;
  }
  const bool negative = text.front() == '-';
  text.remove_prefix(skip_sign(text, 0));
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    if (!underflows(text)) {
      return std::nullopt;
    }
    value = 0;
  }
  return negative ? -value : value;
}

std::string without_underscores(string_view text) {
  std::string plain(text);
  plain.erase(std::remove(plain.begin(), plain.end(), '_'), plain.end());
  return plain;
}

bool underscores_separate_digits(string_view text) {
  for (std::size_t at = text.find('_'); at != string_view::npos; at = text.find('_', at + 1)) {
    const bool between =
        at > 0 && is_digit(text[at - 1]) && at + 1 < text.size() && is_digit(text[at + 1]);
    if (!between) {
      return false;
    }
  }
  return true;
}

// A number that begins with its point is stricter about underscores than all others.
std::optional<double> parse_fraction(string_view text) {
  return underscores_separate_digits(text) ? parse_float(without_underscores(text)) : std::nullopt;
}

std::optional<ScalarValue> parse_number(string_view text) {
  const std::string plain = without_underscores(text);
  if (auto integer = parse_integer(plain)) {
    return integer;
  }
  if (const auto real = parse_float(plain)) {
    return *real;
  }
  return parse_odd_binary(plain);
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

// Go's %g with the fewest digits that tell two 32-bit floats apart.
std::string float_key(double value) {
  const auto narrow = static_cast<float>(value);
  if (std::isnan(narrow)) {
    return ".nan";
  }
  if (std::isinf(narrow)) {
    return narrow > 0 ? ".inf" : "-.inf";
  }
  std::array<char, 64> buffer{};
  const auto scientific = std::to_chars(buffer.data(), buffer.data() + buffer.size(), narrow,
                                        std::chars_format::scientific);
  const string_view text(buffer.data(), static_cast<std::size_t>(scientific.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  constexpr int kMaxFixed = 6;
  if (exponent < -4 || exponent >= kMaxFixed) {
    return std::string(text);
  }
  const auto fixed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), narrow, std::chars_format::fixed);
  return {buffer.data(), fixed.ptr};
}

// The digits that Go writes for a whole number beyond the precision of a double: the shortest that
// tell it apart, and zeros.
std::string whole_digits(double value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  const string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t e = text.find("e+");
  std::size_t exponent = 0;
  std::from_chars(text.data() + e + 2, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, e));
  digits.erase(std::remove(digits.begin(), digits.end(), '.'), digits.end());
  const std::size_t sign = value < 0 ? 1 : 0;
  digits.resize(std::max(digits.size(), sign + exponent + 1), '0');
  return digits;
}

// JSON does not tell 1.0 from 1, and Kubernetes reads the JSON.
Json integral_or_float(double value) {
  constexpr double kTwo53 = 9007199254740992.0;
  constexpr double kTwo64 = 18446744073709551616.0;
  if (value != std::trunc(value) || std::abs(value) >= kTwo64) {
    return value;
  }
  if (std::abs(value) <= kTwo53) {
    return static_cast<std::int64_t>(value);
  }
  const auto integer = parse_integer(whole_digits(value));
  if (!integer) {
    return value;
  }
  const auto* number = std::get_if<std::int64_t>(&*integer);
  return number != nullptr ? Json(*number) : Json(std::get<std::uint64_t>(*integer));
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
    if (auto number = parse_number(text)) {
      return *std::move(number);
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
