#include "codec/yaml_edit.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace injector::codec {
namespace {

using base::Json;

struct Line {
  std::size_t begin = 0;   // Offset of its first byte.
  std::size_t end = 0;     // Behind its newline.
  std::size_t indent = 0;  // Spaces before the first other byte.
  bool blank = false;
  bool comment = false;
  bool dash = false;    // Starts with "- ", or is a lone "-".
  bool marker = false;  // "---" or "...": the document begins or ends.
};

bool ends_word(std::string_view text, std::size_t at) {
  return at >= text.size() || text[at] == ' ' || text[at] == '\t' || text[at] == '\n' ||
         text[at] == '\r';
}

Line read_line(std::string_view text, std::size_t begin) {
  const std::size_t newline = text.find('\n', begin);
  Line line;
  line.begin = begin;
  line.end = newline == std::string_view::npos ? text.size() : newline + 1;
  const std::string_view body = text.substr(begin, line.end - begin);
  line.indent = std::min(body.find_first_not_of(' '), body.size());
  const std::string_view rest = body.substr(line.indent);
  line.blank = rest.find_first_not_of("\t\r\n") == std::string_view::npos;
  line.comment = rest.starts_with('#');
  line.dash = rest.starts_with('-') && ends_word(rest, 1);
  line.marker = line.indent == 0 && (rest.starts_with("---") || rest.starts_with("...")) &&
                ends_word(rest, 3);
  return line;
}

std::vector<Line> read_lines(std::string_view text) {
  std::vector<Line> lines;
  for (std::size_t begin = 0; begin < text.size(); begin = lines.back().end) {
    lines.push_back(read_line(text, begin));
  }
  return lines;
}

// The old Mac's line break, which would end lines that we do not see end.
bool has_lone_carriage_return(std::string_view text) {
  for (std::size_t at = text.find('\r'); at != std::string_view::npos;
       at = text.find('\r', at + 1)) {
    if (at + 1 >= text.size() || text[at + 1] != '\n') {
      return true;
    }
  }
  return false;
}

std::string pointer_to(const std::string& parent, std::string_view key) {
  std::string pointer = parent + "/";
  for (const char c : key) {
    pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  }
  return pointer;
}

class Editor {
 public:
  Editor(std::string_view text, const YamlSource& source)
      : text_(text),
        source_(source),
        lines_(read_lines(text)),
        crlf_(text.find("\r\n") != std::string_view::npos) {}

  // Collects what turns `before` at `pointer` into `after`; false where the style does not allow
  // it.
  bool change(const std::string& pointer, const Json& before, const Json& after) {
    if (base::same(before, after)) {
      return true;
    }
    const YamlNode* node = source_.node(pointer);
    if (node == nullptr || node->flow || before.empty()) {
      return false;
    }
    if (before.is_object() && after.is_object()) {
      return change_object(pointer, *node, before, after);
    }
    return before.is_array() && after.is_array() && change_list(pointer, *node, before, after);
  }

  [[nodiscard]] std::string result() const {
    std::vector<const Edit*> order;
    for (const Edit& edit : edits_) {
      order.push_back(&edit);
    }
    std::stable_sort(order.begin(), order.end(), [](const Edit* left, const Edit* right) {
      return left->begin < right->begin;
    });
    std::string edited;
    std::size_t at = 0;
    for (const Edit* edit : order) {
      edited += text_.substr(at, edit->begin - at);
      append_lines(edited, edit->insert);
      at = std::max(at, edit->end);
    }
    edited += text_.substr(at);
    return like_the_end_of_text(std::move(edited));
  }

 private:
  struct Edit {
    std::size_t begin;
    std::size_t end;     // == begin for an insertion.
    std::string insert;  // Whole lines, with '\n'.
  };

  bool change_object(const std::string& pointer, const YamlNode& node, const Json& before,
                     const Json& after) {
    if (after.empty()) {
      return false;  // There is no block style for {}.
    }
    for (const auto& [key, value] : before.items()) {
      const Json* now = base::find(after, key);
      const std::string child = pointer_to(pointer, key);
      if (now == nullptr ? !remove_member(child, value) : !change(child, value, *now)) {
        return false;
      }
    }
    Json added = Json::object();
    for (const auto& [key, value] : after.items()) {
      if (base::find(before, key) == nullptr) {
        base::append_member(added, key, value);
      }
    }
    return added.empty() || insert(node, added, mapping_end(node));
  }

  bool change_list(const std::string& pointer, const YamlNode& node, const Json& before,
                   const Json& after) {
    if (after.empty()) {
      return false;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const std::string child = fmt::format("{}/{}", pointer, i);
      const bool last_chance = kept < after.size() && before.size() - i <= after.size() - kept;
      if (kept < after.size() && base::same(before.at(i), after.at(kept))) {
        ++kept;
      } else if (last_chance ? !change(child, before.at(i), after.at(kept++))
                             : !remove_element(child)) {
        return false;
      }
    }
    Json added = Json::array();
    for (std::size_t i = kept; i < after.size(); ++i) {
      added.push_back(after.at(i));
    }
    return added.empty() || insert(node, added, list_end(node));
  }

