// The fields of core/v1 that a template may use, and the rules for each of them: what a typo and a
// value are checked against. Rules that involve several fields are in container_rules,
// resource_rules and volume_rules. Data only.

#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "template/text_format.h"

namespace injector::templates {

enum class FieldType {
  String,
  Boolean,
  Integer,
  Port,
  IntOrString,  // A port by number or by name.
  Quantity,     // "100m", "64Mi", 1.
  StringMap,
  QuantityMap,
  Object,  // `fields` says what is in it.
  Any,     // Checked by the API server only.
};

using Words = std::span<const std::string_view>;

/// Members of an object of which at most one may be there, or exactly one if `needs_one`.
struct Choice {
  Words members = {};
  bool needs_one = false;
};

struct Range {
  std::int64_t min = std::numeric_limits<std::int32_t>::min();
  std::int64_t max = std::numeric_limits<std::int32_t>::max();
};

inline constexpr std::int64_t kMaxMode = 0777;  // Of a file.

struct Field {
  std::string_view name;
  FieldType type;
  bool is_list = false;
  std::span<const Field> fields = {};
  bool required = false;             // Must be there and not be empty.
  Format format = Format::Any;       // Of a String; of the text of an IntOrString.
  Words values = {};                 // All that a String may be; none: anything.
  bool empty_means_default = false;  // With `values`: an empty text is the same as none.
  Range range = {};                  // Of an Integer or a Port.
  Choice choice = {};                // Of an Object.
};

[[nodiscard]] std::span<const Field> container_fields() noexcept;
[[nodiscard]] Field volumes_field() noexcept;
[[nodiscard]] std::span<const Field> local_object_reference_fields() noexcept;

}  // namespace injector::templates
