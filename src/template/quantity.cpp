#include "template/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

namespace injector::templates {
namespace {

using Notation = Quantity::Notation;

constexpr long double kTen = 10;
constexpr long double kThousand = 1000;
constexpr int kMaxExponent = 1000;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) noexcept {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto length = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

struct Factor {
  int power = 0;  // Of ten or of two.
  Notation notation = Notation::Decimal;
};

struct Suffix {
  std::string_view text;
  Factor factor;
};

constexpr std::array<Suffix, 16> kSuffixes = {{
    {"", {0, Notation::Decimal}},
    {"n", {-9, Notation::Decimal}},
    {"u", {-6, Notation::Decimal}},
    {"m", {-3, Notation::Decimal}},
    {"k", {3, Notation::Decimal}},
    {"M", {6, Notation::Decimal}},
    {"G", {9, Notation::Decimal}},
    {"T", {12, Notation::Decimal}},
    {"P", {15, Notation::Decimal}},
    {"E", {18, Notation::Decimal}},
    {"Ki", {10, Notation::Binary}},
    {"Mi", {20, Notation::Binary}},
    {"Gi", {30, Notation::Binary}},
    {"Ti", {40, Notation::Binary}},
    {"Pi", {50, Notation::Binary}},
    {"Ei", {60, Notation::Binary}},
}};

std::optional<Factor> exponent(std::string_view text) noexcept {
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  if (text.front() == '+') {
    text.remove_prefix(1);
    if (text.empty() || !is_digit(text.front())) {
      return std::nullopt;
    }
  }
  int power = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), power);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return Factor{std::clamp(power, -kMaxExponent, kMaxExponent), Notation::Exponent};
}

std::optional<Factor> factor_of(std::string_view suffix) noexcept {
  for (const Suffix& known : kSuffixes) {
    if (known.text == suffix) {
      return known.factor;
    }
  }
  return exponent(suffix);
}

// All factors are multiplied before the one division, so that equal amounts stay equal.
long double thousandths(std::string_view whole, std::string_view fraction, Factor factor) {
  long double value = 0;
  for (const std::string_view digits : {whole, fraction}) {
    for (const char digit : digits) {
      value = value * kTen + static_cast<long double>(digit - '0');
    }
  }
  value *= kThousand;
  int power = -static_cast<int>(std::min<std::size_t>(fraction.size(), kMaxExponent));
  if (factor.notation == Notation::Binary) {
    value = std::ldexp(value, factor.power);
  } else {
    power += factor.power;
  }
  const long double scale = std::pow(kTen, static_cast<long double>(std::abs(power)));
  return power < 0 ? value / scale : value * scale;
}

std::optional<Quantity> read_text(std::string_view text) {
  if (text.empty()) {
    return std::nullopt;
  }
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') {
    text.remove_prefix(1);
  }
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  const bool point = !text.empty() && text.front() == '.';
  if (point) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  const auto factor = factor_of(text);
  if (!factor || (!point && whole.empty())) {  // A lone "." is zero, says Kubernetes.
    return std::nullopt;
  }
  const long double amount = thousandths(whole, fraction, *factor);
  return Quantity{negative ? -std::ceil(amount) : std::ceil(amount), factor->notation};
}

}  // namespace

bool Quantity::is_whole() const noexcept {
  return std::fmod(thousandths, kThousand) == 0;
}

std::optional<Quantity> read_quantity(const base::Json& value) {
  if (value.is_number()) {
    return read_text(base::to_text(value));
  }
  return value.is_string() ? read_text(base::text_of(&value)) : std::nullopt;
}

bool is_quantity(const base::Json& value) {
  return read_quantity(value).has_value();
}

}  // namespace injector::templates
