// Lines on their way to a descriptor that may be slow, such as standard error with a reader that
// has stopped: whoever logs never waits for it. Lines wait in a bounded queue, one thread writes
// them, and where the queue is full they are dropped and counted; a line that says how many follows
// once the descriptor takes text again.
//
// Lines are collected for a moment, so that a busy server writes once for many of them.
//
// All functions may be called from any thread.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace injector::base {

class LogWriter {
 public:
  struct Options {
    std::size_t limit = std::size_t{512} << 10U;  // Bytes that may wait.
    Duration collect{5};                          // From the first line to the writing of it.
    Duration patience{1000};                      // With a reader that takes nothing, at the end.
    std::function<std::string(std::uint64_t dropped)> report = {};  // The line that says so.
  };

  /// `fd` is not owned and outlives this. The thread starts with the first line.
  LogWriter(int fd, Options options);

  /// Writes what waits; gives up where the reader takes nothing for as long as `patience`.
  ~LogWriter();

  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  /// False: a line would be dropped, so nobody needs to format it. Counts that as dropped.
  [[nodiscard]] bool has_room() noexcept;

  /// Queues the line, which has no newline, or drops it.
  void add(std::string_view line) INJ_EXCLUDES(mutex_);

  /// Waits until everything added so far has been written. False: it took longer than `patience`.
  bool flush(Duration patience) INJ_EXCLUDES(mutex_);

  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void start() INJ_REQUIRES(mutex_);
  void run();
  [[nodiscard]] bool take_batch() INJ_EXCLUDES(mutex_);
  void write_batch();
  [[nodiscard]] bool wait_until_writable();
  void finish_batch() INJ_EXCLUDES(mutex_);

  const int fd_;
  const Options options_;
  std::atomic<bool> full_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> dropped_{0};
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::string waiting_ INJ_GUARDED_BY(mutex_);         // Lines with their newlines.
  bool writing_ INJ_GUARDED_BY(mutex_) = false;        // The thread has a batch at hand.
  bool hurry_ INJ_GUARDED_BY(mutex_) = false;          // Somebody waits in flush().
  std::uint64_t reported_ INJ_GUARDED_BY(mutex_) = 0;  // Of dropped_.
  std::string batch_;                                  // Belongs to the thread.
  std::jthread thread_ INJ_GUARDED_BY(mutex_);
};

/// Where the loggers of this process write: there is one standard error, so there is one of these.
/// Made with the first logger that writes there; at the end of the process, and where it ends by
/// std::terminate or a failed check, what waits is written first.
void flush_standard_error() noexcept;
[[nodiscard]] std::uint64_t dropped_log_lines() noexcept;

}  // namespace injector::base
