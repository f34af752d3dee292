#include "runtime/handler.h"

#include <exception>
#include <utility>

namespace injector::runtime {

Subscription::Subscription(Handler handler, base::Logger log)
    : handler_(std::move(handler)),
      log_(std::move(log)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void Subscription::push(NotificationPtr notification) {
  const base::MutexLock lock(mutex_);
  line_.push_back(std::move(notification));
  arrived_.notify_one();
}

void Subscription::stop() {
  thread_.request_stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Subscription::run(const std::stop_token& stop) {
  while (const NotificationPtr notification = next(stop)) {
    deliver(*notification);
  }
}

Subscription::NotificationPtr Subscription::next(const std::stop_token& stop) {
  const base::MutexLock lock(mutex_);
  arrived_.wait(mutex_, stop, [this]() INJ_REQUIRES(mutex_) { return !line_.empty(); });
  if (stop.stop_requested()) {
    return nullptr;
  }
  NotificationPtr notification = std::move(line_.front());
  line_.pop_front();
  return notification;
}

void Subscription::deliver(const Notification& notification) {
  try {
    std::visit([this](const auto& event) { tell(event); }, notification);
  } catch (const std::exception& error) {
    log_.error("event handler threw", {{"error", error.what()}});
  } catch (...) {
    log_.error("event handler threw");
  }
}

void Subscription::tell(const Added& event) const {
  if (handler_.on_add) {
    handler_.on_add(event);
  }
}

void Subscription::tell(const Updated& event) const {
  if (handler_.on_update) {
    handler_.on_update(event);
  }
}

void Subscription::tell(const Deleted& event) const {
  if (handler_.on_delete) {
    handler_.on_delete(event);
  }
}

void Subscription::tell(const InitialListDone& /*mark*/) {
  synced_ = true;
}

}  // namespace injector::runtime
