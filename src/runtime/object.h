// What an informer keeps of an API object: the few strings every layer asks for, and the rest as
// compact text. A parsed tree takes about ten times its text, so readers parse when they need to.
//
// A key is "namespace/name", or "name" for an object of the whole cluster.
// All functions are pure and may be called from any thread.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace injector::runtime {

struct Object {
  std::string name_space;        // Empty: cluster-scoped.
  std::string name;              // Never empty, no '/' inside.
  std::string uid;               // May be empty: the server left it out.
  std::string resource_version;  // May be empty: the server left it out.
  std::string json;              // The whole object after the Transform, compact.
};

/// Immutable, so any number of threads may hold one.
using ObjectPtr = std::shared_ptr<const Object>;

/// Trims an object before it is stored; see drop_managed_fields. Must leave metadata.name and
/// metadata.namespace alone and give the same result when applied twice.
using Transform = std::function<void(base::Json&)>;

/// The default Transform: removes metadata.managedFields, which no controller reads.
void drop_managed_fields(base::Json& object);

/// A key taken apart. Points into the text it was made from.
struct KeyView {
  std::string_view name_space;
  std::string_view name;

  friend bool operator==(const KeyView&, const KeyView&) = default;
};

[[nodiscard]] KeyView split_key(std::string_view key) noexcept;
[[nodiscard]] std::string join_key(std::string_view name_space, std::string_view name);
[[nodiscard]] KeyView key_view(const Object& object) noexcept;
[[nodiscard]] std::string key_of(const Object& object);

/// Reads the metadata and writes the text. Fails where there is no usable metadata.name.
[[nodiscard]] base::Result<ObjectPtr> make_object(const base::Json& object);

}  // namespace injector::runtime
