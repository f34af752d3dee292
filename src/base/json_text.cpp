#include "base/json_text.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace injector::base {
namespace {

// nlohmann's own tree builder searches an object for each key it adds, which is quadratic; this one
// keeps an index once an object is large. It also refuses what is too deep to recurse into.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return add(Json()); }

  bool boolean(bool value) override { return add(Json(value)); }

  bool number_integer(number_integer_t value) override { return add(Json(value)); }

  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }

  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return add(Json(value));
  }

  bool string(string_t& value) override { return add(Json(std::move(value))); }

  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*size*/) override { return open(Json::object()); }

  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }

  bool end_object() override { return close(); }

  bool start_array(std::size_t /*size*/) override { return open(Json::array()); }

  bool end_array() override { return close(); }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    position_ = position;
    problem_ = reason(error.what());
    return false;
  }

  [[nodiscard]] bool too_deep() const noexcept { return too_deep_; }

  [[nodiscard]] std::size_t position() const noexcept { return position_; }

  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

  [[nodiscard]] Json take() { return std::move(root_); }

 private:
  static constexpr std::size_t kSmallObject = 16;

  struct Open {
    Json value;
    std::string key;  // Of the member that comes next; meaningless in a list.
    std::unordered_map<std::string, std::ptrdiff_t> index;  // Filled once the object is large.
  };

  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
  static std::string reason(const std::string& what) {
    const std::size_t place = what.find("column ");
    const std::size_t colon = what.find(": ", place == std::string::npos ? 0 : place);
    return colon == std::string::npos ? what : what.substr(colon + 2);
  }

  bool open(Json value) {
    if (open_.size() >= kMaxJsonDepth) {
      too_deep_ = true;
      return false;
    }
    open_.push_back({std::move(value), {}, {}});
    return true;
  }

  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }

  bool add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.push_back(std::move(value));
    } else {
      add_member(open_.back(), std::move(value));
    }
    return true;
  }

  static void add_member(Open& object, Json value) {
    auto& members = object.value.get_ref<Json::object_t&>();
    if (Json* earlier = find_member(object, members)) {
      *earlier = std::move(value);
      return;
    }
    if (!object.index.empty()) {
      object.index.emplace(object.key, static_cast<std::ptrdiff_t>(members.size()));
    }
    append_member(object.value, std::move(object.key), std::move(value));
  }

  static Json* find_member(Open& object, Json::object_t& members) {
    if (members.size() < kSmallObject) {
      return find(object.value, object.key);
    }
    if (object.index.empty()) {
      std::ptrdiff_t place = 0;
      for (const auto& member : members) {
        object.index.emplace(member.first, place++);
      }
    }
    const auto found = object.index.find(object.key);
    return found == object.index.end() ? nullptr : &(members.begin() + found->second)->second;
  }

  Json root_;
  std::vector<Open> open_;
  std::size_t position_ = 0;
  std::string problem_;
  bool too_deep_ = false;
};

std::string place(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position == 0 ? 0 : position - 1);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("line {}, column {}", line, column);
}

}  // namespace

Result<Json> read_json(std::string_view text) {
  TreeBuilder builder;
  if (Json::sax_parse(text, &builder)) {
    return builder.take();
  }
  if (builder.too_deep()) {
    return invalid(fmt::format("JSON is nested deeper than {} levels", kMaxJsonDepth));
  }
  return invalid(fmt::format("{}: {}", place(text, builder.position()), builder.problem()));
}

std::string write_json(const Json& value) {
  return to_text(value);
}

std::string write_json_pretty(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace injector::base
