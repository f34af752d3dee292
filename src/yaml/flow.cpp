#include "yaml/flow.h"

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "yaml/yaml.h"

namespace injector::yaml {
namespace {

using base::Json;
using std::string_view;

constexpr string_view kBlanks = " \t";
constexpr string_view kSpace = " \t\r\n";

bool is_blank(string_view text) {
  return text.find_first_not_of(kSpace) == string_view::npos;
}

class FlowWriter {
 public:
  explicit FlowWriter(const FlowStyle& style)
      : style_(style) {}

  void value(const Json& value, const std::optional<std::string>& indent) {
    if (!value.is_structured()) {
      out_ += style_.json ? base::write_json(value) : write_flow_scalar(value);
    } else if (value.empty()) {
      out_ += value.is_object() ? "{}" : "[]";
    } else {
      collection(value, indent);
    }
  }

  void key(const std::string& key) {
    value(Json(key), std::nullopt);
    out_ += style_.colon;
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void collection(const Json& value, const std::optional<std::string>& indent) {
    const auto inner = indent ? std::optional(*indent + style_.unit) : std::nullopt;
    out_ += value.is_object() ? '{' : '[';
    bool first = true;
    for (const auto& item : value.items()) {
      separate(std::exchange(first, false), inner);
      if (value.is_object()) {
        key(item.key());
      }
      this->value(item.value(), inner);
    }
    if (indent) {
      out_ += '\n' + *indent;
    }
    out_ += value.is_object() ? '}' : ']';
  }

  void separate(bool first, const std::optional<std::string>& indent) {
    out_ += first ? "" : ",";
    if (indent) {
      out_ += '\n' + *indent;
    } else if (!first && style_.colon.ends_with(' ')) {
      out_ += ' ';
    }
  }

  const FlowStyle& style_;  // Not owned.
  std::string out_;
};

}  // namespace

std::string write_flow(const Json& value, const FlowStyle& style,
                       const std::optional<std::string>& indent) {
  FlowWriter writer(style);
  writer.value(value, indent);
  return writer.take();
}

string_view FlowCollection::between(std::size_t begin, std::size_t end) const {
  return text_.substr(begin, end - begin);
}

// Between items, so a `#` that is not text.
bool FlowCollection::has_comment(std::size_t begin, std::size_t end) const {
  return !style_.json && between(begin, end).find('#') != string_view::npos;
}

std::optional<std::size_t> FlowCollection::comma_behind(std::size_t offset) const {
  while (offset < close_) {
    if (text_[offset] == ',') {
      return offset;
    }
    if (text_[offset] == '#' && !style_.json) {
      offset = std::min(text_.find('\n', offset), close_);
    } else if (kSpace.find(text_[offset]) == string_view::npos) {
      return std::nullopt;
    } else {
      ++offset;
    }
  }
  return std::nullopt;
}

std::size_t FlowCollection::line_begin(std::size_t offset) const {
  const std::size_t newline = text_.substr(0, offset).rfind('\n');
  return newline == string_view::npos ? 0 : newline + 1;
}

// Where the line of `offset` ends, without its line break; but not behind the closing bracket.
std::size_t FlowCollection::line_content_end(std::size_t offset) const {
  std::size_t end = std::min(text_.find('\n', offset), text_.size());
  if (end > close_) {
    return offset;
  }
  if (end > offset && text_[end - 1] == '\r') {
    --end;
  }
  return end;
}

std::string FlowCollection::indent_at(std::size_t offset) const {
  const std::size_t begin = line_begin(offset);
  const std::size_t end = std::min(text_.find_first_not_of(kBlanks, begin), text_.size());
  return std::string(between(begin, std::min(end, offset)));
}

bool FlowCollection::own_line(const Item& item) const {
  const std::size_t begin = line_begin(item.begin);
  return begin > open_ && is_blank(between(begin, item.begin));
}

std::string FlowCollection::written(const FlowAddition& addition,
                                    const std::optional<std::string>& indent) const {
  FlowWriter writer(style_);
  if (addition.key) {
    writer.key(*addition.key);
  }
  writer.value(*addition.value, indent);
  return writer.take();
}

// What stands between two items of a row: the author's way, if there are two.
std::string FlowCollection::separator() const {
  if (items_.size() > 1) {
    const auto comma = comma_behind(items_[0].end);
    const string_view gap = comma ? between(*comma, items_[1].begin) : string_view();
    if (gap == "," || gap == ", ") {
      return std::string(gap);
    }
  }
  return style_.colon.ends_with(' ') ? ", " : ",";
}

std::vector<TextEdit> FlowCollection::insertions(const std::vector<FlowAddition>& added) const {
  if (items_.empty()) {
    return fill(added);
  }
  return own_line(items_.back()) ? insert_on_lines(added) : insert_in_row(added);
}

std::string FlowCollection::lines(const std::vector<FlowAddition>& added,
                                  const std::string& indent) const {
  std::string text;
  for (const FlowAddition& addition : added) {
    text += (text.empty() ? "\n" : ",\n") + indent + written(addition, indent);
  }
  return text;
}

std::string FlowCollection::row(const std::vector<FlowAddition>& added,
                                const std::optional<std::string>& indent) const {
  std::string text;
  for (const FlowAddition& addition : added) {
    text += (text.empty() ? "" : separator()) + written(addition, indent);
  }
  return text;
}

// The comma goes directly behind the last item, the new lines behind its comment.
FlowCollection::Edits FlowCollection::insert_on_lines(
    const std::vector<FlowAddition>& added) const {
  const Item& last = items_.back();
  const std::string text = lines(added, indent_at(last.begin));
  if (const auto comma = comma_behind(last.end)) {
    const std::size_t at = line_content_end(*comma + 1);
    return {{at, at, text + ","}};
  }
  const std::size_t at = line_content_end(last.end);
  return {{last.end, last.end, ","}, {at, at, text}};
}

FlowCollection::Edits FlowCollection::insert_in_row(const std::vector<FlowAddition>& added) const {
  const Item& last = items_.back();
  const bool tall = between(last.begin, last.end).find('\n') != string_view::npos;
  const auto indent = tall ? std::optional(indent_at(last.end - 1)) : std::nullopt;
  if (const auto comma = comma_behind(last.end)) {
    const std::string gap = separator().substr(1);
    return {{*comma + 1, *comma + 1, gap + row(added, indent) + ","}};
  }
  return {{last.end, last.end, separator() + row(added, indent)}};
}

// Into brackets with nothing but white space or comments between.
FlowCollection::Edits FlowCollection::fill(const std::vector<FlowAddition>& added) const {
  const std::size_t begin = open_ + 1;
  const string_view inside = between(begin, close_);
  const std::string indent = indent_at(close_);
  if (inside.empty() && style_.expand) {
    return {{begin, begin, lines(added, indent + style_.unit) + "\n" + indent}};
  }
  if (has_comment(begin, close_)) {
    const std::size_t at = line_content_end(text_.substr(0, close_).rfind('#'));
    return {{at, at, lines(added, indent + style_.unit)}};
  }
  if (inside.find('\n') != string_view::npos) {
    return {{begin, begin, row(added, std::nullopt)}};
  }
  return {{close_, close_, row(added, std::nullopt) + std::string(inside)}};
}

std::vector<TextEdit> FlowCollection::removals() const {
  const auto kept =
      std::find_if(items_.rbegin(), items_.rend(), [](const Item& item) { return !item.removed; });
  if (kept == items_.rend()) {
    return emptied();
  }
  Edits edits;
  for (const Item& item : items_) {
    if (item.removed) {
      edits.push_back(without(item));
    }
  }
  const bool last_goes = items_.back().removed && !comma_behind(items_.back().end);
  if (const auto comma = comma_behind(kept->end); comma && last_goes) {
    edits.push_back({*comma, *comma + 1, ""});
  }
  return edits;
}

// An item with its comma, and with its line or the blanks before it.
TextEdit FlowCollection::without(const Item& item) const {
  const auto comma = comma_behind(item.end);
  std::size_t end = comma ? *comma + 1 : item.end;
  if (own_line(item)) {
    std::size_t begin = line_begin(item.begin) - 1;
    begin -= begin > 0 && text_[begin - 1] == '\r' ? 1U : 0U;
    return {begin, end, ""};
  }
  if (item.begin == items_.front().begin) {
    end = std::min(text_.find_first_not_of(kBlanks, end), close_);
    return {item.begin, end, ""};
  }
  const std::size_t before = text_.substr(0, item.begin).find_last_not_of(kBlanks);
  return {before + 1, end, ""};
}

FlowCollection::Edits FlowCollection::emptied() const {
  const std::size_t first = items_.front().begin;
  const auto comma = comma_behind(items_.back().end);
  const std::size_t last = comma ? *comma + 1 : items_.back().end;
  std::size_t gap = open_ + 1;
  Edits edits;
  bool comments = has_comment(last, close_);
  for (const Item& item : items_) {
    comments = comments || has_comment(gap, item.begin);
    gap = item.end;
    edits.push_back(without(item));
  }
  if (comments) {
    return edits;
  }
  if (own_line(items_.front())) {
    return {{open_ + 1, close_, ""}};
  }
  const bool padded = between(open_ + 1, first) == between(last, close_);
  return {{first, padded ? close_ : last, ""}};
}

}  // namespace injector::yaml
