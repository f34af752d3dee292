#include "yaml/edit.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json_pointer.h"
#include "base/json_text.h"
#include "yaml/flow.h"
#include "yaml/text_edit.h"

namespace injector::yaml {
namespace {

using base::Json;
using std::string_view;

constexpr string_view kWas = "# was ";

bool is_filled(const Json& value) {
  return value.is_structured() && !value.empty();
}

bool is_hollow(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty());
}

bool same_kind(const Json& left, const Json& right) {
  return (left.is_object() && right.is_object()) || (left.is_array() && right.is_array());
}

enum class Format { YamlText, JsonText };

class Editor {
 public:
  Editor(string_view text, const YamlSource& source, Format format)
      : text_(text),
        source_(source),
        lines_(text) {
    style_.json = format == Format::JsonText;
    if (style_.json) {
      learn_style();
    }
  }

  bool change_root(const Json& after) {
    return change("", source_.value, after, style_.json ? Context::Flow : Context::Block);
  }

  [[nodiscard]] std::string result() const { return apply_edits(text_, edits_); }

 private:
  enum class Context { Block, Flow };

  // As the first member of the root is written: colon, indentation, one line or several.
  void learn_style() {
    for (const auto& item : source_.value.items()) {
      const YamlNode* node = source_.node(base::pointer_to("", item.key()));
      if (node == nullptr || !source_.value.is_object()) {
        return;
      }
      style_.colon = text_.substr(node->key_end, node->content_offset - node->key_end);
      const std::size_t begin = lines_[lines_.at(node->key_offset)].begin;
      const std::string indent(text_.substr(begin, node->key_offset - begin));
      style_.expand = indent.find_first_not_of(" \t") == std::string::npos && begin > 0;
      if (style_.expand && !indent.empty()) {
        style_.unit = indent;
      }
      return;
    }
  }

  // Collects what turns `before` at `pointer` into `after`; false where the text does not allow it.
  bool change(const std::string& pointer, const Json& before, const Json& after, Context context) {
    if (base::same(before, after)) {
      return true;
    }
    const YamlNode* node = source_.node(pointer);
    if (node == nullptr) {
      return false;
    }
    if (is_hollow(before) && is_filled(after)) {
      return fill(pointer, *node, before, after, context);
    }
    if (is_filled(before) && is_hollow(after)) {
      return hollow_out(pointer, *node, before, after);
    }
    if (!before.is_structured() && !is_filled(after)) {
      return replace(*node, after, context);
    }
    if (!same_kind(before, after)) {
      return false;
    }
    if (node->flow) {
      return change_flow(pointer, *node, before, after);
    }
    return before.is_object() ? change_object(pointer, *node, before, after)
                              : change_list(pointer, *node, before, after);
  }

  // A scalar, or nothing, becomes a scalar or empty brackets.
  bool replace(const YamlNode& node, const Json& after, Context context) {
    std::string text = context == Context::Flow ? write_flow(after, style_, std::nullopt)
                                                : write_yaml_inline(after);
    if (node.content_offset == node.end_offset) {
      text.insert(0, " ");
    } else if (text_[node.end_offset - 1] == '\n') {
      text += '\n';  // It was a block scalar.
    }
    edits_.push_back({node.content_offset, node.end_offset, std::move(text)});
    return true;
  }

  bool change_object(const std::string& pointer, const YamlNode& node, const Json& before,
                     const Json& after) {
    for (const auto& [key, value] : before.items()) {
      const Json* now = base::find(after, key);
      const std::string child = base::pointer_to(pointer, key);
      if (now == nullptr ? !remove_member(child) : !change(child, value, *now, Context::Block)) {
        return false;
      }
    }
    Json added = Json::object();
    for (const auto& [key, value] : after.items()) {
      if (base::find(before, key) == nullptr) {
        base::append_member(added, key, value);
      }
    }
    return added.empty() || insert(node, added);
  }

  // Which elements go, and how many of `after` have their place in the text. One that has no equal
  // is changed where it stands, if there is none to spare.
  struct ListPlan {
    std::vector<bool> removed;
    std::size_t placed = 0;
  };

  std::optional<ListPlan> plan_list(const std::string& pointer, const Json& before,
                                    const Json& after, Context context) {
    ListPlan plan;
    std::size_t& kept = plan.placed;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool needed = kept < after.size() && before.size() - i <= after.size() - kept;
      const bool equal = kept < after.size() && base::same(before.at(i), after.at(kept));
      plan.removed.push_back(!equal && !needed);
      if (needed && !equal &&
          !change(fmt::format("{}/{}", pointer, i), before.at(i), after.at(kept), context)) {
        return std::nullopt;
      }
      kept += equal || needed ? 1 : 0;
    }
    return plan;
  }

