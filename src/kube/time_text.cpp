#include "kube/time_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>

namespace injector::kube {
namespace {

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

/// ".6789", or nothing. Digits beyond the sixth are dropped.
std::optional<std::chrono::microseconds> take_fraction(std::string_view& text) {
  if (!take(text, '.')) {
    return std::chrono::microseconds(0);
  }
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0) {
    return std::nullopt;
  }
  std::string six(text.substr(0, std::min<std::size_t>(digits, 6)));
  six.resize(6, '0');
  text.remove_prefix(digits);
  std::string_view rest = six;
  return std::chrono::microseconds(take_number(rest, 6));
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

std::string format(WallTime time, bool micro) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(whole);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(whole - day);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (micro) {
    const auto fraction = std::chrono::floor<std::chrono::microseconds>(time - whole);
    text += fmt::format(".{:06}", fraction.count());
  }
  return text + "Z";
}

}  // namespace

std::string time_text(WallTime time) {
  return format(time, false);
}

std::string micro_time_text(WallTime time) {
  return format(time, true);
}

std::optional<WallTime> parse_time(std::string_view text) {
  const auto date = take_date(text);
  if (!date || !(take(text, 'T') || take(text, 't'))) {
    return std::nullopt;
  }
  const auto clock = take_clock(text);
  const auto fraction = take_fraction(text);
  const auto offset = parse_offset(text);
  if (!clock || !fraction || !offset) {
    return std::nullopt;
  }
  return WallTime(*date) + *clock + *fraction - *offset;
}

}  // namespace injector::kube
