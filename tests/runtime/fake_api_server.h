// An API server in memory, with the faults a real one shows now and then, and a handler that writes
// down what it is told. Both may be used from any thread.

#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "runtime/handler.h"
#include "runtime/lister_watcher.h"
#include "tests/runtime/fakes.h"

namespace injector::runtime::fakes {

/// Objects with versions from one counter, a log of changes that can be compacted, and watches.
class FakeApiServer final : public ListerWatcher {
 public:
  void create(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (!objects_.contains(name)) {
      change(WatchEventType::Added, name);
    }
  }

  void update(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (objects_.contains(name)) {
      change(WatchEventType::Modified, name);
    }
  }

  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (objects_.contains(name)) {
      change(WatchEventType::Deleted, name);
    }
  }

  /// Forgets the log and cuts every watch: one from before now is answered with 410.
  void compact() {
    const std::lock_guard lock(mutex_);
    log_.clear();
    compacted_ = version_;
    ++generation_;
    changed_.notify_all();
  }

  /// Cuts every open watch.
  void break_watches() {
    const std::lock_guard lock(mutex_);
    ++generation_;
    changed_.notify_all();
  }

  void go_down() {
    const std::lock_guard lock(mutex_);
    down_ = true;
    ++generation_;
    changed_.notify_all();
  }

  void come_up() {
    const std::lock_guard lock(mutex_);
    down_ = false;
  }

  /// Waits until a watch is open: a list alone may miss what is only told to watches.
  void wait_for_watch() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return watched_generation_ == generation_; });
  }

  /// The next change is made, but no watch ever tells of it.
  void lose_next_event() {
    const std::lock_guard lock(mutex_);
    lose_next_ = true;
  }

  /// Ends every open watch with an ERROR event.
  void send_error_event(int code, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    error_ = base::Json{{"kind", "Status"}, {"code", code}, {"reason", reason}};
    error_generation_ = generation_;
    ++generation_;
    changed_.notify_all();
  }

  void send_bookmark() {
    const std::lock_guard lock(mutex_);
    ++bookmarks_;
    changed_.notify_all();
  }

  void remember_for_stale_lists() {
    const std::lock_guard lock(mutex_);
    stale_ = current_list();
  }

  /// The next lists that do not insist on the newest get the remembered state.
  void answer_stale_lists(int count) {
    const std::lock_guard lock(mutex_);
    stale_lists_ = count;
  }

  [[nodiscard]] std::map<std::string, std::string> versions() const {
    const std::lock_guard lock(mutex_);
    return objects_;
  }

  base::Result<ListPage> list(const ListOptions& options, const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    if (down_) {
      return error(base::ErrorCode::Unavailable);
    }
    if (stale_lists_ > 0 && !options.resource_version.empty()) {
      --stale_lists_;
      return stale_;
    }
    return page_of(options);
  }

  base::Result<std::unique_ptr<WatchStream>> watch(const WatchOptions& options,
                                                   const std::stop_token&) override {
    const std::lock_guard lock(mutex_);
    if (down_) {
      return error(base::ErrorCode::Unavailable);
    }
    const int from = std::stoi(options.resource_version);
    if (from < compacted_) {
      return error(base::ErrorCode::Expired);
    }
    watched_generation_ = generation_;
    changed_.notify_all();
    return std::unique_ptr<WatchStream>(
        std::make_unique<Stream>(*this, from, generation_, bookmarks_));
  }

 private:
  struct Change {
    int version;
    WatchEvent event;
  };

  class Stream final : public WatchStream {
   public:
    Stream(FakeApiServer& server, int from, int generation, int bookmarks)
        : server_(server),
          from_(from),
          generation_(generation),
          bookmarks_(bookmarks) {}

    Next next(const std::stop_token& stop) override { return server_.next_for(*this, stop); }

    FakeApiServer& server_;
    int from_;
    int generation_;
    int bookmarks_;
  };

  Next next_for(Stream& stream, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const auto pending = [&] { return find_change(stream.from_); };
    changed_.wait(lock, stop, [&] {
      return stream.generation_ != generation_ || pending() != nullptr ||
             stream.bookmarks_ != bookmarks_;
    });
    if (stop.stop_requested()) {
      return error(base::ErrorCode::Cancelled);
    }
    if (stream.generation_ != generation_) {
      return stream.generation_ == error_generation_ ? event(WatchEventType::Error, error_)
                                                     : Next(error(base::ErrorCode::Unavailable));
    }
    if (const Change* found = pending()) {
      stream.from_ = found->version;
      return std::optional(found->event);
    }
    stream.bookmarks_ = bookmarks_;
    return bookmark(std::to_string(std::max(stream.from_, 0)));
  }

  const Change* find_change(int after) const {
    const auto found =
        std::upper_bound(log_.begin(), log_.end(), after,
                         [](int version, const Change& each) { return version < each.version; });
    return found == log_.end() ? nullptr : &*found;
  }

  void change(WatchEventType type, const std::string& name) {
    const std::string version = std::to_string(++version_);
    if (type == WatchEventType::Deleted) {
      objects_.erase(name);
    } else {
      objects_[name] = version;
    }
    if (!std::exchange(lose_next_, false)) {
      log_.push_back({version_, {type, pod(name, version)}});
    }
    changed_.notify_all();
  }

  ListPage current_list() const {
    ListPage page;
    for (const auto& [name, version] : objects_) {
      page.items.push_back(pod(name, version));
    }
    page.resource_version = std::to_string(version_);
    return page;
  }

  // Pages of one consistent snapshot; a token dies with a compaction, as on a real server.
  base::Result<ListPage> page_of(const ListOptions& options) {
    std::size_t from = 0;
    if (!options.continue_token.empty()) {
      if (!snapshot_.has_value() || std::stoi(snapshot_->resource_version) < compacted_) {
        return error(base::ErrorCode::Expired);
      }
      from = std::stoul(options.continue_token);
    } else {
      snapshot_ = current_list();
    }
    const auto& items = snapshot_->items;
    const std::size_t to =
        options.limit == 0 ? items.size() : std::min(items.size(), from + options.limit);
    ListPage page;
    page.resource_version = snapshot_->resource_version;
    for (std::size_t place = from; place < to; ++place) {
      page.items.push_back(items[place]);
    }
    if (to < items.size()) {
      page.continue_token = std::to_string(to);
    }
    return page;
  }

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::string> objects_;  // Name to version.
  std::vector<Change> log_;                     // By version.
  int version_ = 0;
  int compacted_ = 0;
  int generation_ = 0;  // Watches of an earlier one are cut.
  int watched_generation_ = -1;
  int error_generation_ = -1;
  base::Json error_;
  int bookmarks_ = 0;
  bool down_ = false;
  bool lose_next_ = false;
  ListPage stale_;
  int stale_lists_ = 0;
  std::optional<ListPage> snapshot_;
};

