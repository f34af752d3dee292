#include "kube/base64.h"

#include <algorithm>

#include <openssl/evp.h>

namespace injector::kube {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

bool is_digit(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '/';
}

}  // namespace

std::string encode_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a NUL.
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(bytes),
                                   static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits),
               [](char c) { return c != '\n' && c != '\r'; });
  // OpenSSL forgives blanks and wrong padding; checked here.
  const std::size_t end = std::min(digits.find('='), digits.size());
  const std::size_t padding = digits.size() - end;
  if (digits.size() % 4 != 0 || padding > 2 ||
      digits.find_first_not_of('=', end) != std::string::npos ||
      !std::all_of(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(end), is_digit)) {
    return std::nullopt;
  }
  std::string out(digits.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), bytes_of(digits),
                                   static_cast<int>(digits.size()));
  if (size < 0) {
    return std::nullopt;
  }
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

}  // namespace injector::kube
