#include "codec/template_checks.h"

#include <algorithm>
#include <array>

namespace injector::codec {
namespace {

constexpr std::size_t kLabelLength = 63;
constexpr std::size_t kPrefixLength = 253;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool is_lower_alphanumeric(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z');
}

bool is_alphanumeric(char c) noexcept {
  return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z');
}

template <class Inner>
bool is_word(std::string_view text, Inner is_inner) noexcept {
  return !text.empty() && text.size() <= kLabelLength && is_alphanumeric(text.front()) &&
         is_alphanumeric(text.back()) && std::all_of(text.begin(), text.end(), is_inner);
}

bool is_name_character(char c) noexcept {
  return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
}

bool is_dns_subdomain(std::string_view text) {
  if (text.size() > kPrefixLength) {
    return false;
  }
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_dns_label(text.substr(0, dot))) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(dot + 1);
  }
}

std::size_t digits_at(std::string_view text) noexcept {
  const auto* const end = std::find_if_not(text.begin(), text.end(), is_digit);
  return static_cast<std::size_t>(end - text.begin());
}

bool is_exponent(std::string_view text) noexcept {
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) {
    return false;
  }
  text.remove_prefix(1);
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    text.remove_prefix(1);
  }
  return !text.empty() && digits_at(text) == text.size();
}

bool is_suffix(std::string_view text) noexcept {
  constexpr std::array<std::string_view, 16> kSuffixes = {
      "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  return std::find(kSuffixes.begin(), kSuffixes.end(), text) != kSuffixes.end();
}

bool is_quantity_text(std::string_view text) noexcept {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) {
    text.remove_prefix(1);
  }
  std::size_t digits = digits_at(text);
  text.remove_prefix(digits);
  if (!text.empty() && text.front() == '.') {
    const std::size_t fraction = digits_at(text.substr(1));
    digits += fraction;
    text.remove_prefix(1 + fraction);
  }
  return digits > 0 && (is_suffix(text) || is_exponent(text));
}

}  // namespace

bool is_dns_label(std::string_view text) noexcept {
  return is_word(text, [](char c) { return is_lower_alphanumeric(c) || c == '-'; });
}

bool is_qualified_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (!is_dns_subdomain(text.substr(0, slash))) {
      return false;
    }
    text.remove_prefix(slash + 1);
  }
  return is_word(text, is_name_character);
}

bool is_label_value(std::string_view text) noexcept {
  return text.empty() || is_word(text, is_name_character);
}

bool is_quantity(const base::Json& value) {
  return value.is_number() || (value.is_string() && is_quantity_text(base::text_of(&value)));
}

}  // namespace injector::codec
