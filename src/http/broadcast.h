// The latest messages of a live view, followed by any number of connections, each at its own pace.
// Only so many messages are kept: a follower that falls behind by more loses the oldest, so that
// slow readers cost no memory and delay nobody.
//
//   auto decisions = std::make_shared<Broadcast>(256);
//   Routes routes{{.path = "/events", .stream = decisions}};
//   decisions->publish(event_message(json));
//
// Every method may be called from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "http/wakeup.h"

namespace injector::http {

class Broadcast {
 public:
  /// `kept` messages, at least one.
  explicit Broadcast(std::size_t kept);

  /// Never waits for a follower.
  void publish(std::string message) INJ_EXCLUDES(mutex_);

 private:
  friend class Follower;

  using Listener = std::shared_ptr<Wakeup>;

  void add(const Listener& listener) INJ_EXCLUDES(mutex_);
  void remove(const Listener& listener) INJ_EXCLUDES(mutex_);
  [[nodiscard]] bool has_after(std::uint64_t seen) const INJ_EXCLUDES(mutex_);
  /// The kept ones from message `seen` on, joined; `seen` then counts all that were published.
  [[nodiscard]] std::string take_after(std::uint64_t& seen) const INJ_EXCLUDES(mutex_);

  const std::size_t kept_;
  mutable base::Mutex mutex_;
  std::deque<std::string> messages_ INJ_GUARDED_BY(mutex_);
  std::uint64_t published_ INJ_GUARDED_BY(mutex_) = 0;
  std::vector<Listener> listeners_ INJ_GUARDED_BY(mutex_);  // One for each follower.
};

/// Reads a Broadcast from its oldest kept message on. Belongs to one thread at a time.
class Follower {
 public:
  /// `wakeup` is woken at every message, until this is destroyed.
  Follower(std::shared_ptr<Broadcast> broadcast, std::shared_ptr<Wakeup> wakeup);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  [[nodiscard]] bool has_news() const { return broadcast_->has_after(seen_); }

  /// What was published since the last call, and is still kept.
  [[nodiscard]] std::string take() { return broadcast_->take_after(seen_); }

 private:
  const std::shared_ptr<Broadcast> broadcast_;
  const std::shared_ptr<Wakeup> wakeup_;
  std::uint64_t seen_ = 0;
};

/// One server-sent event whose data is `line`, which has no line end in it.
[[nodiscard]] std::string event_message(std::string_view line);

}  // namespace injector::http
