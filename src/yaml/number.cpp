#include "yaml/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "base/ascii.h"

namespace injector::yaml {
namespace {

using base::is_digit;
using base::Json;
using std::string_view;

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
  switch (base::to_lower(digits[1])) {
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

std::optional<Number> signed_value(std::uint64_t magnitude, bool negative) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (!negative && magnitude <= kMax) {
    return static_cast<std::int64_t>(magnitude);
  }
  if (negative && magnitude <= kMax + 1) {
    return static_cast<std::int64_t>(0 - magnitude);
  }
  return std::nullopt;
}

// go-yaml's own fallback for binary numbers takes a sign behind the prefix: `0b-11` is -3.
std::optional<Number> parse_odd_binary(string_view text) {
  if (!text.starts_with("0b-") && !text.starts_with("0b+")) {
    return std::nullopt;
  }
  const auto magnitude = parse_digits(text.substr(3), 2);
  return magnitude ? signed_value(*magnitude, text[2] == '-') : std::nullopt;
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

}  // namespace

std::size_t skip_digits(string_view text, std::size_t at) {
  while (at < text.size() && is_digit(text[at])) {
    ++at;
  }
  return at;
}

std::size_t skip_sign(string_view text, std::size_t at) {
  return at < text.size() && (text[at] == '+' || text[at] == '-') ? at + 1 : at;
}

std::optional<Number> parse_integer(string_view text) {
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
  return sign ? std::nullopt : std::optional<Number>(*magnitude);
}

std::optional<double> parse_fraction(string_view text) {
  return underscores_separate_digits(text) ? parse_float(without_underscores(text)) : std::nullopt;
}

std::optional<Number> parse_number(string_view text) {
  const std::string plain = without_underscores(text);
  if (auto integer = parse_integer(plain)) {
    return integer;
  }
  if (const auto real = parse_float(plain)) {
    return *real;
  }
  return parse_odd_binary(plain);
}

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

}  // namespace injector::yaml
