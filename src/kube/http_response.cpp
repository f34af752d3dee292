#include "kube/http_response.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr std::size_t kBlock = std::size_t{16} << 10U;
constexpr int kMaxInterim = 8;  // 1xx answers before the real one.

Error nonsense(std::string_view what) {
  return {ErrorCode::Internal, "not a valid HTTP answer: " + std::string(what)};
}

Error cut_short() {
  return {ErrorCode::Unavailable, "the connection closed in the middle"};
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return out;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<std::uint64_t> number(std::string_view text, int radix) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, radix);
  if (text.empty() || error != std::errc{} || stopped != end) {
    return std::nullopt;
  }
  return value;
}

/// Whether the comma-separated `list` has `word`, whatever its case.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (lower(trim(list.substr(0, comma))) == word) {
      return true;
    }
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

struct StatusLine {
  int code = 0;
  bool http_1_0 = false;
};

/// "HTTP/1.1 200 OK"; the words at the end may be missing.
std::optional<StatusLine> parse_status_line(std::string_view line) {
  constexpr std::string_view kProtocol = "HTTP/1.";
  constexpr std::size_t kCodeAt = kProtocol.size() + 2;
  if (line.size() < kCodeAt + 3 || !line.starts_with(kProtocol)) {
    return std::nullopt;
  }
  const char minor = line[kProtocol.size()];
  const auto code = number(line.substr(kCodeAt, 3), 10);
  const bool ends = line.size() == kCodeAt + 3 || line[kCodeAt + 3] == ' ';
  if ((minor != '0' && minor != '1') || line[kCodeAt - 1] != ' ' || !code || *code < 100 || !ends) {
    return std::nullopt;
  }
  return StatusLine{static_cast<int>(*code), minor == '0'};
}

bool valid_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

Result<void> add_header(ResponseHead& head, std::string_view line) {
  const std::size_t colon = std::min(line.find(':'), line.size());
  const std::string_view name = line.substr(0, colon);
  if (colon == line.size() || !valid_name(name)) {
    return nonsense("bad header line");
  }
  head.headers.emplace_back(lower(name), trim(line.substr(colon + 1)));
  return {};
}

/// The one length all Content-Length headers agree on.
Result<std::optional<std::uint64_t>> content_length(const ResponseHead& head) {
  std::optional<std::uint64_t> length;
  for (const auto& [name, value] : head.headers) {
    if (name != "content-length") {
      continue;
    }
    const auto given = number(value, 10);
    if (!given || (length && *length != *given)) {
      return nonsense("bad Content-Length");
    }
    length = given;
  }
  return length;
}

bool without_body(int code) {
  return code < 200 || code == 204 || code == 304;
}

bool keeps_alive(const StatusLine& status, const ResponseHead& head) {
  return !status.http_1_0 && !lists(head.header("connection").value_or(""), "close");
}

}  // namespace

std::optional<std::string_view> ResponseHead::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) {
      return value;
    }
  }
  return std::nullopt;
}

ResponseReader::ResponseReader(ByteSource& source)
    : source_(source) {}

bool ResponseReader::reusable() const noexcept {
  return framing_ == Framing::Done && keep_alive_ && used_ == buffer_.size();
}

Result<ResponseHead> ResponseReader::read_head(const Until& until) {
  for (int i = 0; i < kMaxInterim; ++i) {
    Result<ResponseHead> head = read_one_head(until);
    if (!head) {
      return head;
    }
    if (head.value().code == 101) {
      return nonsense("switched protocols unasked");
    }
    if (head.value().code >= 200) {
      keep_alive_ = head.value().keep_alive;
      INJ_TRY(choose_framing(head.value()));
      return head;
    }
  }
  return nonsense("too many interim answers");
}

Result<ResponseHead> ResponseReader::read_one_head(const Until& until) {
  std::size_t budget = kMaxHead;
  const Result<std::string> first = read_line(budget, until);
  if (!first) {
    return first.error();
  }
  const auto status = parse_status_line(first.value());
  if (!status) {
    return nonsense("bad status line");
  }
  ResponseHead head;
  head.code = status->code;
  for (;;) {
    const Result<std::string> line = read_line(budget, until);
    if (!line) {
      return line.error();
    }
    if (line.value().empty()) {
      head.keep_alive = keeps_alive(*status, head);
      return head;
    }
    INJ_TRY(add_header(head, line.value()));
  }
}

