// Workers that bring objects into the wanted state, one key at a time:
//   - a key is reconciled by one worker at a time, and again if it was added meanwhile;
//   - Retry comes back with growing delays, RequeueAfter once after its delay, Done and GiveUp wait
//     for the next event;
//   - an exception is logged and retried: one bad object stops nobody;
//   - on stop each worker finishes the reconcile it is in; keys that still wait are dropped, the
//     next start lists everything again.

#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "runtime/loop_context.h"
#include "runtime/queue_metrics.h"
#include "runtime/rate_limited_queue.h"

namespace injector::runtime {

/// What became of one reconcile.
struct Outcome {
  enum class Kind { Done, Retry, RequeueAfter, GiveUp };

  [[nodiscard]] static Outcome done() { return {}; }

  [[nodiscard]] static Outcome retry(std::string why) { return {Kind::Retry, {}, std::move(why)}; }

  [[nodiscard]] static Outcome requeue_after(base::Duration delay) {
    return {Kind::RequeueAfter, delay, {}};
  }

  [[nodiscard]] static Outcome give_up(std::string why) {
    return {Kind::GiveUp, {}, std::move(why)};
  }

  /// Done, or to be retried because of its error.
  [[nodiscard]] static Outcome of(const base::Result<void>& result) {
    return result ? done() : retry(result.error().message);
  }

  Kind kind = Kind::Done;
  base::Duration delay{0};  // For RequeueAfter.
  std::string why;          // For Retry and GiveUp; logged.
};

/// Called from several threads at once, for different keys. Should return soon after `stop`.
using Reconcile = std::function<Outcome(const std::string& key, const std::stop_token& stop)>;

struct ControllerOptions {
  std::string name;  // In logs and as the metrics' label.
  std::size_t workers = 1;
  QueueMetrics metrics;  // Of its queue; none by default.
};

class Controller {
 public:
  Controller(ControllerOptions options, Reconcile reconcile, const LoopContext& loop_context);

  /// Any thread, at any time; keys added before run() wait for it.
  void enqueue(std::string key) { queue_.add(std::move(key)); }

  [[nodiscard]] RateLimitedQueue<std::string>& queue() noexcept { return queue_; }

  /// Works until `stop`, then joins its workers and returns.
  void run(const std::stop_token& stop);

  /// One reconcile on the caller's thread, outside the queue; the caller sees to it that no worker
  /// has the same key.
  [[nodiscard]] Outcome reconcile_now(const std::string& key, const std::stop_token& stop) {
    return reconcile_safely(key, stop);
  }

 private:
  void work(const std::stop_token& stop);
  [[nodiscard]] Outcome reconcile_safely(const std::string& key, const std::stop_token& stop);
  [[nodiscard]] Outcome thrown(const std::string& key, const char* what);
  void settle(const std::string& key, const Outcome& outcome);

  const std::string name_;
  const std::size_t workers_;
  const Reconcile reconcile_;
  const base::Logger log_;
  RateLimitedQueue<std::string> queue_;
};

}  // namespace injector::runtime
