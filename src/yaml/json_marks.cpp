#include "yaml/json_marks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/json_pointer.h"
#include "base/json_text.h"

namespace injector::yaml {
namespace {

using std::string_view;

// Walks text that read_json has accepted, so it is well-formed and not too deep.
class Walk {
 public:
  Walk(string_view text, std::size_t begin, YamlSource& source)
      : text_(text),
        source_(source),
        at_(begin) {}

  void value(YamlNode node) {
    skip_space();
    node.value_offset = at_;
    node.content_offset = at_;
    const char first = text_[at_];
    node.flow = first == '{' || first == '[';
    if (node.flow) {
      items(first == '{');
    } else if (first == '"') {
      skip_string();
    } else {
      at_ = std::min(text_.find_first_of(",]} \t\r\n", at_), text_.size());
    }
    node.end_offset = at_;
    source_.nodes.insert_or_assign(pointer_, node);
  }

 private:
  void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size() - 1); }

  void skip_string() {
    for (++at_; text_[at_] != '"'; ++at_) {
      at_ += text_[at_] == '\\' ? 1U : 0U;
    }
    ++at_;
  }

  void items(bool object) {
    ++at_;
    skip_space();
    for (std::size_t count = 0; text_[at_] != '}' && text_[at_] != ']'; ++count) {
      const std::size_t before = pointer_.size();
      YamlNode node;
      base::append_token(pointer_, object ? key(node) : std::to_string(count));
      value(node);
      pointer_.resize(before);
      skip_space();
      if (text_[at_] == ',') {
        ++at_;
        skip_space();
      }
    }
    ++at_;
  }

  std::string key(YamlNode& node) {
    node.key_offset = at_;
    skip_string();
    node.key_end = at_;
    auto name = base::read_json(text_.substr(node.key_offset, at_ - node.key_offset));
    at_ = text_.find(':', at_) + 1;
    return name ? std::string(base::text_of(&name.value())) : std::string();
  }

  string_view text_;
  YamlSource& source_;  // Not owned.
  std::size_t at_;
  std::string pointer_;
};

}  // namespace

base::Result<YamlSource> read_json_with_marks(string_view text) {
  auto value = base::read_json(text);
  if (!value) {
    return std::move(value).error();
  }
  YamlSource source;
  source.value = std::move(value).value();
  constexpr string_view kByteOrderMark = "\xEF\xBB\xBF";
  Walk(text, text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0, source).value({});
  return source;
}

}  // namespace injector::yaml
