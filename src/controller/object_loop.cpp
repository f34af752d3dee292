#include "controller/object_loop.h"

#include <thread>
#include <utility>

namespace injector::controller {
namespace {

runtime::InformerOptions informer_options(const LoopOptions& loop) {
  runtime::InformerOptions options;
  options.kind = loop.kind;
  options.transform = loop.transform;
  return options;
}

// The keys of what changed; the same version again is no change.
runtime::Handler for_each_change(std::function<void(std::string key)> sink) {
  return {
      [sink](const runtime::Added& event) { sink(runtime::key_of(*event.object)); },
      [sink](const runtime::Updated& event) {
        if (event.before->resource_version != event.now->resource_version) {
          sink(runtime::key_of(*event.now));
        }
      },
      [sink](const runtime::Deleted& event) { sink(runtime::key_of(*event.last)); },
  };
}

}  // namespace

ObjectLoop::ObjectLoop(runtime::ListerWatcher& server, LoopOptions options,
                       ReconcileObject reconcile, const runtime::Ambient& ambient)
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
  informer_.add_handler(
      for_each_change([this](std::string key) { controller_.enqueue(std::move(key)); }));
}

void ObjectLoop::run(const std::stop_token& stop) {
  const std::jthread follow([this, &stop] { informer_.run(stop); });
  const std::jthread resync([this, &stop] { resync_forever(stop); });
  controller_.run(stop);
}

void ObjectLoop::enqueue_all() {
  enqueue(informer_.store().list());
}

void ObjectLoop::enqueue_namespace(std::string_view name_space) {
  enqueue(informer_.store().list_namespace(name_space));
}

void ObjectLoop::enqueue(const std::vector<runtime::ObjectPtr>& objects) {
  for (const runtime::ObjectPtr& object : objects) {
    controller_.enqueue(runtime::key_of(*object));
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

}  // namespace injector::controller
