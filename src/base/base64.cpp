#include "base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace injector::base {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kInvalid = 0xff;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kInvalid);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values.at(static_cast<unsigned char>(kAlphabet[i])) = static_cast<std::uint8_t>(i);
  }
  return values;
}();

std::uint32_t byte_at(std::string_view bytes, std::size_t index) noexcept {
  return index < bytes.size() ? static_cast<unsigned char>(bytes[index]) : 0;
}

std::string without_line_breaks(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (const char c : text) {
    if (c != '\n' && c != '\r') {
      kept += c;
    }
  }
  return kept;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  char* out = text.data();  // Every answer of the webhook goes through here: no push_back.
  for (std::size_t i = 0; i < bytes.size(); i += 3, out += 4) {
    const std::uint32_t group =
        byte_at(bytes, i) << 16U | byte_at(bytes, i + 1) << 8U | byte_at(bytes, i + 2);
    out[0] = kAlphabet[group >> 18U];
    out[1] = kAlphabet[group >> 12U & 63U];
    out[2] = kAlphabet[group >> 6U & 63U];
    out[3] = kAlphabet[group & 63U];
  }
  const std::size_t padding = text.size() / 4 * 3 - bytes.size();
  text.replace(text.size() - padding, padding, padding, '=');
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::string digits = without_line_breaks(text);
  if (digits.size() % 4 != 0) {
    return std::nullopt;
  }
  for (int padding = 0; padding < 2 && !digits.empty() && digits.back() == '='; ++padding) {
    digits.pop_back();
  }
  std::string bytes;
  bytes.reserve(digits.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  unsigned bits = 0;
  for (const char c : digits) {
    const std::uint8_t value = kValues.at(static_cast<unsigned char>(c));
    if (value == kInvalid) {
      return std::nullopt;
    }
    group = group << 6U | value;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 0xffU);
    }
  }
  return bytes;
}

}  // namespace injector::base
