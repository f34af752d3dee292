// The Pods of an API server of 1.13 with the Initializers plugin, as far as a client can tell:
//   - a new Pod waits for the initializers of the configuration, and its creator with it;
//   - plain readers do not see it while it waits; those that include the uninitialized do;
//   - a waiting Pod may be changed by who has the verb `initialize` only; in any way, then;
//   - an initialized Pod takes neither containers nor a second removal from `pending`;
//   - a result is the creator's answer, and the end of the Pod.
// All of it may be used from several threads.

#pragma once

#include <algorithm>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "controller/patcher.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"
#include "runtime/lister_watcher.h"

namespace injector::controller::fakes {

class FakeInitializerApi final : public runtime::ListerWatcher, public Patcher {
 public:
  /// `configuration`: the initializers of every Pod, in order.
  explicit FakeInitializerApi(std::vector<std::string> configuration)
      : configuration_(std::move(configuration)) {}

  /// POST without includeUninitialized: blocks until the Pod is initialized (201) or a result is
  /// set (its code). The Pod stays as it is if `stop` comes first (504).
  int create(base::Json pod, const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    const std::string name = name_of(pod);
    pod["metadata"]["namespace"] = "shop";
    pod["metadata"]["uid"] = "uid-" + name;
    for (const std::string& initializer : configuration_) {
      pod["metadata"]["initializers"]["pending"].push_back({{"name", initializer}});
    }
    store(name, std::move(pod), runtime::WatchEventType::Added);
    changed_.wait(lock, stop, [&] { return settled(name); });
    if (const auto failed = failures_.find(name); failed != failures_.end()) {
      return failed->second["code"].get<int>();
    }
    return settled(name) ? 201 : 504;
  }

  /// What a plain list shows.
  [[nodiscard]] std::vector<base::Json> visible() const {
    const std::lock_guard lock(mutex_);
    std::vector<base::Json> found;
    for (const auto& [name, pod] : pods_) {
      if (!waits(pod)) {
        found.push_back(pod);
      }
    }
    return found;
  }

