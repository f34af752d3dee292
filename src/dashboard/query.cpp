#include "dashboard/query.h"

#include <algorithm>
#include <charconv>

namespace injector::dashboard {
namespace {

// Calls `take` with each part of `text` between separators.
template <class Take>
void split(std::string_view text, char separator, Take take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// The byte that "%41" at the front of `text` means; -1: it is no escape.
int escaped_byte(std::string_view text) {
  if (text.size() < 3 || text.front() != '%') {
    return -1;
  }
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + 3, byte, 16);
  return error == std::errc() && end == text.data() + 3 ? static_cast<int>(byte) : -1;
}

}  // namespace

std::string percent_decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    const int byte = escaped_byte(text);
    decoded += byte >= 0 ? static_cast<char>(byte) : text.front() == '+' ? ' ' : text.front();
    text.remove_prefix(byte >= 0 ? 3 : 1);
  }
  return decoded;
}

std::map<std::string, std::string> parse_query(std::string_view query) {
  std::map<std::string, std::string> parameters;
  split(query, '&', [&](std::string_view part) {
    const std::size_t equal = std::min(part.find('='), part.size());
    parameters[percent_decoded(part.substr(0, equal))] =
        percent_decoded(part.substr(std::min(equal + 1, part.size())));
  });
  return parameters;
}

std::vector<std::string> path_behind(std::string_view path, std::string_view prefix) {
  std::vector<std::string> parts;
  path.remove_prefix(std::min(prefix.size() + 1, path.size()));
  split(path, '/', [&](std::string_view part) { parts.push_back(percent_decoded(part)); });
  return parts;
}

}  // namespace injector::dashboard
