// What strategic merge patch has to know about the fields of Pods and workloads: which values are
// merged member by member, which lists are merged by key, and which members retain only listed
// keys.
//
// A field that is not in the table is atomic: scalars, lists without a merge key, and everything
// that this version of the table has never heard of (docs/decisions/0001-unknown-fields.md).
//
// The tables are constants; everything here may be called from any thread.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace injector::patch {

struct Field;

/// The non-atomic fields of one type. Points into a constant table; copy it freely.
class Schema {
 public:
  /// Nothing below is merged: a map of strings, or a struct of scalars and atomic lists.
  constexpr Schema() = default;

  template <std::size_t N>
  constexpr Schema(const std::array<Field, N>& fields)  // NOLINT(google-explicit-constructor)
      : fields_(fields.data()),
        size_(N) {}

  /// nullptr: atomic. Falls back to a match without regard to case, as Kubernetes does.
  [[nodiscard]] const Field* find(std::string_view name) const noexcept;

 private:
  const Field* fields_ = nullptr;
  std::size_t size_ = 0;
};

enum class FieldKind {
  Struct,      // An object with the fields of `schema`.
  Map,         // An object whose keys are the user's: labels, limits.
  ObjectList,  // A list of objects, merged by `merge_key`; `schema` is the elements'.
  ScalarList,  // A list of scalars that is merged as a set.
};

struct Field {
  std::string_view name;
  FieldKind kind = FieldKind::Struct;
  Schema schema;
  std::string_view merge_key;
  bool retain_keys = false;  // A patch of it lists the keys to keep: at most one of them is set.
};

[[nodiscard]] constexpr bool is_merge_list(const Field* field) noexcept {
  return field != nullptr &&
         (field->kind == FieldKind::ObjectList || field->kind == FieldKind::ScalarList);
}

/// The schema of a kind by its name ("Pod", "Deployment", ...); nullptr if we have none.
[[nodiscard]] const Schema* schema_for_kind(std::string_view kind) noexcept;

/// "Pod, PodTemplate, ...", for messages.
[[nodiscard]] std::string_view supported_kinds() noexcept;

}  // namespace injector::patch
