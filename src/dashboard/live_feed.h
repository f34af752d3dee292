// Decisions and Pods as they come, for the live view: one server-sent event each.
//
// Every method may be called from any thread and never waits for a viewer.

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"
#include "core/decision.h"
#include "http/broadcast.h"

namespace injector::dashboard {

using WallTime = std::chrono::system_clock::time_point;

/// Whose decision it is. Texts of a client: they are bounded here.
struct EventSubject {
  std::string_view name_space;
  std::string_view name;
  std::string_view owner;
};

class LiveFeed {
 public:
  LiveFeed();

  /// The webhook answered for a Pod.
  void add_decision(const EventSubject& subject, const core::Decision& decision, WallTime now);

  /// A Pod came, changed or went: `what` is "added", "updated" or "deleted", `state` how it stands
  /// to the template.
  void add_pod(const EventSubject& subject, std::string_view what, std::string_view state,
               WallTime now);

  [[nodiscard]] const std::shared_ptr<http::Broadcast>& broadcast() const noexcept {
    return broadcast_;
  }

 private:
  const std::shared_ptr<http::Broadcast> broadcast_;
};

}  // namespace injector::dashboard