  bool change_list(const std::string& pointer, const YamlNode& node, const Json& before,
                   const Json& after) {
    const auto plan = plan_list(pointer, before, after, Context::Block);
    if (!plan) {
      return false;
    }
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (plan->removed[i] && !remove_element(fmt::format("{}/{}", pointer, i))) {
        return false;
      }
    }
    Json added = Json::array();
    for (std::size_t i = plan->placed; i < after.size(); ++i) {
      added.push_back(after.at(i));
    }
    return added.empty() || insert(node, added);
  }

  // Whole lines behind the collection's last one.
  bool insert(const YamlNode& node, const Json& added) {
    const std::size_t line = lines_.at(node.content_offset);
    const std::size_t column = node.content_offset - lines_[line].begin;
    const std::size_t at = lines_[last_line(node)].end;
    edits_.push_back({at, at, write_yaml(added, column), true});
    return true;
  }

  bool remove_member(const std::string& pointer) {
    const YamlNode* node = source_.node(pointer);
    if (node == nullptr) {
      return false;
    }
    const std::size_t first = lines_.at(node->key_offset);
    if (lines_[first].begin + lines_[first].indent != node->key_offset) {
      return false;  // It shares its line with a dash or with another key.
    }
    remove_lines(first, last_line(*node));
    return true;
  }

  bool remove_element(const std::string& pointer) {
    const YamlNode* node = source_.node(pointer);
    if (node == nullptr || node->value_offset == 0) {
      return false;
    }
    const std::size_t dash = text_.find_last_not_of(" \t\r\n", node->value_offset - 1);
    if (dash == string_view::npos || text_[dash] != '-') {
      return false;
    }
    const std::size_t first = lines_.at(dash);
    if (lines_[first].begin + lines_[first].indent != dash) {
      return false;
    }
    remove_lines(first, last_line(*node));
    return true;
  }

  void remove_lines(std::size_t first, std::size_t last) {
    edits_.push_back({lines_[first].begin, lines_[last].end, ""});
  }

  // Brackets: their items, with what is to go.
  bool change_flow(const std::string& pointer, const YamlNode& node, const Json& before,
                   const Json& after) {
    const char open = text_[node.content_offset];
    if (open != '{' && open != '[') {
      return false;  // `[a: b]`: a mapping without brackets of its own.
    }
    std::vector<FlowCollection::Item> items;
    std::vector<FlowAddition> added;
    if (!(before.is_object() ? plan_members(pointer, before, after, items, added)
                             : plan_elements(pointer, before, after, items, added))) {
      return false;
    }
    std::sort(items.begin(), items.end(),
              [](const auto& left, const auto& right) { return left.begin < right.begin; });
    const FlowCollection collection(text_, node.content_offset, node.end_offset - 1, items, style_);
    const bool removes =
        std::any_of(items.begin(), items.end(), [](const auto& item) { return item.removed; });
    if (removes && !added.empty()) {
      return false;
    }
    for (TextEdit& edit : removes         ? collection.removals()
                          : added.empty() ? std::vector<TextEdit>()
                                          : collection.insertions(added)) {
      edits_.push_back(std::move(edit));
    }
    return true;
  }

  bool plan_members(const std::string& pointer, const Json& before, const Json& after,
                    std::vector<FlowCollection::Item>& items, std::vector<FlowAddition>& added) {
    for (const auto& [key, value] : before.items()) {
      const std::string child = base::pointer_to(pointer, key);
      const YamlNode* node = source_.node(child);
      const Json* now = base::find(after, key);
      if (node == nullptr || (now != nullptr && !change(child, value, *now, Context::Flow))) {
        return false;
      }
      items.push_back(
          {node->key_offset, std::max(node->key_end, node->end_offset), now == nullptr});
    }
    for (const auto& [key, value] : after.items()) {
      if (base::find(before, key) == nullptr) {
        added.push_back({key, &value});
      }
    }
    return true;
  }

  bool plan_elements(const std::string& pointer, const Json& before, const Json& after,
                     std::vector<FlowCollection::Item>& items, std::vector<FlowAddition>& added) {
    const auto plan = plan_list(pointer, before, after, Context::Flow);
    for (std::size_t i = 0; plan && i < before.size(); ++i) {
      const YamlNode* node = source_.node(fmt::format("{}/{}", pointer, i));
      if (node == nullptr) {
        return false;
      }
      items.push_back({node->value_offset, node->end_offset, plan->removed[i]});
    }
    for (std::size_t i = plan ? plan->placed : after.size(); i < after.size(); ++i) {
      added.push_back({std::nullopt, &after.at(i)});
    }
    return plan.has_value();
  }

  // Nothing, null or empty brackets get content.
  bool fill(const std::string& pointer, const YamlNode& node, const Json& before, const Json& after,
            Context context) {
    if (context == Context::Block && fills_a_block(node)) {
      return fill_block(node, before, after);
    }
    if (before.is_structured()) {
      return same_kind(before, after) && change_flow(pointer, node, before, after);
    }
    if (context == Context::Block) {
      return false;
    }
    const auto indent =
        style_.expand ? std::optional(lines_.indentation_of(node.content_offset)) : std::nullopt;
    const bool absent = node.content_offset == node.end_offset;
    edits_.push_back({node.content_offset, node.end_offset,
                      (absent ? " " : "") + write_flow(after, style_, indent)});
    return true;
  }

  // The value of a block member, alone on the key's line but for a comment.
  [[nodiscard]] bool fills_a_block(const YamlNode& node) const {
    if (node.key_end == 0 || node.value_offset != node.content_offset) {
      return false;
    }
    const std::size_t line = lines_.at(node.key_offset);
    const std::size_t end = lines_[line].end;
    if (node.end_offset > end || text_[node.key_offset] == '?') {
      return false;
    }
    const std::size_t rest = text_.find_first_not_of(" \t\r\n", node.end_offset);
    return rest == string_view::npos || rest >= end || text_[rest] == '#';
  }

  bool fill_block(const YamlNode& node, const Json& before, const Json& after) {
    const std::size_t line = lines_.at(node.key_offset);
    const std::size_t column = node.key_offset - lines_[line].begin;
    const string_view token =
        text_.substr(node.content_offset, node.end_offset - node.content_offset);
    const bool usual = text_.substr(node.content_offset - 2, 2) == ": " &&
                       (token == "[]" || token == "{}") && same_kind(before, after);
    if (usual) {
      edits_.push_back({node.content_offset - 1, node.end_offset, ""});
    } else if (!token.empty()) {
      edits_.push_back({node.content_offset, node.content_offset, std::string(kWas)});
    }
    const std::size_t at = lines_[line].end;
    edits_.push_back({at, at, write_yaml(after, after.is_object() ? column + 2 : column), true});
    return true;
  }

  // A filled collection becomes null or empty.
  bool hollow_out(const std::string& pointer, const YamlNode& node, const Json& before,
                  const Json& after) {
    if (node.flow && after.is_null()) {
      edits_.push_back({node.content_offset, node.end_offset, "null"});
      return true;
    }
    if (!after.is_null() && !same_kind(before, after)) {
      return false;
    }
    if (node.flow) {
      return change_flow(pointer, node, before, after);
    }
    if (node.key_end == 0 || node.value_offset != node.content_offset) {
      return false;
    }
    return remove_children(pointer, before) && restore_hollow(node, after);
  }

  bool remove_children(const std::string& pointer, const Json& before) {
    std::size_t index = 0;
    for (const auto& item : before.items()) {
      const bool removed = before.is_object()
                               ? remove_member(base::pointer_to(pointer, item.key()))
                               : remove_element(fmt::format("{}/{}", pointer, index++));
      if (!removed) {
        return false;
      }
    }
    return true;
  }

  // What fill_block() took away, behind the key's colon.
  bool restore_hollow(const YamlNode& node, const Json& after) {
    const std::size_t colon = text_.find(':', node.key_end);
    const std::size_t end = lines_[lines_.at(node.key_offset)].end;
    if (colon >= end) {
      return false;
    }
    const std::size_t comment = text_.find_first_not_of(" \t", colon + 1);
    if (comment < end && text_.substr(comment).starts_with(kWas) &&
        was(text_.substr(comment + kWas.size(), end - comment - kWas.size()), after)) {
      edits_.push_back({comment, comment + kWas.size(), ""});
    } else if (!after.is_null()) {
      edits_.push_back({colon + 1, colon + 1, after.is_object() ? " {}" : " []"});
    }
    return true;
  }

  static bool was(string_view text, const Json& value) {
    const auto read = read_yaml(text);
    return read && base::same(read.value().value, value) &&
           text.find_first_not_of(" \t\r\n#") != string_view::npos && text.front() != '#';
  }

  // A value ends behind the newline of its last line if it is a block scalar.
  [[nodiscard]] std::size_t last_line(const YamlNode& node) const {
    return lines_.at(std::max({node.end_offset, node.key_end, std::size_t{1}}) - 1);
  }

  string_view text_;
  const YamlSource& source_;  // Not owned.
  TextLines lines_;
  FlowStyle style_;
  std::vector<TextEdit> edits_;  // At one offset: children before their parent's new members.
};

std::optional<std::string> edit(string_view text, const YamlSource& source, const Json& after,
                                Format format) {
  if (text.empty() || has_lone_carriage_return(text)) {
    return std::nullopt;
  }
  Editor editor(text, source, format);
  return editor.change_root(after) ? std::optional(editor.result()) : std::nullopt;
}

}  // namespace

std::optional<std::string> edit_yaml(string_view text, const YamlSource& source,
                                     const Json& after) {
  auto edited = edit(text, source, after, Format::YamlText);
  if (!edited) {
    return std::nullopt;
  }
  const auto again = read_yaml(*edited, 1, LastLine::Ended);
  return again && base::same(again.value().value, after) ? edited : std::nullopt;
}

std::optional<std::string> edit_json(string_view text, const YamlSource& source,
                                     const Json& after) {
  auto edited = edit(text, source, after, Format::JsonText);
  if (!edited) {
    return std::nullopt;
  }
  const auto again = base::read_json(*edited);
  return again && base::same(again.value(), after) ? edited : std::nullopt;
}

}  // namespace injector::yaml
