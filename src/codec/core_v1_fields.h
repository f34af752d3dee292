// The fields of core/v1 that a template may use: what a typo is checked against. Data only.

#pragma once

#include <span>
#include <string_view>

namespace injector::codec {

enum class FieldType {
  String,
  Boolean,
  Integer,
  Port,         // 1 to 65535.
  IntOrString,  // A port by number or by name.
  Quantity,     // "100m", "64Mi", 1.
  StringMap,
  QuantityMap,
  Object,  // `fields` says what is in it.
  Any,     // Checked by the API server only.
};

struct Field {
  std::string_view name;
  FieldType type;
  bool is_list = false;
  std::span<const Field> fields = {};
};

[[nodiscard]] std::span<const Field> container_fields() noexcept;
[[nodiscard]] std::span<const Field> volume_fields() noexcept;
[[nodiscard]] std::span<const Field> local_object_reference_fields() noexcept;

}  // namespace injector::codec
