// tests::InitializerModel as a loop sees it, without HTTP. All of it may be used from several
// threads.

#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_text.h"
#include "base/result.h"
#include "cluster/patcher.h"
#include "kube/status.h"
#include "runtime/lister_watcher.h"
#include "tests/support/initializer_model.h"

namespace injector::controller::fakes {

class FakeInitializerApi final : public runtime::ListerWatcher, public cluster::Patcher {
 public:
  /// `configuration`: the initializers of every Pod, in order.
  explicit FakeInitializerApi(const std::vector<std::string>& configuration) {
    model_.configure(configuration);
  }

  [[nodiscard]] tests::InitializerModel& model() noexcept { return model_; }

  /// POST into the Namespace shop without includeUninitialized: blocks until the Pod is initialized
  /// or refused, or `stop`.
  tests::InitializerModel::Answer create(const base::Json& pod, const std::stop_token& stop) {
    return model_.create("shop", pod, {.timeout = std::chrono::minutes(10)}, {}, stop);
  }

  /// What a plain list shows.
  [[nodiscard]] std::vector<base::Json> visible() const { return items({"pods"}); }

  /// GET by name: shows waiting Pods too.
  [[nodiscard]] std::optional<base::Json> get(const std::string& name) const {
    auto answer = model_.get("shop", name);
    return answer.code == 200 ? std::optional(std::move(answer.body)) : std::nullopt;
  }

  /// Whether the loop's user has the verb.
  void allow_initialize(bool allowed) { may_initialize_ = allowed; }

  /// Every n-th accepted patch is stored, but its answer gets lost on the way. 0: none.
  void lose_answers(int every) { lose_every_ = every; }

  base::Result<base::Json> patch(const std::string& name_space, const std::string& name,
                                 const base::Json& patch,
                                 const std::stop_token& /*stop*/) override {
    auto answer = model_.patch(name_space, name, "application/strategic-merge-patch+json",
                               base::write_json(patch), {true, may_initialize_});
    if (answer.code != 200) {
      return kube::to_error(kube::parse_status(answer.body));
    }
    if (const int every = lose_every_; every > 0 && ++accepted_ % every == 0) {
      return base::Error{base::ErrorCode::Unavailable, "connection reset"};
    }
    return std::move(answer.body);
  }

  base::Result<runtime::ListPage> list(const runtime::ListOptions& /*options*/,
                                       const std::stop_token& /*stop*/) override {
    const base::Json list = model_.list({"pods", "", true}).body;
    runtime::ListPage page;
    page.items.assign(list.at("items").begin(), list.at("items").end());
    page.resource_version = base::text_of(base::find(list, "metadata", "resourceVersion"));
    return page;
  }

  base::Result<std::unique_ptr<runtime::WatchStream>> watch(
      const runtime::WatchOptions& options, const std::stop_token& /*stop*/) override {
    return std::unique_ptr<runtime::WatchStream>(
        std::make_unique<Stream>(model_, std::stoul(options.resource_version)));
  }

 private:
  class Stream final : public runtime::WatchStream {
   public:
    Stream(tests::InitializerModel& model, std::size_t from)
        : model_(model),
          cursor_{"pods", "", true, from} {}

    base::Result<std::optional<runtime::WatchEvent>> next(const std::stop_token& stop) override {
      auto event =
          model_.next(cursor_, std::chrono::steady_clock::now() + std::chrono::minutes(10), stop);
      if (!event && stop.stop_requested()) {
        return base::Error{base::ErrorCode::Cancelled, "stopped"};
      }
      return event;
    }

   private:
    tests::InitializerModel& model_;
    tests::InitializerModel::Cursor cursor_;
  };

  [[nodiscard]] std::vector<base::Json> items(const tests::InitializerModel::Cursor& what) const {
    const base::Json list = model_.list(what).body;
    return {list.at("items").begin(), list.at("items").end()};
  }

  tests::InitializerModel model_;
  std::atomic<bool> may_initialize_ = true;
  std::atomic<int> lose_every_ = 0;
  std::atomic<int> accepted_ = 0;
};

}  // namespace injector::controller::fakes
