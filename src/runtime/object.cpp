#include "runtime/object.h"

#include <utility>

namespace injector::runtime {
namespace {

std::string compact_text(const base::Json& value) {
  std::string text = value.dump(-1, ' ', false, base::Json::error_handler_t::replace);
  text.shrink_to_fit();  // A store holds many of these for long.
  return text;
}

bool usable_in_key(std::string_view part) {
  return part.find('/') == std::string_view::npos;
}

}  // namespace

void drop_managed_fields(base::Json& object) {
  base::Json* const metadata = base::find(object, "metadata");
  if (metadata != nullptr && metadata->is_object()) {
    metadata->erase("managedFields");
  }
}

KeyView split_key(std::string_view key) noexcept {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) {
    return {{}, key};
  }
  return {key.substr(0, slash), key.substr(slash + 1)};
}

std::string join_key(std::string_view name_space, std::string_view name) {
  std::string key;
  key.reserve(name_space.size() + 1 + name.size());
  if (!name_space.empty()) {
    key.append(name_space).push_back('/');
  }
  return key.append(name);
}

KeyView key_view(const Object& object) noexcept {
  return {object.name_space, object.name};
}

std::string key_of(const Object& object) {
  return join_key(object.name_space, object.name);
}

base::Result<ObjectPtr> make_object(const base::Json& object) {
  const auto field = [&](std::string_view name) {
    return base::text_of(base::find(object, "metadata", name));
  };
  const std::string_view name = field("name");
  const std::string_view name_space = field("namespace");
  if (name.empty()) {
    return base::invalid("object without metadata.name");
  }
  if (!usable_in_key(name) || !usable_in_key(name_space)) {
    return base::invalid("object with '/' in its name or namespace");
  }
  return ObjectPtr(std::make_shared<Object>(
      Object{std::string(name_space), std::string(name), std::string(field("uid")),
             std::string(field("resourceVersion")), compact_text(object)}));
}

}  // namespace injector::runtime
