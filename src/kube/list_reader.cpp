#include "kube/list_reader.h"

#include <algorithm>
#include <utility>

#include "base/json_text.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

constexpr int kItemDepth = 2;  // Of what surrounds an item: the list's object and its array.

Error not_json(const Error& why) {
  return {ErrorCode::Internal, "the response is not JSON: " + why.message};
}

bool is_blank(char byte) noexcept {
  return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

}  // namespace

ListReader::ListReader(std::size_t max_item, Visit visit)
    : max_item_(max_item),
      visit_(std::move(visit)) {}

Result<void> ListReader::take(std::string_view text) {
  std::size_t kept = 0;  // Bytes of `text` that are in frame_ or item_.
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (in_string_) {
      in_string_ = escaped_ || byte != '"';
      escaped_ = !escaped_ && byte == '\\';
      if (!in_string_ && depth_ == 1 && items_ != Items::Behind) {
        INJ_TRY(keep(text.substr(kept, i + 1 - kept)));
        kept = i + 1;
        constexpr std::string_view kName = "\"items\"";
        const std::size_t start = frame_.size() - std::min(frame_.size(), kName.size());
        const bool whole = start > 0 && frame_[start - 1] != '\\';
        items_ = whole && frame_.ends_with(kName) ? Items::Name : Items::NotSeen;
      }
      continue;
    }
    const bool begins = byte == '{' && items_ == Items::Inside && depth_ == kItemDepth;
    if (begins) {
      INJ_TRY(keep(text.substr(kept, i - kept)));
      kept = i;
      in_item_ = true;
    }
    see_outside_string(byte);
    if (in_item_ && depth_ == kItemDepth) {
      INJ_TRY(keep(text.substr(kept, i + 1 - kept)));
      kept = i + 1;
      INJ_TRY(end_item());
    }
  }
  return keep(text.substr(kept));
}

void ListReader::see_outside_string(char byte) noexcept {
  if (byte == '"') {
    in_string_ = true;
  } else if (byte == '{' || byte == '[') {
    open_bracket(byte);
  } else if (byte == '}' || byte == ']') {
    close_bracket();
  } else if (depth_ == 1 && items_ == Items::Name && byte == ':') {
    items_ = Items::Colon;
  } else if (!is_blank(byte) && (items_ == Items::Name || items_ == Items::Colon)) {
    items_ = Items::NotSeen;
  }
}

void ListReader::open_bracket(char bracket) noexcept {
  if (items_ == Items::Colon) {
    items_ = bracket == '[' ? Items::Inside : Items::NotSeen;
  }
  ++depth_;
}

void ListReader::close_bracket() noexcept {
  --depth_;
  if (items_ == Items::Inside && depth_ < kItemDepth) {
    items_ = Items::Behind;
  }
}

Result<void> ListReader::keep(std::string_view text) {
  std::string& into = in_item_ ? item_ : frame_;
  if (into.size() + text.size() > max_item_) {
    return Error{ErrorCode::Internal, "the response is too long"};
  }
  into.append(text);
  return {};
}

Result<void> ListReader::end_item() {
  Result<Json> item = base::read_json(item_);
  if (!item) {
    return not_json(item.error());
  }
  item_.clear();
  in_item_ = false;
  frame_ += '0';
  ++count_;
  visit_(std::move(item).value());
  return {};
}

Result<ListMetadata> ListReader::finish() const {
  const Result<Json> list = base::read_json(frame_ + item_);
  if (!list) {
    return not_json(list.error());
  }
  const Json* items = base::find(list.value(), "items");
  const Json* metadata = base::find(list.value(), "metadata");
  const bool none = items == nullptr || items->is_null();  // Go writes an empty list so.
  const bool whole = none || (items->is_array() && items->size() == count_);
  if (metadata == nullptr || !whole) {
    return Error{ErrorCode::Internal, "the response is not a list"};
  }
  return ListMetadata{std::string(base::text_of(base::find(*metadata, "resourceVersion"))),
                      std::string(base::text_of(base::find(*metadata, "continue")))};
}

}  // namespace injector::kube
