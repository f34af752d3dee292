#include "base/json_pointer.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace injector::base {

namespace {

Result<std::string> unescape(std::string_view token) {
  std::string text;
  for (std::size_t at = 0; at < token.size(); ++at) {
    if (token[at] != '~') {
      text.push_back(token[at]);
      continue;
    }
    const char code = at + 1 < token.size() ? token[at + 1] : ' ';
    if (code != '0' && code != '1') {
      return invalid("a ~ in a path is not followed by 0 or 1");
    }
    text.push_back(code == '0' ? '~' : '/');
    ++at;
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> parse_pointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (!pointer.empty() && pointer.front() != '/') {
    return invalid("a path does not begin with /");
  }
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    Result<std::string> token = unescape(pointer.substr(0, end));
    if (!token) {
      return std::move(token).error();
    }
    tokens.push_back(std::move(token).value());
    pointer.remove_prefix(end);
  }
  return tokens;
}

void append_token(std::string& pointer, std::string_view token) {
  pointer.push_back('/');
  for (const char letter : token) {
    if (letter == '~' || letter == '/') {
      pointer.append(letter == '~' ? "~0" : "~1");
    } else {
      pointer.push_back(letter);
    }
  }
}

std::string pointer_to(std::string parent, std::string_view key) {
  append_token(parent, key);
  return parent;
}

Result<std::size_t> parse_index(std::string_view token, std::size_t limit) {
  std::size_t index = 0;
  const char* const end = token.data() + token.size();
  const auto [stop, problem] = std::from_chars(token.data(), end, index);
  const bool leading_zero = token.size() > 1 && token.front() == '0';
  if (token.empty() || problem == std::errc::invalid_argument || stop != end || leading_zero) {
    return invalid("\"" + std::string(token) + "\" is not an array index");
  }
  if (problem != std::errc() || index > limit) {
    return invalid("the index " + std::string(token) + " is beyond the end of the array");
  }
  return index;
}

}  // namespace injector::base
