#include "kube/exec_credential.h"

#include <array>
#include <charconv>
#include <cstddef>

#include "base/json.h"
#include "codec/json.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using std::chrono::system_clock;

Error bad_answer(const std::string& what) {
  return {ErrorCode::Internal, "its answer is not an ExecCredential: " + what};
}

/// Takes exactly `digits` digits off `text`; -1: they are not there.
int take_number(std::string_view& text, std::size_t digits) {
  int value = 0;
  if (text.size() < digits) {
    return -1;
  }
  const char* end = text.data() + digits;
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || text.front() == '-') {
    return -1;
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

void skip_fraction(std::string_view& text) {
  if (take(text, '.')) {
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  }
}

/// "Z", "+02:00".
std::optional<std::chrono::minutes> parse_offset(std::string_view text) {
  if (text == "Z" || text == "z") {
    return std::chrono::minutes(0);
  }
  const bool west = !text.empty() && text.front() == '-';
  if (!west && !(text.size() > 1 && text.front() == '+')) {
    return std::nullopt;
  }
  text.remove_prefix(1);
  const int hours = take_number(text, 2);
  if (hours < 0 || hours > 23 || !take(text, ':')) {
    return std::nullopt;
  }
  const int minutes = take_number(text, 2);
  if (minutes < 0 || minutes > 59 || !text.empty()) {
    return std::nullopt;
  }
  return std::chrono::minutes((west ? -1 : 1) * (hours * 60 + minutes));
}

/// "2026-01-02".
std::optional<std::chrono::sys_days> take_date(std::string_view& text) {
  const int year = take_number(text, 4);
  if (year < 0 || !take(text, '-')) {
    return std::nullopt;
  }
  const int month = take_number(text, 2);
  if (month < 0 || !take(text, '-')) {
    return std::nullopt;
  }
  const int day = take_number(text, 2);
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (day < 0 || !date.ok()) {
    return std::nullopt;
  }
  return std::chrono::sys_days(date);
}

/// "03:04:05".
std::optional<std::chrono::seconds> take_clock(std::string_view& text) {
  std::array<int, 3> part{};
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (i > 0 && !take(text, ':')) {
      return std::nullopt;
    }
    part[i] = take_number(text, 2);
  }
  const auto [hours, minutes, seconds] = part;
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || seconds < 0 || seconds > 60) {
    return std::nullopt;
  }
  return std::chrono::seconds(hours * 3600 + minutes * 60 + seconds);
}

Result<Json> read_status(std::string_view text, std::string_view api_version) {
  Result<Json> answer = codec::read_json(text);
  if (!answer) {
    return bad_answer(answer.error().message);
  }
  const Json& value = answer.value();
  const std::string_view version = base::text_of(base::find(value, "apiVersion"));
  if (base::text_of(base::find(value, "kind")) != "ExecCredential" || version != api_version) {
    return bad_answer("want kind ExecCredential of " + std::string(api_version) + ", got \"" +
                      std::string(version) + "\"");
  }
  const Json* status = base::find(value, "status");
  if (status == nullptr || !status->is_object()) {
    return bad_answer("no status");
  }
  return *status;
}

}  // namespace

std::string exec_info(const ExecSettings& settings, bool interactive) {
  Json info = {{"kind", "ExecCredential"}, {"apiVersion", settings.api_version}};
  info["spec"] = Json::object();
  if (!settings.cluster.is_null()) {
    info["spec"]["cluster"] = settings.cluster;
  }
  info["spec"]["interactive"] = interactive;
  return codec::write_json(info);
}

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  const Result<Json> status = read_status(text, api_version);
  if (!status) {
    return status.error();
  }
  const auto field = [&](std::string_view name) {
    return std::string(base::text_of(base::find(status.value(), name)));
  };
  ExecCredential credential;
  credential.token = field("token");
  credential.identity = {field("clientCertificateData"), field("clientKeyData")};
  if (credential.identity.certificate.empty() != credential.identity.key.empty()) {
    return bad_answer("clientCertificateData and clientKeyData come together or not at all");
  }
  if (credential.token.empty() && credential.identity.certificate.empty()) {
    return bad_answer("neither a token nor a certificate");
  }
  const std::string expires = field("expirationTimestamp");
  credential.expires = parse_rfc3339(expires);
  if (!expires.empty() && !credential.expires) {
    return bad_answer("bad expirationTimestamp \"" + expires + "\"");
  }
  return credential;
}

std::optional<system_clock::time_point> parse_rfc3339(std::string_view text) {
  const auto date = take_date(text);
  if (!date || !(take(text, 'T') || take(text, 't'))) {
    return std::nullopt;
  }
  const auto clock = take_clock(text);
  skip_fraction(text);
  const auto offset = parse_offset(text);
  if (!clock || !offset) {
    return std::nullopt;
  }
  return system_clock::time_point(*date) + *clock - *offset;
}

}  // namespace injector::kube
