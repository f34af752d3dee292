#include "http/head.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <strings.h>
#include <system_error>

namespace injector::http {
namespace {

constexpr std::array<std::string_view, 9> kMethods{"POST",    "GET",     "HEAD",  "PUT",  "DELETE",
                                                   "CONNECT", "OPTIONS", "TRACE", "PATCH"};

/// What a byte may be part of.
enum : unsigned char { kName = 1, kValue = 2, kTarget = 4 };

constexpr std::array<unsigned char, 256> byte_classes() {
  std::array<unsigned char, 256> classes{};
  for (std::size_t byte = 0x21; byte < 256; ++byte) {
    classes[byte] = byte == 0x7f ? 0 : kValue | (byte < 0x7f ? kTarget : 0);
  }
  classes[' '] = kValue;
  classes['\t'] = kValue;
  constexpr std::string_view kInNames =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (const char byte : kInNames) {
    classes[static_cast<unsigned char>(byte)] |= kName;
  }
  return classes;
}

constexpr std::array<unsigned char, 256> kClasses = byte_classes();

bool all_of(std::string_view text, unsigned char wanted) noexcept {
  return std::all_of(text.begin(), text.end(), [wanted](char byte) {
    return (kClasses[static_cast<unsigned char>(byte)] & wanted) != 0;
  });
}

std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

/// True if the comma-separated `value` contains `token`.
bool has_token(std::string_view value, std::string_view token) noexcept {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    if (equal_ignoring_case(trim(value.substr(0, comma)), token)) {
      return true;
    }
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
  return false;
}

std::optional<std::uint64_t> parse_length(std::string_view text) noexcept {
  std::uint64_t length = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, length);
  return error == std::errc() && stopped == end ? std::optional(length) : std::nullopt;
}

Reply bad(const char* why) {
  return text_reply(400, why);
}

/// Takes the line at the front of `text` off it; without its line end.
std::string_view take_line(std::string_view& text) noexcept {
  const std::size_t end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 2, text.size()));
  return line;
}

/// "https://host/path" is "/path" to us: there is one host here.
std::string_view without_origin(std::string_view target) noexcept {
  const std::size_t scheme = target.find("://");
  if (target.starts_with('/') || scheme == std::string_view::npos) {
    return target;
  }
  const std::size_t path = target.find('/', scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

std::optional<Reply> parse_request_line(std::string_view line, RequestHead& head) {
  head.line = line;
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return bad("malformed request line");
  }
  head.method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  head.http10 = version == "HTTP/1.0";
  if (std::find(kMethods.begin(), kMethods.end(), head.method) == kMethods.end()) {
    return bad("unknown method");
  }
  if (!head.http10 && version != "HTTP/1.1") {
    return bad("not HTTP/1.1 or HTTP/1.0");
  }
  if (target.size() > kMaxTarget) {
    return text_reply(414, "URI too long");
  }
  if (target.empty() || !all_of(target, kTarget)) {
    return bad("malformed request target");
  }
  target = without_origin(target);
  const std::size_t mark = std::min(target.find('?'), target.size());
  head.path = target.substr(0, mark);
  head.query = target.substr(std::min(mark + 1, target.size()));
  return std::nullopt;
}

/// How often a field came that may come once.
struct Seen {
  bool host = false;
  bool length = false;
  bool encoding = false;
  bool type = false;
  bool content_encoding = false;
  bool close = false;
  bool keep_alive = false;
};

/// True if this is the first.
bool once(bool& seen) noexcept {
  const bool first = !seen;
  seen = true;
  return first;
}

constexpr const char* kAmbiguous = "ambiguous body length";

const char* read_length(std::string_view value, Framing& framing, Seen& seen) noexcept {
  if (!once(seen.length)) {
    return kAmbiguous;
  }
  framing.content_length = parse_length(value);
  return framing.content_length ? nullptr : "bad content length";
}

const char* read_encoding(std::string_view value, Framing& framing, Seen& seen) noexcept {
  if (!once(seen.encoding) || value.empty() || framing.http10) {
    return kAmbiguous;
  }
  framing.transfer_encoding = value;
  return nullptr;
}

/// The fields that requests and responses have in common. Null, or what is wrong.
const char* read_framing_field(std::string_view name, std::string_view value, Framing& framing,
                               Seen& seen) noexcept {
  switch (name.size()) {
    case 10:
      if (equal_ignoring_case(name, "Connection")) {
        seen.close = seen.close || has_token(value, "close");
        seen.keep_alive = seen.keep_alive || has_token(value, "keep-alive");
      }
      return nullptr;
    case 14:
      return equal_ignoring_case(name, "Content-Length") ? read_length(value, framing, seen)
                                                         : nullptr;
    case 17:
      return equal_ignoring_case(name, "Transfer-Encoding") ? read_encoding(value, framing, seen)
                                                            : nullptr;
    default:
      return nullptr;
  }
}

void read_expectation(std::string_view value, RequestHead& head) noexcept {
  const bool known = equal_ignoring_case(value, "100-continue");
  // HTTP/1.0 knows no interim answers.
  head.expects_continue = head.expects_continue || (known && !head.http10);
  head.expects_other = head.expects_other || !known;
}

void take_first(std::string_view name, std::string_view wanted, std::string_view value,
                std::string_view& into) noexcept {
  if (into.empty() && equal_ignoring_case(name, wanted)) {
    into = value;
  }
}

/// The fields of requests alone, and then the others. Null, or what is wrong.
const char* read_request_field(std::string_view name, std::string_view value, RequestHead& head,
                               Seen& seen) noexcept {
  switch (name.size()) {
    case 4:
      if (equal_ignoring_case(name, "Host")) {
        head.host = value;
        return once(seen.host) ? nullptr : "more than one Host";
      }
      return nullptr;
    case 6:
      if (equal_ignoring_case(name, "Expect")) {
        read_expectation(value, head);
      }
      take_first(name, "Origin", value, head.origin);
      take_first(name, "Cookie", value, head.cookie);
      return nullptr;
    case 12:
      if (equal_ignoring_case(name, "Content-Type")) {
        head.content_type = value;
        return once(seen.type) ? nullptr : "more than one Content-Type";
      }
      return nullptr;
    case 13:
      take_first(name, "Authorization", value, head.authorization);
      return nullptr;
    case 14:
      take_first(name, "Sec-Fetch-Site", value, head.fetch_site);
      return read_framing_field(name, value, head, seen);
    case 16:
      if (equal_ignoring_case(name, "Content-Encoding")) {
        head.content_encoding = value;
        return once(seen.content_encoding) ? nullptr : "more than one Content-Encoding";
      }
      return nullptr;
    default:
      return read_framing_field(name, value, head, seen);
  }
}

/// Hands every field to `read`, which says what is wrong with it.
template <class Read>
const char* read_fields(std::string_view text, const Read& read) {
  while (true) {
    const std::string_view line = take_line(text);
    if (line.empty()) {
      return nullptr;
    }
    std::string_view name;
    std::string_view value;
    if (line.size() > kMaxHeaderLine || !parse_field(line, name, value)) {
      return "malformed header line";
    }
    if (const char* wrong = read(name, value)) {
      return wrong;
    }
  }
}

/// What the framing's fields mean together. Null, or what is wrong.
const char* conclude(Framing& framing, const Seen& seen) noexcept {
  framing.keeps_alive = !seen.close && (!framing.http10 || seen.keep_alive);
  return seen.length && seen.encoding ? kAmbiguous : nullptr;
}

/// "HTTP/1.1 200 OK"; the reason may be missing.
bool parse_status_line(std::string_view line, ResponseHead& head) noexcept {
  constexpr std::string_view kProtocol = "HTTP/1.";
  constexpr std::size_t kCode = kProtocol.size() + 2;
  if (line.size() < kCode + 3 || !line.starts_with(kProtocol) || line[kCode - 1] != ' ') {
    return false;
  }
  const char minor = line[kProtocol.size()];
  const auto code = parse_length(line.substr(kCode, 3));
  const std::string_view rest = line.substr(kCode + 3);
  head.http10 = minor == '0';
  head.code = static_cast<int>(code.value_or(0));
  head.reason = rest.substr(std::min<std::size_t>(1, rest.size()));
  return (minor == '0' || minor == '1') && head.code >= 100 &&
         (rest.empty() || rest.front() == ' ') && all_of(rest, kValue);
}

}  // namespace

bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept {
  return left.size() == right.size() && ::strncasecmp(left.data(), right.data(), left.size()) == 0;
}

bool parse_field(std::string_view line, std::string_view& name, std::string_view& value) noexcept {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos) {
    return false;
  }
  name = line.substr(0, colon);
  value = trim(line.substr(colon + 1));
  return all_of(name, kName) && all_of(value, kValue);
}

HeadScanner::State HeadScanner::scan(std::string_view text) noexcept {
  while (true) {
    const std::size_t feed = text.find('\n', searched_);
    if (feed == std::string_view::npos) {
      searched_ = text.size();
      return State::Partial;
    }
    if (feed == line_ || text[feed - 1] != '\r') {
      return State::Malformed;
    }
    const bool blank = feed == line_ + 1;
    line_ = feed + 1;
    searched_ = line_;
    if (blank) {
      return State::Complete;
    }
  }
}

std::optional<Reply> parse_head(std::string_view text, RequestHead& head) {
  if (auto refused = parse_request_line(take_line(text), head)) {
    return refused;
  }
  Seen seen;
  const char* wrong = read_fields(text, [&](std::string_view name, std::string_view value) {
    return read_request_field(name, value, head, seen);
  });
  wrong = wrong == nullptr ? conclude(head, seen) : wrong;
  return wrong == nullptr ? std::nullopt : std::optional(bad(wrong));
}

const char* parse_head(std::string_view text, ResponseHead& head) {
  if (!parse_status_line(take_line(text), head)) {
    return "bad status line";
  }
  head.fields = text;
  Seen seen;
  const char* wrong = read_fields(text, [&](std::string_view name, std::string_view value) {
    return read_framing_field(name, value, head, seen);
  });
  return wrong == nullptr ? conclude(head, seen) : wrong;
}

std::string_view ResponseHead::header(std::string_view name) const noexcept {
  std::string_view text = fields;
  for (std::string_view line = take_line(text); !line.empty(); line = take_line(text)) {
    std::string_view key;
    std::string_view value;
    if (parse_field(line, key, value) && equal_ignoring_case(key, name)) {
      return value;
    }
  }
  return {};
}

}  // namespace injector::http
