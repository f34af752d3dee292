#include "http/broadcast.h"

#include <algorithm>
#include <utility>

namespace injector::http {

Broadcast::Broadcast(std::size_t kept)
    : kept_(std::max<std::size_t>(kept, 1)) {}

void Broadcast::publish(std::string message) {
  std::vector<Listener> listeners;
  {
    const base::MutexLock lock(mutex_);
    messages_.push_back(std::move(message));
    ++published_;
    if (messages_.size() > kept_) {
      messages_.pop_front();
    }
    listeners = listeners_;
  }
  for (const Listener& listener : listeners) {
    listener->wake();
  }
}

void Broadcast::add(const Listener& listener) {
  const base::MutexLock lock(mutex_);
  listeners_.push_back(listener);
}

void Broadcast::remove(const Listener& listener) {
  const base::MutexLock lock(mutex_);
  listeners_.erase(std::find(listeners_.begin(), listeners_.end(), listener));
}

bool Broadcast::has_after(std::uint64_t seen) const {
  const base::MutexLock lock(mutex_);
  return published_ > seen;
}

std::string Broadcast::take_after(std::uint64_t& seen) const {
  const base::MutexLock lock(mutex_);
  const std::uint64_t oldest = published_ - messages_.size();
  std::string text;
  for (std::uint64_t at = std::max(seen, oldest); at < published_; ++at) {
    text += messages_[static_cast<std::size_t>(at - oldest)];
  }
  seen = published_;
  return text;
}

Follower::Follower(std::shared_ptr<Broadcast> broadcast, std::shared_ptr<Wakeup> wakeup)
    : broadcast_(std::move(broadcast)),
      wakeup_(std::move(wakeup)) {
  broadcast_->add(wakeup_);
}

Follower::~Follower() {
  broadcast_->remove(wakeup_);
}

std::string event_message(std::string_view line) {
  return std::string("data: ").append(line).append("\n\n");
}

}  // namespace injector::http