  /// GET by name: shows waiting Pods too.
  [[nodiscard]] std::optional<base::Json> get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(name);
    return found == pods_.end() ? std::nullopt : std::optional(found->second);
  }

  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    erase(name);
  }

  /// Whether the loop's user has the verb.
  void allow_initialize(bool allowed) {
    const std::lock_guard lock(mutex_);
    may_initialize_ = allowed;
  }

  /// Every n-th accepted patch is stored, but its answer gets lost on the way. 0: none.
  void lose_answers(int every) {
    const std::lock_guard lock(mutex_);
    lose_every_ = every;
  }

  void wait_for_patches(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return accepted_ >= count; });
  }

  /// Patches answered by code.
  [[nodiscard]] std::map<int, int> answers() const {
    const std::lock_guard lock(mutex_);
    return answers_;
  }

  [[nodiscard]] base::Json failure_of(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return failures_.at(name);
  }

  base::Result<base::Json> patch(const std::string& /*name_space*/, const std::string& name,
                                 const base::Json& patch,
                                 const std::stop_token& /*stop*/) override {
    const std::lock_guard lock(mutex_);
    const auto found = pods_.find(name);
    if (found == pods_.end()) {
      return refuse(404, base::ErrorCode::NotFound, "not found");
    }
    if (base::text_of(base::find(patch, "metadata", "resourceVersion")) !=
        version_of(found->second)) {
      return refuse(409, base::ErrorCode::Conflict, "the object has been modified");
    }
    return waits(found->second) ? patch_waiting(name, patch) : patch_initialized(name, patch);
  }

  base::Result<runtime::ListPage> list(const runtime::ListOptions& /*options*/,
                                       const std::stop_token& /*stop*/) override {
    const std::lock_guard lock(mutex_);
    runtime::ListPage page;
    for (const auto& [name, pod] : pods_) {
      page.items.push_back(pod);
    }
    page.resource_version = std::to_string(log_.size());
    return page;
  }

  base::Result<std::unique_ptr<runtime::WatchStream>> watch(
      const runtime::WatchOptions& options, const std::stop_token& /*stop*/) override {
    return std::unique_ptr<runtime::WatchStream>(
        std::make_unique<Stream>(*this, std::stoul(options.resource_version)));
  }

 private:
  class Stream final : public runtime::WatchStream {
   public:
    Stream(FakeInitializerApi& api, std::size_t from)
        : api_(api),
          from_(from) {}

    base::Result<std::optional<runtime::WatchEvent>> next(const std::stop_token& stop) override {
      std::unique_lock lock(api_.mutex_);
      if (!api_.changed_.wait(lock, stop, [&] { return from_ < api_.log_.size(); })) {
        return base::Error{base::ErrorCode::Cancelled, "stopped"};
      }
      return std::optional(api_.log_[from_++]);
    }

   private:
    FakeInitializerApi& api_;
    std::size_t from_;
  };

  static std::string name_of(const base::Json& pod) {
    return std::string(base::text_of(base::find(pod, "metadata", "name")));
  }

  static std::string version_of(const base::Json& pod) {
    return std::string(base::text_of(base::find(pod, "metadata", "resourceVersion")));
  }

  static bool waits(const base::Json& pod) {
    return base::find(pod, "metadata", "initializers") != nullptr;
  }

  bool settled(const std::string& name) const {
    const auto found = pods_.find(name);
    return found == pods_.end() || !waits(found->second);
  }

  base::Error refuse(int code, base::ErrorCode kind, std::string message) {
    ++answers_[code];
    return {kind, std::move(message)};
  }

  base::Result<base::Json> patch_initialized(const std::string& name, const base::Json& patch) {
    if (base::find(patch, "metadata", "initializers") != nullptr) {
      return refuse(422, base::ErrorCode::InvalidInput,
                    "field is immutable once initialization has completed");
    }
    if (base::find(patch, "spec") != nullptr) {
      return refuse(422, base::ErrorCode::InvalidInput,
                    "pod updates may not add or remove containers");
    }
    return accept(name, merged(pods_.at(name), patch));
  }

  base::Result<base::Json> patch_waiting(const std::string& name, const base::Json& patch) {
    if (!may_initialize_) {
      return refuse(403, base::ErrorCode::Forbidden, "update to uninitialized resource denied");
    }
    base::Json pod = merged(pods_.at(name), patch);
    if (mounts_nothing(pod)) {
      return refuse(422, base::ErrorCode::InvalidInput, "volumeMounts[0].name: Not found");
    }
    const base::Json* result = base::find(std::as_const(pod), "metadata", "initializers", "result");
    if (result != nullptr) {
      failures_[name] = *result;
      ++answers_[200];
      ++accepted_;
      erase(name);
      return pod;
    }
    if (pod["metadata"]["initializers"]["pending"].empty()) {
      pod["metadata"].erase("initializers");
    }
    return accept(name, std::move(pod));
  }

  base::Result<base::Json> accept(const std::string& name, base::Json pod) {
    ++answers_[200];
    ++accepted_;
    store(name, pod, runtime::WatchEventType::Modified);
    if (lose_every_ > 0 && accepted_ % lose_every_ == 0) {
      return base::Error{base::ErrorCode::Unavailable, "connection reset"};
    }
    return pod;
  }

  // pending is merged by name; 1.20's schema, which we have, no longer knows the field.
  static base::Json merged(const base::Json& pod, const base::Json& patch) {
    base::Json rest = patch;
    rest["metadata"].erase("initializers");
    base::Json result = patch::apply_strategic(pod, rest, *patch::schema_for_kind("Pod")).value();
    const base::Json* change = base::find(patch, "metadata", "initializers");
    if (change == nullptr) {
      return result;
    }
    base::Json& initializers = result["metadata"]["initializers"];
    if (const base::Json* failure = base::find(*change, "result")) {
      initializers["result"] = *failure;
    }
    if (const base::Json* entries = base::find(*change, "pending")) {
      for (const base::Json& entry : *entries) {
        drop(initializers["pending"], entry);
      }
    }
    return result;
  }

  static void drop(base::Json& pending, const base::Json& entry) {
    base::Json kept = base::Json::array();
    for (const base::Json& each : pending) {
      if (base::text_of(base::find(entry, "$patch")) != "delete" ||
          base::text_of(base::find(each, "name")) != base::text_of(base::find(entry, "name"))) {
        kept.push_back(each);
      }
    }
    pending = std::move(kept);
  }

  static bool mounts_nothing(const base::Json& pod) {
    std::set<std::string> volumes;
    if (const base::Json* list = base::find(pod, "spec", "volumes")) {
      for (const base::Json& volume : *list) {
        volumes.emplace(base::text_of(base::find(volume, "name")));
      }
    }
    for (const base::Json& container : *base::find(pod, "spec", "containers")) {
      const base::Json* mounts = base::find(container, "volumeMounts");
      for (std::size_t place = 0; mounts != nullptr && place < mounts->size(); ++place) {
        if (!volumes.contains(std::string(base::text_of(base::find((*mounts)[place], "name"))))) {
          return true;
        }
      }
    }
    return false;
  }

  void store(const std::string& name, base::Json pod, runtime::WatchEventType type) {
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    pod["metadata"]["resourceVersion"] = std::to_string(log_.size() + 1);
    log_.push_back({type, pod});
    pods_[name] = std::move(pod);
    changed_.notify_all();
  }

  void erase(const std::string& name) {
    base::Json last = pods_.at(name);
    last["metadata"]["resourceVersion"] = std::to_string(log_.size() + 1);
    log_.push_back({runtime::WatchEventType::Deleted, std::move(last)});
    pods_.erase(name);
    changed_.notify_all();
  }

  const std::vector<std::string> configuration_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, base::Json> pods_;
  std::map<std::string, base::Json> failures_;  // The results, by the name of the Pod they ended.
  std::vector<runtime::WatchEvent> log_;        // The n-th has version n.
  std::map<int, int> answers_;
  int accepted_ = 0;
  int lose_every_ = 0;
  bool may_initialize_ = true;
};

}  // namespace injector::controller::fakes
