// Time that moves only when told to, and servers that answer from a script. For the tests of this
// folder; all of it may be used from several threads.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "runtime/lister_watcher.h"
#include "runtime/loop_context.h"
#include "runtime/object.h"
#include "runtime/sleeper.h"

namespace injector::runtime::fakes {

/// A clock that moves only when told to.
class ManualClock final : public base::Clock {
 public:
  [[nodiscard]] base::TimePoint now() const noexcept override {
    return base::TimePoint(base::Duration(millis_.load()));
  }

  void advance(base::Duration by) { millis_ += by.count(); }

 private:
  std::atomic<base::Duration::rep> millis_ = 3'600'000;  // Like a machine that is up for a while.
};

/// Does not wait: moves the clock and remembers for how long.
class InstantSleeper final : public Sleeper {
 public:
  explicit InstantSleeper(ManualClock& clock)
      : clock_(clock) {}

  bool sleep(base::Duration time, const std::stop_token& stop) override {
    if (stop.stop_requested()) {
      return false;
    }
    clock_.advance(time);
    {
      const std::lock_guard lock(mutex_);
      slept_.push_back(time);
    }
    if (on_sleep) {
      on_sleep();
    }
    return !stop.stop_requested();
  }

  [[nodiscard]] std::vector<base::Duration> slept() const {
    const std::lock_guard lock(mutex_);
    return slept_;
  }

  std::function<void()> on_sleep;  // Set before use.

 private:
  ManualClock& clock_;
  mutable std::mutex mutex_;
  std::vector<base::Duration> slept_;
};

/// Waits until the test says so, or for the stop.
class GateSleeper final : public Sleeper {
 public:
  bool sleep(base::Duration time, const std::stop_token& stop) override {
    std::unique_lock lock(mutex_);
    last_ = time;
    ++asleep_;
    changed_.notify_all();
    const bool woken = changed_.wait(lock, stop, [this] { return wakes_ > 0; });
    --asleep_;
    if (woken) {
      --wakes_;
    }
    changed_.notify_all();
    return woken;
  }

  /// Lets one sleeper go, once there is one, and returns when it has gone.
  base::Duration wake_one() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return asleep_ > 0; });
    ++wakes_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return wakes_ == 0; });
    return last_;
  }

  void wait_for_sleeper() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return asleep_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  int asleep_ = 0;
  int wakes_ = 0;
  base::Duration last_{0};
};

/// Log lines, for tests that count them.
class LogLines {
 public:
  [[nodiscard]] base::Logger logger() {
    return {base::LogFormat::Text, base::LogLevel::Debug, [this](std::string_view line) {
              const std::lock_guard lock(mutex_);
              lines_.emplace_back(line);
            }};
  }

  [[nodiscard]] bool mention(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& line : lines_) {
      if (line.find(text) != std::string::npos) {
        return true;
      }
    }
    return false;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

inline base::Json pod(const std::string& name, const std::string& version,
                      const std::string& name_space = "ns") {
  return base::Json{{"kind", "Pod"},
                    {"metadata",
                     {{"name", name},
                      {"namespace", name_space},
                      {"uid", "uid-" + name},
                      {"resourceVersion", version}}}};
}

inline ObjectPtr object(const std::string& name, const std::string& version,
                        const std::string& name_space = "ns") {
  return make_object(pod(name, version, name_space)).value();
}

inline base::Error error(base::ErrorCode code, std::string message = "scripted") {
  return {code, std::move(message)};
}

using Next = base::Result<std::optional<WatchEvent>>;

inline Next event(WatchEventType type, base::Json object) {
  return std::optional(WatchEvent{type, std::move(object)});
}

inline Next added(const std::string& name, const std::string& version) {
  return event(WatchEventType::Added, pod(name, version));
}

inline Next modified(const std::string& name, const std::string& version) {
  return event(WatchEventType::Modified, pod(name, version));
}

inline Next deleted(const std::string& name, const std::string& version) {
  return event(WatchEventType::Deleted, pod(name, version));
}

inline Next bookmark(const std::string& version) {
  return event(WatchEventType::Bookmark,
               base::Json{{"kind", "Pod"}, {"metadata", {{"resourceVersion", version}}}});
}

inline Next error_event(int code, const std::string& reason) {
  return event(WatchEventType::Error,
               base::Json{{"kind", "Status"}, {"code", code}, {"reason", reason}});
}

inline Next closed() {
  return std::optional<WatchEvent>();
}

/// Answers lists and watches in the order of the script, then requests the stop of whoever asks.
class ScriptedServer final : public ListerWatcher {
 public:
  struct Step {
    Step(Next next, base::Duration after = base::Duration(0))  // NOLINT: reads well in a script.
        : answer(std::move(next)),
          takes(after) {}

    Next answer;
    base::Duration takes;
  };

  ScriptedServer(ManualClock& clock, std::stop_source& stop)
      : clock_(clock),
        stop_(stop) {}

  void will_list(base::Result<ListPage> page) { pages_.push_back(std::move(page)); }

  void will_list(std::vector<base::Json> items, std::string version, std::string token = "") {
    will_list(ListPage{std::move(items), std::move(version), std::move(token)});
  }

  void will_watch(std::vector<Step> steps) { watches_.emplace_back(std::move(steps)); }

  void will_refuse_watch(base::ErrorCode code) { watches_.emplace_back(error(code)); }

  base::Result<ListPage> list(const ListOptions& options, const std::stop_token&) override {
    if (pages_.empty()) {
      return out_of_script();
    }
    lists.push_back(options);
    base::Result<ListPage> page = std::move(pages_.front());
    pages_.pop_front();
    return page;
  }

  base::Result<std::unique_ptr<WatchStream>> watch(const WatchOptions& options,
                                                   const std::stop_token&) override {
    if (watches_.empty()) {
      return out_of_script();
    }
    watches.push_back(options);
    base::Result<std::vector<Step>> steps = std::move(watches_.front());
    watches_.pop_front();
    if (!steps) {
      return steps.error();
    }
    return std::unique_ptr<WatchStream>(std::make_unique<Stream>(*this, std::move(steps).value()));
  }

  std::vector<ListOptions> lists;     // Asked so far.
  std::vector<WatchOptions> watches;  // Asked so far.

 private:
  class Stream final : public WatchStream {
   public:
    Stream(ScriptedServer& server, std::vector<Step> steps)
        : server_(server),
          steps_(std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end())) {}

    Next next(const std::stop_token&) override {
      if (steps_.empty()) {
        return server_.out_of_script();
      }
      Step step = std::move(steps_.front());
      steps_.pop_front();
      server_.clock_.advance(step.takes);
      return step.answer;
    }

   private:
    ScriptedServer& server_;
    std::deque<Step> steps_;
  };

  base::Error out_of_script() {
    stop_.request_stop();
    return error(base::ErrorCode::Cancelled, "the script is over");
  }

  ManualClock& clock_;
  std::stop_source& stop_;
  std::deque<base::Result<ListPage>> pages_;
  std::deque<base::Result<std::vector<Step>>> watches_;
};

/// Hears of changes from other threads; waits for what should happen, with a limit that only a
/// failing test reaches.
class Witness {
 public:
  template <class Change>
  void change(Change&& action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }

  template <class Condition>
  [[nodiscard]] bool eventually(Condition&& condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), condition);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace injector::runtime::fakes
