// Writes Kubernetes Events without ever making its caller wait:
//   - record() only queues; a full queue (1000) drops the event and counts it;
//   - messages are cut to 1024 bytes, as the API server demands; what is about an object that no
//     API server would have (a name of a megabyte) is dropped;
//   - repeats and floods are folded before they reach the server; see event_correlator.h;
//   - a write that nobody answers is tried 12 times, 10 s apart; one that is refused is dropped;
//   - destruction writes what is left, as long as the server answers and for flush_limit at most.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "runtime/event_correlator.h"
#include "runtime/event_sink.h"
#include "runtime/keyed_hash.h"
#include "runtime/loop_context.h"

namespace injector::runtime {

enum class EventType { Normal, Warning };

struct EventRecorderOptions {
  std::string component{};  // source.component
  std::string host{};       // source.host; may be empty.
  std::size_t queue_limit = 1000;
  int tries = 12;
  base::Duration retry_delay{10'000};  // The first one is a random part of it.
  base::Duration flush_limit{5'000};
  HashKey hash_key = fresh_hash_key();
  prometheus::Registry* metrics = nullptr;  // Not owned; null: dropped() is the only count.
  std::function<std::chrono::system_clock::time_point()> wall_now = std::chrono::system_clock::now;
};

class EventRecorder {
 public:
  /// `sink` is not owned and outlives the recorder.
  EventRecorder(EventSink& sink, EventRecorderOptions options, const LoopContext& loop_context);

  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;
  ~EventRecorder() = default;

  /// Any thread; never blocks. `reason` is one CamelCase word, `message` a sentence.
  void record(const ObjectReference& about, EventType type, std::string reason, std::string message)
      INJ_EXCLUDES(mutex_);

  /// Events that never reached the server: queue full, too many about one object, refused, nobody
  /// answered, or stopped too early. As a metric: envoy_initializer_events_dropped_total.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(); }

 private:
  static constexpr std::size_t kMessageLimit = 1024;

  enum class Delivery { Settled, NobodyAnswers };

  [[nodiscard]] bool push(EventRecord event) INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<EventRecord> next(const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<EventRecord> pop() INJ_EXCLUDES(mutex_);
  [[nodiscard]] std::optional<EventRecord> pop_front() INJ_REQUIRES(mutex_);

  // All of the worker alone.
  void run(const std::stop_token& stop);
  void flush(const std::optional<PlannedWrite>& interrupted);
  [[nodiscard]] bool flush_one(const PlannedWrite& write);
  [[nodiscard]] std::optional<PlannedWrite> plan(EventRecord event);
  /// False: `stop` came first, and the event may not have arrived.
  [[nodiscard]] bool deliver(const PlannedWrite& write, const std::stop_token& stop);
  [[nodiscard]] Delivery write_once(const PlannedWrite& write, const std::stop_token& stop);
  void drop(const EventRecord& event, std::string_view why);
  void count_dropped();  // Any thread.
  [[nodiscard]] base::Duration delay_after(int tries);

  EventSink& sink_;  // Not owned.
  const EventRecorderOptions options_;
  const LoopContext loop_context_;
  std::atomic<std::uint64_t> dropped_ = 0;
  prometheus::Counter* const dropped_metric_;  // Null without a registry.

  base::Mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<EventRecord> line_ INJ_GUARDED_BY(mutex_);  // At most queue_limit.

  // Of the worker alone.
  EventCorrelator correlator_;
  std::mt19937_64 random_;

  std::jthread thread_;  // Last: it uses everything above.
};

}  // namespace injector::runtime
