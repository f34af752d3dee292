#include "template/findings.h"

#include <utility>

#include <fmt/format.h>

#include "base/json_pointer.h"

namespace injector::templates {

Place Place::member(std::string_view key) const {
  const bool plain = key.find_first_of("./[]") == std::string_view::npos;
  const std::string step =
      plain ? (path.empty() ? "" : ".") + std::string(key) : fmt::format("[{}]", key);
  return {base::pointer_to(pointer, key), path + step};
}

Place Place::element(std::size_t index) const {
  return {fmt::format("{}/{}", pointer, index), fmt::format("{}[{}]", path, index)};
}

void Findings::problem(const Place& place, std::string message) {
  if (ignored_.contains(place.pointer)) {
    return;
  }
  report_.problems.push_back(
      {line_of(top_.pointer + place.pointer), path_of(place), std::move(message)});
}

void Findings::warning(const Place& place, std::string message) {
  if (ignored_.contains(place.pointer)) {
    return;
  }
  report_.warnings.push_back(
      {line_of(top_.pointer + place.pointer), path_of(place), std::move(message)});
}

std::string Findings::path_of(const Place& place) const {
  if (top_.path.empty() || place.path.empty()) {
    return top_.path + place.path;
  }
  return top_.path + (place.path.front() == '[' ? "" : ".") + place.path;
}

// The line of the place itself or, where it is missing, of the nearest parent.
std::size_t Findings::line_of(std::string pointer) const {
  while (true) {
    if (const yaml::YamlNode* node = source_.node(pointer)) {
      return node->key.line != 0 ? node->key.line : node->value.line;
    }
    if (pointer.empty()) {
      return 0;
    }
    pointer.erase(pointer.rfind('/'));
  }
}

std::string_view text_at(const base::Json& object, std::string_view field) {
  return base::text_of(base::find(object, field));
}

bool is_flag(const base::Json& object, std::string_view field, bool value) {
  const base::Json* flag = base::find(object, field);
  return flag != nullptr && flag->is_boolean() && flag->get<bool>() == value;
}

}  // namespace injector::templates
