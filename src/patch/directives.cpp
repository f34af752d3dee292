#include "patch/directives.h"

#include <utility>

namespace injector::patch {

using base::Json;

Json elements_without_directives(const Json& list, Nulls nulls) {
  Json kept = Json::array();
  for (const Json& element : list) {
    if (std::optional<Json> clean = without_directives(element, nulls); clean) {
      kept.push_back(*std::move(clean));
    }
  }
  return kept;
}

std::optional<Json> without_directives(const Json& value, Nulls nulls) {
  if (value.is_array()) {
    return elements_without_directives(value, nulls);
  }
  if (!value.is_object()) {
    return value;
  }
  Json kept = Json::object();
  for (const auto& [key, member] : members_of(value)) {
    if (nulls == Nulls::Drop && member.is_null()) {
      continue;
    }
    if (key == kPatchDirective) {
      return std::nullopt;
    }
    if (std::optional<Json> clean = without_directives(member, nulls); clean) {
      base::append_member(kept, key, *std::move(clean));
    }
  }
  return kept;
}

}  // namespace injector::patch
