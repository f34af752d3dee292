#include "runtime/object_loop.h"

#include <thread>
#include <utility>

namespace injector::runtime {
namespace {

InformerOptions informer_options(const LoopOptions& loop) {
  InformerOptions options;
  options.kind = loop.kind;
  options.transform = loop.transform;
  return options;
}

// The keys of what changed; the same version again is no change.
Handler for_each_change(const std::function<void(std::string key)>& sink) {
  return {
      [sink](const Added& event) { sink(key_of(*event.object)); },
      [sink](const Updated& event) {
        if (event.before->resource_version != event.now->resource_version) {
          sink(key_of(*event.now));
        }
      },
      [sink](const Deleted& event) { sink(key_of(*event.last)); },
  };
}

}  // namespace

ObjectLoop::ObjectLoop(ListerWatcher& server, LoopOptions options, ReconcileObject reconcile,
                       const Ambient& ambient)
    : resync_(options.resync),
      ambient_(ambient),
      informer_(server, informer_options(options), ambient),
      controller_(
          {std::move(options.name), options.workers, options.metrics},
          [this, reconcile = std::move(reconcile)](const std::string& key,
                                                   const std::stop_token& stop) {
            return reconcile(key, informer_.store().get(key), stop);
          },
          ambient) {
  informer_.add_handler(for_each_change([this](std::string key) { enqueue(std::move(key)); }));
}

void ObjectLoop::run(const std::stop_token& stop) {
  const std::jthread follow([this, &stop] { informer_.run(stop); });
  if (!informer_.wait_for_sync(stop)) {
    return;
  }
  const std::jthread resync([this, &stop] { resync_forever(stop); });
  controller_.run(stop);
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

void ObjectLoop::resync_forever(const std::stop_token& stop) {
  if (resync_ <= base::Duration(0)) {
    return;
  }
  while (ambient_.sleeper.sleep(resync_, stop)) {
    enqueue_all();
  }
}

}  // namespace injector::runtime
