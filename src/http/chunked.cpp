#include "http/chunked.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "http/head.h"

namespace injector::http {
namespace {

// Beyond this, framing may not be longer than content: nobody sends chunks of a byte or two.
constexpr std::size_t kMaxFraming = std::size_t{64} << 10U;
constexpr int kHexadecimal = 16;

bool has_control(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(), [](char byte) {
    const auto code = static_cast<unsigned char>(byte);
    return (code < 0x20 && byte != '\t') || code == 0x7f;
  });
}

}  // namespace

ChunkedDecoder::State ChunkedDecoder::take(std::string_view& text, std::string& body) {
  State state = State::Partial;
  do {
    progressed_ = false;
    state = step(text, body);
  } while (state == State::Partial && progressed_);
  return state;
}

ChunkedDecoder::State ChunkedDecoder::step(std::string_view& text, std::string& body) {
  if (part_ == Part::Content) {
    return take_content(text, body);
  }
  if (part_ == Part::ContentEnd) {
    return take_content_end(text);
  }
  const std::size_t feed = text.find('\n');
  if (framing_ + std::min(feed, text.size()) > kMaxFraming + content_) {
    return State::TooLarge;
  }
  if (feed == std::string_view::npos) {
    return State::Partial;
  }
  if (feed == 0 || text[feed - 1] != '\r') {
    return State::Malformed;
  }
  const std::string_view line = text.substr(0, feed - 1);
  text.remove_prefix(feed + 1);
  framing_ += feed + 1;
  progressed_ = true;
  return part_ == Part::Size ? take_size(line, body.size()) : take_trailer(line);
}

ChunkedDecoder::State ChunkedDecoder::take_size(std::string_view line, std::size_t body_size) {
  const char* end = line.data() + line.size();
  const auto [stopped, error] = std::from_chars(line.data(), end, left_, kHexadecimal);
  if (error == std::errc::result_out_of_range) {
    return State::TooLarge;
  }
  const std::string_view rest(stopped, static_cast<std::size_t>(end - stopped));
  const std::size_t extension = rest.find_first_not_of(" \t");
  const bool well_formed =
      rest.empty() || (extension != std::string_view::npos && rest[extension] == ';');
  if (error != std::errc() || !well_formed || has_control(rest)) {
    return State::Malformed;
  }
  if (left_ > max_body_ - std::min(max_body_, body_size)) {
    return State::TooLarge;
  }
  part_ = left_ == 0 ? Part::Trailer : Part::Content;
  return State::Partial;
}

ChunkedDecoder::State ChunkedDecoder::take_content(std::string_view& text, std::string& body) {
  const std::size_t size = std::min<std::uint64_t>(left_, text.size());
  body.append(text.data(), size);
  text.remove_prefix(size);
  left_ -= size;
  content_ += size;
  progressed_ = left_ == 0;
  part_ = left_ == 0 ? Part::ContentEnd : Part::Content;
  return State::Partial;
}

ChunkedDecoder::State ChunkedDecoder::take_content_end(std::string_view& text) {
  constexpr std::string_view kEnd = "\r\n";
  if (text.size() < kEnd.size()) {
    return kEnd.starts_with(text) ? State::Partial : State::Malformed;
  }
  if (!text.starts_with(kEnd)) {
    return State::Malformed;
  }
  text.remove_prefix(kEnd.size());
  progressed_ = true;
  part_ = Part::Size;
  return State::Partial;
}

ChunkedDecoder::State ChunkedDecoder::take_trailer(std::string_view line) {
  std::string_view name;
  std::string_view value;
  if (line.empty()) {
    part_ = Part::End;
    return State::Complete;
  }
  return parse_field(line, name, value) ? State::Partial : State::Malformed;
}

}  // namespace injector::http
