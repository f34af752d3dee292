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

// Two digits for every 12 bits: one look-up for two digits.
struct Pair {
  char first;
  char second;
};

constexpr std::array<Pair, 4096> kPairs = [] {
  std::array<Pair, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs.at(i) = {kAlphabet[i >> 6U], kAlphabet[i & 63U]};
  }
  return pairs;
}();

std::uint32_t value_of(char byte) noexcept {
  return static_cast<unsigned char>(byte);
}

// Four digits for 24 bits.
void write_group(char* to, std::uint32_t group) noexcept {
  const Pair high = kPairs[group >> 12U];
  const Pair low = kPairs[group & 4095U];
  to[0] = high.first;
  to[1] = high.second;
  to[2] = low.first;
  to[3] = low.second;
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

void append_base64(std::string& out, std::string_view bytes) {
  const std::size_t begin = out.size();
  out.resize(begin + (bytes.size() + 2) / 3 * 4);
  char* to = out.data() + begin;  // Every answer of the webhook goes through here: no push_back.
  const std::size_t whole = bytes.size() / 3 * 3;
  for (std::size_t i = 0; i < whole; i += 3, to += 4) {
    write_group(to,
                value_of(bytes[i]) << 16U | value_of(bytes[i + 1]) << 8U | value_of(bytes[i + 2]));
  }
  const std::string_view rest = bytes.substr(whole);
  if (rest.empty()) {
    return;
  }
  const bool two = rest.size() == 2;
  write_group(to, value_of(rest[0]) << 16U | (two ? value_of(rest[1]) << 8U : 0));
  to[2] = two ? to[2] : '=';
  to[3] = '=';
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
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
