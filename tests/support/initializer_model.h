// The Pods of an API server of 1.13 with the Initializers plugin, as far as a client can tell:
//   - a new Pod waits for the initializers of the configurations, and its creator with it;
//   - plain lists and watches do not show it while it waits, a GET by name does; a plain watch
//   sends
//     one ADDED when it is done;
//   - a waiting Pod may be changed by who has the verb `initialize` only; in any way, then, that
//     leaves it a valid Pod;
//   - when nothing is pending any more, the Pod is initialized: it takes no containers from then on
//     and no second removal from `pending` (422);
//   - a result is the creator's answer, and the end of the Pod;
//   - the plugin answers before the version is compared: a PATCH of `initializers` on an
//   initialized
//     Pod is a 422, without the verb `initialize` a 403, whatever version it names;
//   - any other PATCH under an old version is a 409, and one of the wrong media type a 415;
//   - quota is checked last, on what would be stored.
// What is not here, as nobody asks for it: PUT, JSON patches, bookmarks, pages.
//
// Used directly by the fast tests, and by InitializerServer behind HTTP. May be used from any
// thread.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "runtime/lister_watcher.h"

namespace injector::tests {

class InitializerModel {
 public:
  /// An HTTP answer: an object, a list or a Status.
  struct Answer {
    int code = 0;
    base::Json body;
  };

  /// What the user who asks has besides get, list, watch, create and delete.
  struct Caller {
    bool may_patch = true;
    bool may_initialize = true;
  };

  struct CreateOptions {
    bool include_uninitialized = false;
    std::chrono::milliseconds timeout{30'000};
  };

  /// A reader's place in the history of one kind of object.
  struct Cursor {
    std::string plural{};      // "pods", "namespaces".
    std::string name_space{};  // Empty: all.
    bool include_uninitialized = false;
    std::size_t version = 0;  // What was seen.
  };

  /// With the Namespaces default and shop.
  InitializerModel();

  [[nodiscard]] Answer create_configuration(const base::Json& configuration);
  /// A configuration with one rule, for Pods.
  void configure(const std::vector<std::string>& initializers);

  void put_namespace(base::Json object);

  /// From now on no Pod may grow: such a PATCH is a 403 of the quota plugin.
  void exhaust_quota();

  /// Without include_uninitialized it blocks until the Pod is initialized (201), a result is set
  /// (its code) or time is up (504, and the Pod stays).
  [[nodiscard]] Answer create(const std::string& name_space, base::Json pod,
                              const CreateOptions& options, const Caller& caller,
                              const std::stop_token& stop);
  [[nodiscard]] Answer get(const std::string& name_space, const std::string& name) const;
  [[nodiscard]] Answer list(const Cursor& what) const;
  [[nodiscard]] Answer patch(const std::string& name_space, const std::string& name,
                             std::string_view media_type, std::string_view body,
                             const Caller& caller);
  [[nodiscard]] Answer patch_status(const std::string& name_space, const std::string& name);
  [[nodiscard]] Answer remove(const std::string& name_space, const std::string& name);

  /// The next event behind `cursor`, which it moves on; nothing if `deadline` or `stop` comes
  /// first.
  [[nodiscard]] std::optional<runtime::WatchEvent> next(
      Cursor& cursor, std::chrono::steady_clock::time_point deadline, const std::stop_token& stop);

  // For the test itself.

  void wait_for_patches(int count);
  /// Patches of Pods by the code that answered them.
  [[nodiscard]] std::map<int, int> patch_answers() const;
  /// How often a Pod's containers grew. Never more than once, if all is well.
  [[nodiscard]] std::map<std::string, int> injections() const;
  /// What `pending` lacked after a patch that should have kept it: entries of others.
  [[nodiscard]] int foreign_removals(const std::string& ours) const;
  [[nodiscard]] static base::Json status(int code, std::string_view reason, std::string message);

 private:
  struct Change {
    runtime::WatchEventType type;
    std::string plural;
    base::Json object;
    bool hidden_before;
    bool hidden_now;
  };

  using Key = std::pair<std::string, std::string>;  // Namespace and name.

  [[nodiscard]] std::vector<std::string> initializers_for(const base::Json& pod) const;
  [[nodiscard]] std::optional<Answer> admit(base::Json& pod, const Caller& caller) const;
  [[nodiscard]] Answer wait_for(const Key& key, const CreateOptions& options,
                                const std::stop_token& stop, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] bool settled(const Key& key) const;
  [[nodiscard]] Answer try_patch(const Key& key, std::string_view media_type, std::string_view body,
                                 const Caller& caller);
  [[nodiscard]] Answer patched(const Key& key, base::Json before, base::Json after);
  void count_removals(const base::Json& before, const base::Json& after);
  void record(runtime::WatchEventType type, const std::string& plural, base::Json& object,
              bool hidden_before);
  void erase(const Key& key);
  [[nodiscard]] static std::optional<runtime::WatchEvent> seen_by(const Cursor& cursor,
                                                                  const Change& change);

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, base::Json> configurations_;
  std::map<std::string, base::Json> namespaces_;
  std::map<Key, base::Json> pods_;
  std::map<Key, base::Json> failures_;  // The results, by the Pod that they ended.
  std::vector<Change> log_;             // The n-th has version n.
  std::map<int, int> patch_answers_;
  std::map<std::string, int> injections_;
  std::map<std::string, int> removals_;  // From `pending`, by name.
  int accepted_ = 0;
  bool quota_exhausted_ = false;
};

}  // namespace injector::tests
