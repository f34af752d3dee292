#include "kube/resource.h"

#include <initializer_list>

namespace injector::kube {
namespace {

using base::Result;

bool unreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (const char c : text) {
    if (unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
}

// Escaping does not help these: they mean something to a URL as they are.
bool names_something(std::string_view segment) {
  return !segment.empty() && segment != "." && segment != "..";
}

Result<std::string> join(const Target& target, const std::vector<std::string_view>& segments) {
  std::string path;
  for (const std::string_view segment : segments) {
    if (!names_something(segment)) {
      return base::invalid(describe(target) + ": \"" + std::string(segment) +
                           "\" cannot be part of an address");
    }
    path += '/';
    append_escaped(path, segment);
  }
  return path;
}

/// A subresource may have a path of its own ("proxy/metrics").
void add_segments(std::vector<std::string_view>& segments, std::string_view path) {
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
}

}  // namespace

std::string Resource::api_version() const {
  return group.empty() ? version : group + "/" + version;
}

Result<std::string> path_of(const Target& target) {
  const Resource& resource = target.resource;
  std::vector<std::string_view> segments;
  if (resource.group.empty()) {
    segments = {"api", resource.version};
  } else {
    segments = {"apis", resource.group, resource.version};
  }
  if (resource.namespaced && !target.name_space.empty()) {
    segments.insert(segments.end(), {"namespaces", target.name_space});
  }
  segments.push_back(resource.plural);
  if (!target.name.empty()) {
    segments.push_back(target.name);
    add_segments(segments, target.subresource);
  }
  return join(target, segments);
}

std::string describe(const Target& target) {
  std::string text = target.resource.plural;
  if (!target.subresource.empty()) {
    text += "/" + target.subresource;
  }
  const bool in_namespace = target.resource.namespaced && !target.name_space.empty();
  if (in_namespace || !target.name.empty()) {
    text += " ";
  }
  if (in_namespace) {
    text += target.name_space;
  }
  if (!target.name.empty()) {
    text += (in_namespace ? "/" : "") + target.name;
  }
  return text;
}

std::string query_string(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    text += text.empty() ? '?' : '&';
    append_escaped(text, name);
    text += '=';
    append_escaped(text, value);
  }
  return text;
}

}  // namespace injector::kube
