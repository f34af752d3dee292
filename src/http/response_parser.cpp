#include "http/response_parser.h"

#include <algorithm>

namespace injector::http {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int kMaxInterim = 8;  // 1xx responses before the real one.

Error nonsense(std::string_view what) {
  return {ErrorCode::Internal, "not a valid HTTP response: " + std::string(what)};
}

}  // namespace

Result<void> ResponseParser::take(std::string_view received) {
  const bool kept = !in_.empty();
  if (kept) {
    in_.append(received);
  }
  std::string_view text = kept ? std::string_view(in_) : received;
  INJ_TRY(advance(text));
  if (kept) {
    in_.erase(0, in_.size() - text.size());
  } else {
    in_.assign(text);
  }
  return {};
}

Result<void> ResponseParser::advance(std::string_view& text) {
  while (stage_ == Stage::Head) {
    INJ_ASSIGN(const bool found, take_head(text));
    if (!found) {
      return {};
    }
  }
  if (stage_ == Stage::Chunked) {
    const ChunkedDecoder::State state = chunks_.take(text, content_);
    stage_ = state == ChunkedDecoder::State::Complete ? Stage::Complete : stage_;
    const bool bad =
        state == ChunkedDecoder::State::Malformed || state == ChunkedDecoder::State::TooLarge;
    return bad ? Result<void>(nonsense("bad chunk")) : Result<void>();
  }
  if (stage_ == Stage::Complete) {
    return {};
  }
  const std::size_t size =
      stage_ == Stage::Length
          ? static_cast<std::size_t>(std::min<std::uint64_t>(left_, text.size()))
          : text.size();
  content_.append(text.substr(0, size));
  text.remove_prefix(size);
  left_ -= stage_ == Stage::Length ? size : 0;
  if (stage_ == Stage::Length && left_ == 0) {
    stage_ = Stage::Complete;
  }
  return {};
}

/// True: a whole head was taken off `text`, if only a 1xx response's.
Result<bool> ResponseParser::take_head(std::string_view& text) {
  const HeadScanner::State state = scanner_.scan(text);
  if (state == HeadScanner::State::Malformed) {
    return nonsense("a line ends without a carriage return");
  }
  const bool complete = state == HeadScanner::State::Complete;
  if ((complete ? scanner_.size() : text.size()) > kMaxResponseHead) {
    return nonsense("the head is too long");
  }
  if (!complete) {
    return false;
  }
  head_text_.assign(text.substr(0, scanner_.size()));
  text.remove_prefix(scanner_.size());
  scanner_ = HeadScanner();
  head_ = ResponseHead();
  if (const char* wrong = parse_head(head_text_, head_)) {
    return nonsense(wrong);
  }
  if (head_.code == 101 || (head_.code < 200 && ++interim_ > kMaxInterim)) {
    return nonsense(head_.code == 101 ? "switched protocols unasked" : "too many interim ones");
  }
  if (head_.code >= 200) {
    INJ_TRY(choose_stage());
  }
  return true;
}

Result<void> ResponseParser::choose_stage() {
  const bool tunnel = answers_ == Answers::Connect && head_.code < 300;
  if (tunnel || head_.code == 204 || head_.code == 304) {
    stage_ = Stage::Complete;
  } else if (!head_.transfer_encoding.empty()) {
    stage_ = Stage::Chunked;
    return equal_ignoring_case(head_.transfer_encoding, "chunked")
               ? Result<void>()
               : nonsense("unknown Transfer-Encoding");
  } else if (head_.content_length) {
    left_ = *head_.content_length;
    stage_ = left_ == 0 ? Stage::Complete : Stage::Length;
  } else {
    stage_ = Stage::UntilClose;
    head_.keeps_alive = false;
  }
  return {};
}

Result<void> ResponseParser::end() {
  if (stage_ == Stage::UntilClose) {
    stage_ = Stage::Complete;
  }
  return complete() ? Result<void>()
                    : Error{ErrorCode::Unavailable, "the connection closed in the middle"};
}

}  // namespace injector::http