  bool insert(const YamlNode& node, const Json& added, std::optional<std::size_t> offset) {
    if (!offset) {
      return false;
    }
    edits_.push_back({*offset, *offset, write_yaml(added, node.value.column - 1)});
    return true;
  }

  bool remove_member(const std::string& pointer, const Json& value) {
    const YamlNode* node = source_.node(pointer);
    if (node == nullptr) {
      return false;
    }
    const std::size_t first = line_at(node->key_offset);
    const std::size_t indent = node->key.column - 1;
    if (lines_[first].indent != indent || lines_[first].dash) {
      return false;  // It shares its line with a dash or with another key.
    }
    remove_lines(first, last_line(first, [&](const Line& line) {
                   return line.indent > indent ||
                          (line.indent == indent && line.dash && value.is_array());
                 }));
    return true;
  }

  bool remove_element(const std::string& pointer) {
    const YamlNode* node = source_.node(pointer);
    if (node == nullptr) {
      return false;
    }
    const std::size_t first = line_at(node->value_offset);
    const std::size_t indent = lines_[first].indent;
    if (!lines_[first].dash || node->value.column != indent + 3) {
      return false;
    }
    remove_lines(first, last_line(first, [&](const Line& line) { return line.indent > indent; }));
    return true;
  }

  void remove_lines(std::size_t first, std::size_t last) {
    edits_.push_back({lines_[first].begin, lines_[last].end, ""});
  }

  [[nodiscard]] std::optional<std::size_t> mapping_end(const YamlNode& node) const {
    const std::size_t indent = node.value.column - 1;
    return end_of(node, [&](const Line& line) { return line.indent >= indent; });
  }

  [[nodiscard]] std::optional<std::size_t> list_end(const YamlNode& node) const {
    const std::size_t indent = node.value.column - 1;
    if (!lines_[line_at(node.value_offset)].dash) {
      return std::nullopt;
    }
    return end_of(node, [&](const Line& line) {
      return line.indent > indent || (line.indent == indent && line.dash);
    });
  }

  template <class Belongs>
  [[nodiscard]] std::optional<std::size_t> end_of(const YamlNode& node, Belongs belongs) const {
    const std::size_t first = line_at(node.value_offset);
    if (lines_[first].marker) {
      return std::nullopt;  // "--- a: 1": the next line cannot stand in its column.
    }
    return lines_[last_line(first, belongs)].end;
  }

  // The last line of what begins on line `first`. Blank lines behind it are not its own, nor are
  // comments, unless they stand deeper than it: those may be text of a block scalar.
  template <class Belongs>
  [[nodiscard]] std::size_t last_line(std::size_t first, Belongs belongs) const {
    std::size_t last = first;
    for (std::size_t i = first + 1; i < lines_.size(); ++i) {
      const Line& line = lines_[i];
      if (line.blank) {
        continue;
      }
      if (line.comment && line.indent <= lines_[first].indent) {
        continue;
      }
      if (line.marker || !belongs(line)) {
        break;
      }
      last = i;
    }
    return last;
  }

  [[nodiscard]] std::size_t line_at(std::size_t offset) const {
    const auto next =
        std::upper_bound(lines_.begin(), lines_.end(), offset,
                         [](std::size_t at, const Line& line) { return at < line.begin; });
    return static_cast<std::size_t>(next - lines_.begin()) - (next == lines_.begin() ? 0 : 1);
  }

  void append_lines(std::string& edited, std::string_view lines) const {
    if (!lines.empty() && !edited.empty() && edited.back() != '\n') {
      edited += newline();
    }
    for (const char c : lines) {
      if (c == '\n') {
        edited += newline();
      } else {
        edited += c;
      }
    }
  }

  // A text without a newline at its end stays one, whichever line is the last now.
  [[nodiscard]] std::string like_the_end_of_text(std::string edited) const {
    const bool had_newline = text_.ends_with('\n');
    if (!had_newline && edited.ends_with(newline())) {
      edited.erase(edited.size() - newline().size());
    }
    return edited;
  }

  [[nodiscard]] std::string_view newline() const { return crlf_ ? "\r\n" : "\n"; }

  std::string_view text_;
  const YamlSource& source_;  // Not owned.
  std::vector<Line> lines_;
  bool crlf_;
  std::vector<Edit> edits_;  // At one offset: children before their parent's new members.
};

}  // namespace

std::optional<std::string> edit_yaml(std::string_view text, const YamlSource& source,
                                     const Json& after) {
  if (text.empty() || has_lone_carriage_return(text)) {
    return std::nullopt;
  }
  Editor editor(text, source);
  if (!editor.change("", source.value, after)) {
    return std::nullopt;
  }
  std::string edited = editor.result();
  const auto again = read_yaml(edited);
  if (!again || !base::same(again.value().value, after)) {
    return std::nullopt;
  }
  return edited;
}

}  // namespace injector::codec
