// ASCII letters, digits and blanks: what the C library answers by locale, answered the same
// everywhere. Pure; any thread.

#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace injector::base {

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}

[[nodiscard]] constexpr bool is_upper(char c) noexcept {
  return c >= 'A' && c <= 'Z';
}

[[nodiscard]] constexpr bool is_letter(char c) noexcept {
  return is_lower(c) || is_upper(c);
}

[[nodiscard]] constexpr bool is_alphanumeric(char c) noexcept {
  return is_letter(c) || is_digit(c);
}

[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}

/// `text` with its upper-case ASCII letters in lower case.
[[nodiscard]] inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return to_lower(c); });
  return lower;
}

/// Equal but for the case of ASCII letters.
[[nodiscard]] constexpr bool same_ignoring_case(std::string_view left,
                                                std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char one, char other) { return to_lower(one) == to_lower(other); });
}

inline constexpr std::string_view kBlanks = " \t";
inline constexpr std::string_view kBlanksAndBreaks = " \t\r\n";

/// `text` without the characters of `unwanted` at its two ends.
[[nodiscard]] constexpr std::string_view trimmed(std::string_view text,
                                                 std::string_view unwanted = kBlanks) noexcept {
  const std::size_t begin = text.find_first_not_of(unwanted);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(unwanted) - begin + 1);
}

}  // namespace injector::base
