#include "runtime/object_loop.h"

#include <thread>
#include <utility>

namespace injector::runtime {
namespace {

// For run_once(): 0.2 s, 0.4 s, ... in all six seconds, in which a watch has caught up.
constexpr int kAttempts = 6;
constexpr base::Duration kFirstPause{200};

InformerOptions informer_options(const LoopOptions& loop) {
  InformerOptions options;
  options.kind = loop.kind;
  options.transform = loop.transform;
  options.resync = loop.resync;
  return options;
}

// The keys of what changed or is due for a resync; the same version in a new list is neither.
Handler for_each_change(const std::function<void(std::string key)>& sink) {
  return {
      [sink](const Added& event) { sink(key_of(*event.object)); },
      [sink](const Updated& event) {
        if (event.is_resync || event.before->resource_version != event.now->resource_version) {
          sink(key_of(*event.now));
        }
      },
      [sink](const Deleted& event) { sink(key_of(*event.last)); },
  };
}

}  // namespace

ObjectLoop::ObjectLoop(ListerWatcher& server, LoopOptions options, ReconcileObject reconcile,
                       const LoopContext& loop_context)
    : name_(options.name),
      loop_context_(loop_context),
      informer_(server, informer_options(options), loop_context),
      controller_(
          {std::move(options.name), options.workers, options.metrics},
          [this, reconcile = std::move(reconcile)](const std::string& key,
                                                   const std::stop_token& stop) {
            return reconcile(key, informer_.store().get(key), stop);
          },
          loop_context) {
  informer_.add_handler(for_each_change([this](std::string key) { enqueue(std::move(key)); }));
}

void ObjectLoop::run(const std::stop_token& stop) {
  const std::jthread follow([this, &stop] { informer_.run(stop); });
  if (!informer_.wait_for_sync(stop)) {
    return;
  }
  controller_.run(stop);
}

std::size_t ObjectLoop::run_once(const std::stop_token& stop) {
  std::jthread follow([this](const std::stop_token& ended) { informer_.run(ended); });
  const std::stop_callback pass_on(stop, [&follow] { follow.request_stop(); });
  if (!informer_.wait_for_sync(stop)) {
    return 1;
  }
  std::size_t failures = 0;
  for (const ObjectPtr& object : informer_.store().list()) {
    failures += reconcile_patiently(key_of(*object), stop) ? 0U : 1U;
  }
  return failures;
}

bool ObjectLoop::reconcile_patiently(const std::string& key, const std::stop_token& stop) {
  Outcome outcome;
  base::Duration pause = kFirstPause;
  for (int attempt = 0; attempt < kAttempts && !stop.stop_requested(); ++attempt) {
    outcome = controller_.reconcile_now(key, stop);
    if (outcome.kind != Outcome::Kind::Retry) {
      break;
    }
    static_cast<void>(loop_context_.sleeper.sleep(pause, stop));
    pause *= 2;
  }
  const bool ended = !stop.stop_requested() && outcome.kind != Outcome::Kind::Retry &&
                     outcome.kind != Outcome::Kind::GiveUp;
  if (!ended) {
    loop_context_.log.error("not done",
                            {{"controller", name_}, {"key", key}, {"why", outcome.why}});
  }
  return ended;
}

void ObjectLoop::enqueue_all() {
  enqueue_each(informer_.store().list());
}

void ObjectLoop::enqueue_namespace(std::string_view name_space) {
  enqueue_each(informer_.store().list_namespace(name_space));
}

void ObjectLoop::enqueue_each(const std::vector<ObjectPtr>& objects) {
  for (const ObjectPtr& object : objects) {
    enqueue(key_of(*object));
  }
}

}  // namespace injector::runtime
