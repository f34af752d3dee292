#include "runtime/delta_fifo.h"

#include "base/check.h"

namespace injector::runtime {
namespace {

// Two deletions in a row become one; a guess never replaces what is known.
bool merge_deletions(Delta& last, Delta& next) {
  if (last.type != DeltaType::Deleted || next.type != DeltaType::Deleted) {
    return false;
  }
  if (next.final_state_known) {
    last = std::move(next);
  }
  return true;
}

Delta guessed_deletion(ObjectPtr last_seen) {
  return {DeltaType::Deleted, std::move(last_seen), false};
}

}  // namespace

void DeltaFifo::add(const ObjectPtr& object) {
  const base::MutexLock lock(mutex_);
  append(key_of(*object), {DeltaType::Added, object});
}

void DeltaFifo::update(const ObjectPtr& object) {
  const base::MutexLock lock(mutex_);
  append(key_of(*object), {DeltaType::Updated, object});
}

void DeltaFifo::remove(ObjectPtr object) {
  const std::string key = key_of(*object);
  const base::MutexLock lock(mutex_);
  if (knows(key)) {
    append(key, {DeltaType::Deleted, std::move(object)});
  }
}

void DeltaFifo::replace(const std::vector<ObjectPtr>& objects) {
  const base::MutexLock lock(mutex_);
  Keys listed;
  for (const ObjectPtr& object : objects) {
    const std::string key = key_of(*object);
    append(key, {DeltaType::Replaced, object});
    listed.insert(key);
  }
  append_missing(listed);
  if (!replaced_) {
    replaced_ = true;
    initial_left_ = line_.size();
    arrived_.notify_one();
  }
}

void DeltaFifo::append_missing(const Keys& listed) {
  for (auto& [key, deltas] : items_) {
    if (!listed.contains(key)) {
      append(key, guessed_deletion(deltas.back().object));
    }
  }
  // What is in hand is newer than the store, so it goes first.
  if (in_hand_.has_value() && in_hand_->newest.type != DeltaType::Deleted &&
      !listed.contains(in_hand_->key) && !items_.contains(in_hand_->key)) {
    append(in_hand_->key, guessed_deletion(in_hand_->newest.object));
  }
  for (const ObjectPtr& object : known_.list()) {
    const std::string key = key_of(*object);
    if (!listed.contains(key) && !items_.contains(key) && !in_hand(key)) {
      append(key, guessed_deletion(object));
    }
  }
}

void DeltaFifo::resync() {
  const base::MutexLock lock(mutex_);
  for (const ObjectPtr& object : known_.list()) {
    const std::string key = key_of(*object);
    if (!items_.contains(key) && !in_hand(key)) {
      append(key, {DeltaType::Sync, object});
    }
  }
}

std::optional<DeltaFifo::Batch> DeltaFifo::try_take() {
  const base::MutexLock lock(mutex_);
  return pop();
}

std::optional<DeltaFifo::Batch> DeltaFifo::take(const std::stop_token& stop) {
  const base::MutexLock lock(mutex_);
  arrived_.wait(mutex_, stop,
                [this]() INJ_REQUIRES(mutex_) { return sync_due() || !line_.empty(); });
  if (stop.stop_requested()) {
    return std::nullopt;
  }
  return pop();
}

bool DeltaFifo::has_synced() const {
  const base::MutexLock lock(mutex_);
  return synced_;
}

void DeltaFifo::append(const std::string& key, Delta delta) {
  std::vector<Delta>& deltas = items_[key];
  if (deltas.empty()) {
    line_.push_back(key);
  } else if (merge_deletions(deltas.back(), delta)) {
    return;
  }
  deltas.push_back(std::move(delta));
  arrived_.notify_one();
}

bool DeltaFifo::knows(const std::string& key) const {
  if (items_.contains(key)) {
    return true;
  }
  if (in_hand(key)) {
    return in_hand_->newest.type != DeltaType::Deleted;
  }
  return known_.get(key) != nullptr;
}

bool DeltaFifo::in_hand(const std::string& key) const {
  return in_hand_.has_value() && in_hand_->key == key;
}

bool DeltaFifo::sync_due() const {
  return replaced_ && initial_left_ == 0 && !synced_;
}

std::optional<DeltaFifo::Batch> DeltaFifo::pop() {
  INJ_CHECK(!in_hand_.has_value());
  if (sync_due()) {
    return Batch(*this, {}, {}, false);
  }
  if (line_.empty()) {
    return std::nullopt;
  }
  auto item = items_.extract(line_.front());
  line_.pop_front();
  in_hand_ = InHand{item.key(), item.mapped().back()};
  return Batch(*this, std::move(item.key()), std::move(item.mapped()), initial_left_ > 0);
}

void DeltaFifo::release(const Batch& batch) {
  const base::MutexLock lock(mutex_);
  in_hand_.reset();
  if (batch.marks_sync()) {
    synced_ = true;
  } else if (batch.initial()) {
    --initial_left_;
  }
}

}  // namespace injector::runtime
