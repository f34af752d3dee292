#include "yaml/text_edit.h"

#include <algorithm>

namespace injector::yaml {
namespace {

using std::string_view;

string_view newline_of(string_view text) {
  return text.find("\r\n") != string_view::npos ? "\r\n" : "\n";
}

void append(std::string& edited, const TextEdit& edit, string_view newline) {
  if (edit.whole_lines && !edited.empty() && edited.back() != '\n') {
    edited += newline;
  }
  for (const char c : edit.insert) {
    if (c == '\n') {
      edited += newline;
    } else {
      edited += c;
    }
  }
}

// A text without a newline at its end stays one, whichever line is the last now.
std::string like_the_end_of(string_view text, std::string edited, string_view newline) {
  if (!text.ends_with('\n') && edited.ends_with(newline)) {
    edited.erase(edited.size() - newline.size());
  }
  return edited;
}

}  // namespace

std::string apply_edits(string_view text, const std::vector<TextEdit>& edits) {
  std::vector<const TextEdit*> order;
  for (const TextEdit& edit : edits) {
    order.push_back(&edit);
  }
  std::stable_sort(order.begin(), order.end(), [](const TextEdit* left, const TextEdit* right) {
    return left->begin < right->begin;
  });
  const string_view newline = newline_of(text);
  std::string edited;
  std::size_t at = 0;
  for (const TextEdit* edit : order) {
    if (edit->begin > at) {
      edited += text.substr(at, edit->begin - at);
    }
    append(edited, *edit, newline);
    at = std::max(at, edit->end);
  }
  edited += text.substr(at);
  return like_the_end_of(text, std::move(edited), newline);
}

TextLines::TextLines(string_view text)
    : text_(text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const std::size_t end = newline == string_view::npos ? text.size() : newline + 1;
    const std::size_t content = std::min(text.find_first_not_of(' ', begin), end);
    lines_.push_back({begin, end, content - begin});
    begin = end;
  }
}

std::size_t TextLines::at(std::size_t offset) const {
  const auto next =
      std::upper_bound(lines_.begin(), lines_.end(), offset,
                       [](std::size_t place, const Line& line) { return place < line.begin; });
  return static_cast<std::size_t>(next - lines_.begin()) - (next == lines_.begin() ? 0 : 1);
}

std::string TextLines::indentation_of(std::size_t offset) const {
  const std::size_t begin = lines_[at(offset)].begin;
  const std::size_t end = std::min(text_.find_first_not_of(" \t", begin), offset);
  return std::string(text_.substr(begin, end - begin));
}

bool has_lone_carriage_return(string_view text) {
  for (std::size_t at = text.find('\r'); at != string_view::npos; at = text.find('\r', at + 1)) {
    if (at + 1 >= text.size() || text[at + 1] != '\n') {
      return true;
    }
  }
  return false;
}

}  // namespace injector::yaml