Result<void> ResponseReader::choose_framing(const ResponseHead& head) {
  const auto coding = head.header("transfer-encoding");
  INJ_ASSIGN(const auto length, content_length(head));
  if (without_body(head.code)) {
    framing_ = Framing::Done;
  } else if (coding) {
    if (lower(*coding) != "chunked") {
      return nonsense("unknown Transfer-Encoding");
    }
    framing_ = Framing::Chunked;
  } else if (length) {
    left_ = *length;
    framing_ = left_ == 0 ? Framing::Done : Framing::Length;
  } else {
    framing_ = Framing::UntilClose;
    keep_alive_ = false;
  }
  return {};
}

/// False: the peer ended the stream.
Result<bool> ResponseReader::fill(const Until& until) {
  buffer_.erase(0, used_);
  used_ = 0;
  const std::size_t held = buffer_.size();
  buffer_.resize(held + kBlock);
  const Result<std::size_t> got = source_.read(std::span(buffer_).subspan(held), until);
  buffer_.resize(held + (got ? got.value() : 0));
  if (!got) {
    return got.error();
  }
  started_ = started_ || got.value() > 0;
  return got.value() > 0;
}

/// A line without its end, which may be LF alone. `budget` is what the lines may cost together.
Result<std::string> ResponseReader::read_line(std::size_t& budget, const Until& until) {
  std::size_t scanned = 0;
  for (;;) {
    const std::string_view held = std::string_view(buffer_).substr(used_);
    const std::size_t end = held.find('\n', scanned);
    if (std::min(end, held.size()) >= budget) {
      return nonsense("a header is too long");
    }
    if (end != std::string_view::npos) {
      std::string line(held.substr(0, end > 0 && held[end - 1] == '\r' ? end - 1 : end));
      used_ += end + 1;
      budget -= end + 1;
      return line;
    }
    scanned = held.size();
    const Result<bool> more = fill(until);
    if (!more) {
      return more.error();
    }
    if (!more.value()) {
      return cut_short();
    }
  }
}

/// Up to left_ bytes, from the buffer first.
Result<std::size_t> ResponseReader::take(std::span<char> into, const Until& until) {
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), left_)));
  if (used_ == buffer_.size()) {
    const Result<bool> more = fill(until);
    if (!more) {
      return more.error();
    }
    if (!more.value()) {
      return std::size_t{0};
    }
  }
  const std::size_t count = std::min(into.size(), buffer_.size() - used_);
  std::memcpy(into.data(), buffer_.data() + used_, count);
  used_ += count;
  left_ -= count;
  return count;
}

Result<void> ResponseReader::end_chunk(const Until& until) {
  std::size_t budget = 3;  // CR, LF, and the limit itself.
  const Result<std::string> line = read_line(budget, until);
  if (!line) {
    return line.error();
  }
  if (!line.value().empty()) {
    return nonsense("a chunk is longer than it says");
  }
  in_chunk_ = false;
  return {};
}

/// Reads a chunk's size line; after the last one also the trailers.
Result<void> ResponseReader::next_chunk(const Until& until) {
  std::size_t budget = kMaxHead;
  Result<std::string> line = read_line(budget, until);
  if (!line) {
    return line.error();
  }
  const std::string_view text = line.value();
  const auto size = number(trim(text.substr(0, text.find(';'))), 16);
  if (!size) {
    return nonsense("bad chunk size");
  }
  left_ = *size;
  in_chunk_ = *size > 0;
  while (*size == 0 && !line.value().empty()) {
    line = read_line(budget, until);
    if (!line) {
      return line.error();
    }
  }
  framing_ = *size == 0 ? Framing::Done : Framing::Chunked;
  return {};
}

Result<std::size_t> ResponseReader::read_body(std::span<char> into, const Until& until) {
  if (framing_ == Framing::Chunked && left_ == 0) {
    Result<void> ready = in_chunk_ ? end_chunk(until) : Result<void>();
    if (ready) {
      ready = next_chunk(until);
    }
    if (!ready) {
      return ready.error();
    }
  }
  if (framing_ == Framing::Done || into.empty()) {
    return std::size_t{0};
  }
  if (framing_ == Framing::UntilClose) {
    left_ = into.size();
  }
  const Result<std::size_t> got = take(into, until);
  if (!got) {
    return got;
  }
  if (got.value() == 0 && framing_ != Framing::UntilClose) {
    return cut_short();
  }
  if (got.value() == 0 || (framing_ == Framing::Length && left_ == 0)) {
    framing_ = Framing::Done;
  }
  return got;
}

}  // namespace injector::kube
