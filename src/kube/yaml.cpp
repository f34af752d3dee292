#include "kube/yaml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include <yaml-cpp/yaml.h>

namespace injector::kube {
namespace {

using base::Error;
using base::Json;
using base::Result;

constexpr std::size_t kMaxText = std::size_t{8} << 20U;
constexpr std::size_t kMaxDepth = 64;
// Of all scalars, those that aliases repeat counted each time; and as much for each node.
constexpr std::size_t kMaxResult = 4 * kMaxText;
constexpr std::size_t kNodeCost = 16;

Error problem(const YAML::Mark& mark, const std::string& what) {
  if (mark.is_null()) {
    return base::invalid(what);
  }
  return base::invalid("line " + std::to_string(mark.line + 1) + ", column " +
                       std::to_string(mark.column + 1) + ": " + what);
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::optional<bool> boolean(std::string_view text) {
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) {
    return true;
  }
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) {
    return false;
  }
  return std::nullopt;
}

template <class Number>
std::optional<Json> whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && end == text.data() + text.size();
  return all ? std::optional<Json>(Json(number)) : std::nullopt;
}

std::optional<Json> number(std::string_view text) {
  if (text.size() > 1 && text.front() == '+') {
    text.remove_prefix(1);
  }
  if (text.find_first_not_of("0123456789+-.eE") != std::string_view::npos) {
    return std::nullopt;  // from_chars would take "inf" and "nan".
  }
  if (auto value = whole<std::int64_t>(text)) {
    return value;
  }
  return whole<double>(text);
}

Json plain_scalar(const std::string& text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) {
    return Json();
  }
  if (const auto value = boolean(text)) {
    return Json(*value);
  }
  return number(text).value_or(Json(text));
}

class Converter {
 public:
  Result<Json> convert(const YAML::Node& node, std::size_t depth) {
    used_ += kNodeCost + (node.IsScalar() ? node.Scalar().size() : 0);
    if (depth > kMaxDepth) {
      return problem(node.Mark(), "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    if (used_ > kMaxResult) {
      return problem(node.Mark(), "aliases make it too large");
    }
    if (node.IsMap()) {
      return convert_map(node, depth);
    }
    if (node.IsSequence()) {
      return convert_list(node, depth);
    }
    // yaml-cpp gives plain scalars the tag "?", those in quotes "!".
    const bool plain = node.Tag() == "?" || node.Tag().empty();
    return node.IsScalar() ? (plain ? plain_scalar(node.Scalar()) : Json(node.Scalar())) : Json();
  }

 private:
  Result<Json> convert_list(const YAML::Node& node, std::size_t depth) {
    Json list = Json::array();
    for (const YAML::Node& element : node) {
      auto value = convert(element, depth + 1);
      if (!value) {
        return value;
      }
      list.push_back(std::move(value).value());
    }
    return list;
  }

  // A key that stands there twice has its last value, as it has for kubectl.
  Result<Json> convert_map(const YAML::Node& node, std::size_t depth) {
    Json object = Json::object();
    Json merged = Json::object();
    for (const auto& entry : node) {
      const YAML::Node& key = entry.first;
      if (!key.IsScalar()) {
        return problem(key.Mark(), "a key must be a string");
      }
      auto value = convert(entry.second, depth + 1);
      if (!value) {
        return value;
      }
      if (key.Scalar() == "<<" && key.Tag() == "?") {
        merge(value.value(), merged);
      } else {
        object[key.Scalar()] = std::move(value).value();
      }
    }
    merge(merged, object);
    return object;
  }

  // Adds what is not there yet; of a list of objects, the earlier ones win.
  static void merge(const Json& from, Json& into) {
    if (from.is_array()) {
      for (const Json& one : from) {
        merge(one, into);
      }
    }
    if (from.is_object()) {
      for (const auto& [key, value] : from.items()) {
        if (!into.contains(key)) {
          into[key] = value;
        }
      }
    }
  }

  std::size_t used_ = 0;
};

}  // namespace

Result<Json> read_yaml(std::string_view text) {
  if (text.size() > kMaxText) {
    return base::invalid("larger than 8 MiB");
  }
  try {
    return Converter().convert(YAML::Load(std::string(text)), 0);
  } catch (const YAML::Exception& error) {
    return problem(error.mark, error.msg);
  } catch (const std::exception& error) {
    return base::invalid(error.what());
  }
}

}  // namespace injector::kube
