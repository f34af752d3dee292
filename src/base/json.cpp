#include "base/json.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace injector::base {
namespace {

// Below this many members a walk is faster than hashing.
constexpr std::size_t kSmallObject = 16;

bool same_integer(const Json& left, const Json& right) {
  const bool left_negative =
      left.is_number_integer() && !left.is_number_unsigned() && left.get<std::int64_t>() < 0;
  const bool right_negative =
      right.is_number_integer() && !right.is_number_unsigned() && right.get<std::int64_t>() < 0;
  return left_negative == right_negative && left.get<std::uint64_t>() == right.get<std::uint64_t>();
}

bool same_object(const Json& left, const Json& right) {
  if (left.size() != right.size()) {
    return false;
  }
  const MemberIndex members(right);
  return std::all_of(left.items().begin(), left.items().end(), [&](const auto& item) {
    const Json* other = members.find(item.key());
    return other != nullptr && same(item.value(), *other);
  });
}

}  // namespace

const Json* find(const Json& value, std::string_view key) {
  if (!value.is_object()) {
    return nullptr;
  }
  for (const auto& member : value.get_ref<const Json::object_t&>()) {
    if (member.first == key) {
      return &member.second;
    }
  }
  return nullptr;
}

Json* find(Json& value, std::string_view key) {
  return const_cast<Json*>(find(std::as_const(value), key));  // The object itself is not const.
}

MemberIndex::MemberIndex(const Json& object)
    : object_(object) {
  if (!object.is_object() || object.size() <= kSmallObject) {
    return;
  }
  members_.reserve(object.size());
  for (const auto& member : object.get_ref<const Json::object_t&>()) {
    members_.emplace(member.first, &member.second);
  }
}

const Json* MemberIndex::find(std::string_view key) const {
  if (members_.empty()) {
    return base::find(object_, key);
  }
  const auto found = members_.find(key);
  return found == members_.end() ? nullptr : found->second;
}

std::string_view text_of(const Json* value) noexcept {
  if (value == nullptr || !value->is_string()) {
    return {};
  }
  return *value->get_ptr<const std::string*>();
}

std::string to_text(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool same(const Json& left, const Json& right) {
  if (left.is_number_integer() && right.is_number_integer()) {
    return same_integer(left, right);
  }
  if (left.type() != right.type()) {
    return false;
  }
  if (left.is_object()) {
    return same_object(left, right);
  }
  if (left.is_array()) {
    return std::equal(left.begin(), left.end(), right.begin(), right.end(), same);
  }
  return left == right;
}

void append_member(Json& object, std::string key, Json value) {
  auto& members = object.get_ref<Json::object_t&>();
  static_cast<Json::object_t::Container&>(members).emplace_back(std::move(key), std::move(value));
}

bool deeper_than(const Json& value, std::size_t limit) {
  std::vector<std::pair<const Json*, std::size_t>> open{{&value, 1}};
  while (!open.empty()) {
    const auto [node, depth] = open.back();
    open.pop_back();
    if (!node->is_structured()) {
      continue;
    }
    if (depth > limit) {
      return true;
    }
    for (const Json& child : *node) {
      open.emplace_back(&child, depth + 1);
    }
  }
  return false;
}

}  // namespace injector::base
