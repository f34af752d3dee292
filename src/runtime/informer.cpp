#include "runtime/informer.h"

#include <algorithm>
#include <thread>
#include <utility>

namespace injector::runtime {
namespace {

constexpr base::Duration kShortestResync{1000};

base::Duration usable_period(base::Duration asked) {
  return asked <= base::Duration(0) ? base::Duration(0) : std::max(asked, kShortestResync);
}

template <class Event>
Subscription::NotificationPtr shared(Event event) {
  return std::make_shared<const Subscription::Notification>(std::move(event));
}

}  // namespace

Informer::Informer(ListerWatcher& server, InformerOptions options, const LoopContext& loop_context)
    : loop_context_(loop_context),
      resync_(usable_period(options.resync)),
      fifo_(store_),
      reflector_(server, fifo_,
                 ReflectorOptions{
                     std::move(options.kind), std::move(options.transform), options.page_size, {}},
                 loop_context) {}

const Subscription& Informer::add_handler(Handler handler) {
  auto subscription = std::make_unique<Subscription>(std::move(handler), loop_context_.log);
  const base::MutexLock lock(mutex_);
  if (!finished_) {
    catch_up(*subscription);
  }
  return *subscriptions_.emplace_back(std::move(subscription));
}

void Informer::catch_up(Subscription& subscription) const {
  for (ObjectPtr& object : store_.list()) {
    subscription.push(shared(Added{std::move(object), true}));
  }
  if (synced_) {
    subscription.push(shared(Subscription::InitialListDone{}));
  }
}

bool Informer::has_synced() const {
  const base::MutexLock lock(mutex_);
  return synced_;
}

bool Informer::wait_for_sync(const std::stop_token& stop) const {
  const base::MutexLock lock(mutex_);
  return changed_.wait(mutex_, stop, [this]() INJ_REQUIRES(mutex_) { return synced_; });
}

void Informer::run(const std::stop_token& stop) {
  {
    const std::jthread reflecting([this](const std::stop_token& inner) { reflector_.run(inner); });
    const std::jthread resyncing([this](const std::stop_token& inner) { resync_forever(inner); });
    consume(stop);
  }
  finish();
}

void Informer::consume(const std::stop_token& stop) {
  while (const auto batch = fifo_.take(stop)) {
    process(*batch);
  }
}

void Informer::resync_forever(const std::stop_token& stop) {
  while (resync_ > base::Duration(0) && loop_context_.sleeper.sleep(resync_, stop)) {
    fifo_.resync();
  }
}

void Informer::process(const DeltaFifo::Batch& batch) {
  const base::MutexLock lock(mutex_);
  if (batch.marks_sync()) {
    synced_ = true;
    tell_all(shared(Subscription::InitialListDone{}));
    changed_.notify_all();
    return;
  }
  for (const Delta& delta : batch.deltas()) {
    tell_all(apply(delta, batch.key(), batch.initial()));
  }
}

Subscription::NotificationPtr Informer::apply(const Delta& delta, const std::string& key,
                                              bool initial) {
  if (delta.type == DeltaType::Deleted) {
    store_.erase(key);
    return shared(Deleted{delta.object, delta.final_state_known});
  }
  ObjectPtr before = store_.put(delta.object);
  if (before == nullptr) {
    return shared(Added{delta.object, initial});
  }
  return shared(Updated{std::move(before), delta.object, delta.type == DeltaType::Sync});
}

void Informer::tell_all(const Subscription::NotificationPtr& notification) {
  for (const auto& subscription : subscriptions_) {
    subscription->push(notification);
  }
}

// Handlers may be in add_handler() right now, so nobody is joined under the lock.
void Informer::finish() {
  for (Subscription* subscription : finish_subscriptions()) {
    subscription->stop();
  }
}

std::vector<Subscription*> Informer::finish_subscriptions() {
  const base::MutexLock lock(mutex_);
  finished_ = true;
  std::vector<Subscription*> all;
  for (const auto& subscription : subscriptions_) {
    all.push_back(subscription.get());
  }
  return all;
}

}  // namespace injector::runtime
