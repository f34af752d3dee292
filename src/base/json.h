// The document type of the whole project, and the few questions that nlohmann answers differently
// from Kubernetes. Key order is the author's and is kept; it never matters for equality.
//
// All functions are pure and may be called from any thread.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

// Instantiated once, in json_instances.cpp. Otherwise every file that includes this header spends
// seconds on it, the sorted twin included: nlohmann's literal operator pulls in its parser.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::basic_json<nlohmann::ordered_map>;
extern template struct nlohmann::ordered_map<std::string, nlohmann::ordered_json>;
extern template class std::vector<nlohmann::ordered_json>;
extern template nlohmann::json nlohmann::json::parse<const char*>(const char*, const char*,
                                                                  nlohmann::json::parser_callback_t,
                                                                  bool, bool);
extern template nlohmann::ordered_json nlohmann::ordered_json::parse<const char*>(
    const char*, const char*, nlohmann::ordered_json::parser_callback_t, bool, bool);
extern template nlohmann::ordered_json nlohmann::ordered_json::parse<const std::string&>(
    const std::string&, nlohmann::ordered_json::parser_callback_t, bool, bool);

namespace injector::base {

using Json = nlohmann::ordered_json;

/// Deeper documents are refused where they enter, so that everything behind may recurse.
inline constexpr std::size_t kMaxJsonDepth = 512;

/// The member `key` of an object; nullptr where there is none or `value` is no object.
[[nodiscard]] const Json* find(const Json& value, std::string_view key);
[[nodiscard]] Json* find(Json& value, std::string_view key);

/// find() along several keys: find(pod, "spec", "containers").
template <class... Keys>
[[nodiscard]] const Json* find(const Json& value, std::string_view key, Keys... more) {
  const Json* member = find(value, key);
  return member == nullptr ? nullptr : find(*member, more...);
}

/// Looks members up in constant time, where find() walks the object. For loops over one object's
/// keys with a look into another: both may hold a hundred thousand.
class MemberIndex {
 public:
  explicit MemberIndex(const Json& object);

  [[nodiscard]] const Json* find(std::string_view key) const;

 private:
  const Json& object_;  // Not owned; outlives the index and does not change.
  std::unordered_map<std::string_view, const Json*> members_;  // Empty for small objects.
};

/// The text of a string; empty where `value` is null or something else.
[[nodiscard]] std::string_view text_of(const Json* value) noexcept;

/// Compact JSON text. Never fails: a byte that is not UTF-8 is written as U+FFFD.
[[nodiscard]] std::string to_text(const Json& value);

/// Equal as Kubernetes sees it: key order is ignored, and 1 is not 1.0. Linear in the size.
[[nodiscard]] bool same(const Json& left, const Json& right);

/// Appends a member without nlohmann's search for a duplicate, which makes building a large object
/// quadratic. The caller knows that `key` is not there yet.
void append_member(Json& object, std::string key, Json value);

/// True if the nesting exceeds `limit`. Does not recurse.
[[nodiscard]] bool deeper_than(const Json& value, std::size_t limit);

}  // namespace injector::base
