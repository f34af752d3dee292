// The words in which the field tables are written. For core_v1_*.cpp only.

#pragma once

#include <string_view>

#include "template/core_v1_fields.h"

namespace injector::templates {

using Fields = std::span<const Field>;

constexpr Field text(std::string_view name, Format format = Format::Any) {
  return {.name = name, .type = FieldType::String, .format = format};
}

constexpr Field texts(std::string_view name) {
  return {.name = name, .type = FieldType::String, .is_list = true};
}

constexpr Field flag(std::string_view name) {
  return {.name = name, .type = FieldType::Boolean};
}

constexpr Field number(std::string_view name, Range range = {}) {
  return {.name = name, .type = FieldType::Integer, .range = range};
}

constexpr Field port(std::string_view name, std::int64_t min) {
  constexpr std::int64_t kMaxPort = 65535;
  return {.name = name, .type = FieldType::Port, .range = {min, kMaxPort}};
}

constexpr Field quantity(std::string_view name) {
  return {.name = name, .type = FieldType::Quantity};
}

constexpr Field object(std::string_view name, Fields fields) {
  return {.name = name, .type = FieldType::Object, .fields = fields};
}

constexpr Field objects(std::string_view name, Fields fields) {
  return {.name = name, .type = FieldType::Object, .is_list = true, .fields = fields};
}

constexpr Field required(Field field) {
  field.required = true;
  return field;
}

/// An enumeration whose default the server fills in where the text is empty.
constexpr Field defaulted(std::string_view name, Words values) {
  return {.name = name, .type = FieldType::String, .values = values, .empty_means_default = true};
}

/// An enumeration that, if it is there at all, must be one of the values.
constexpr Field one_of(std::string_view name, Words values) {
  return {.name = name, .type = FieldType::String, .values = values};
}

constexpr Field exactly_one(Field field, Words members) {
  field.choice = {members, true};
  return field;
}

constexpr Field at_most_one(Field field, Words members) {
  field.choice = {members, false};
  return field;
}

inline constexpr Range kNotNegative = {.min = 0};
inline constexpr Range kMode = {0, kMaxMode};

}  // namespace injector::templates
