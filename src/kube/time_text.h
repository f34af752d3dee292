// Times as the API writes them: RFC 3339 in UTC.
//
// Pure; may be called from any thread.

#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace injector::kube {

using WallTime = std::chrono::system_clock::time_point;

/// metav1.Time, whole seconds: "2026-01-02T03:04:05Z".
[[nodiscard]] std::string time_text(WallTime time);

/// metav1.MicroTime, always six digits: "2026-01-02T03:04:05.678900Z".
[[nodiscard]] std::string micro_time_text(WallTime time);

/// Also with any fraction (cut to microseconds) or an offset; empty: not a time.
[[nodiscard]] std::optional<WallTime> parse_time(std::string_view text);

}  // namespace injector::kube