/// Writes down what a handler is told, and whether it makes sense as a history.
class Recorder {
 public:
  [[nodiscard]] Handler handler() {
    return {[this](const Added& event) { on_add(event); },
            [this](const Updated& event) { on_update(event); },
            [this](const Deleted& event) { on_delete(event); }};
  }

  [[nodiscard]] std::vector<std::string> events() {
    std::vector<std::string> copy;
    witness_.change([&] { copy = events_; });
    return copy;
  }

  [[nodiscard]] bool wait_for(std::size_t count) {
    return witness_.eventually([&] { return events_.size() >= count; });
  }

  [[nodiscard]] bool wait_for_object(const std::string& name) {
    return witness_.eventually([&] { return present_.contains(name); });
  }

  /// Added only what was not there, updated and deleted only what was, in its last state, and no
  /// version ever lower than one before.
  [[nodiscard]] bool consistent() {
    bool answer = false;
    witness_.change([&] { answer = consistent_; });
    return answer;
  }

 private:
  static std::string text(const ObjectPtr& object) {
    return object->name + "@" + object->resource_version;
  }

  void see(const ObjectPtr& object) {
    const int version = std::stoi(object->resource_version);
    expect(version >= highest_[object->name]);
    highest_[object->name] = version;
  }

  void expect(bool condition) { consistent_ = consistent_ && condition; }

  void on_add(const Added& event) {
    witness_.change([&] {
      events_.push_back((event.in_initial_list ? "initial " : "add ") + text(event.object));
      expect(present_.emplace(event.object->name, event.object).second);
      see(event.object);
    });
  }

  void on_update(const Updated& event) {
    witness_.change([&] {
      events_.push_back("update " + text(event.before) + " " + text(event.now));
      expect(present_[event.now->name] == event.before);
      present_[event.now->name] = event.now;
      see(event.now);
    });
  }

  void on_delete(const Deleted& event) {
    witness_.change([&] {
      events_.push_back((event.final_state_known ? "delete " : "lost ") + text(event.last));
      expect(present_.erase(event.last->name) == 1);
      see(event.last);
    });
  }

  Witness witness_;
  std::vector<std::string> events_;
  std::map<std::string, ObjectPtr> present_;
  std::map<std::string, int> highest_;
  bool consistent_ = true;
};

}  // namespace injector::runtime::fakes
