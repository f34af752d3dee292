// What has changed and is not in the store yet: a line of keys, each with its changes in order.
//   - a key keeps its place in line; later changes join the earlier ones, so one batch brings a key
//     up to date;
//   - two deletions in a row are one, the one that knows the final state;
//   - a deletion of a key nobody has heard of is dropped;
//   - replace() deletes, with the final state unknown, whatever is in line, in hand or in the store
//     and not in the new list;
//   - resync() skips keys with changes under way: those are newer than the store;
//   - after the first replace() has been worked off comes one batch without changes, marks_sync().
//
// Any thread may fill it; one thread takes from it, and writes each batch to the store before it
// lets go of the batch.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "runtime/object.h"
#include "runtime/store.h"

namespace injector::runtime {

enum class DeltaType {
  Added,
  Updated,
  Deleted,
  Replaced,  // In a new list; whether it changed is not known.
  Sync,      // Nothing changed; said again.
};

struct Delta {
  DeltaType type;
  ObjectPtr object;               // Never null. For Deleted the last state seen.
  bool final_state_known = true;  // False only for a deletion found out by a list.
};

class DeltaFifo {
 public:
  /// One key's changes, in hand. Destroying it says that they are in the store.
  class Batch {
   public:
    Batch(Batch&& other) noexcept
        : fifo_(std::exchange(other.fifo_, nullptr)),
          key_(std::move(other.key_)),
          deltas_(std::move(other.deltas_)),
          initial_(other.initial_) {}

    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    Batch& operator=(Batch&&) = delete;

    ~Batch() {
      if (fifo_ != nullptr) {
        fifo_->release(*this);
      }
    }

    [[nodiscard]] const std::string& key() const noexcept { return key_; }

    [[nodiscard]] const std::vector<Delta>& deltas() const noexcept { return deltas_; }

    /// Part of the first list.
    [[nodiscard]] bool initial() const noexcept { return initial_; }

    /// The first list is worked off; there is no key.
    [[nodiscard]] bool marks_sync() const noexcept { return deltas_.empty(); }

   private:
    friend class DeltaFifo;

    Batch(DeltaFifo& fifo, std::string key, std::vector<Delta> deltas, bool initial)
        : fifo_(&fifo),
          key_(std::move(key)),
          deltas_(std::move(deltas)),
          initial_(initial) {}

    DeltaFifo* fifo_;  // Null once moved from.
    std::string key_;
    std::vector<Delta> deltas_;
    bool initial_;
  };

  /// `known` is where the batches end up. Not owned; outlives the queue.
  explicit DeltaFifo(const Store& known)
      : known_(known) {}

  void add(const ObjectPtr& object) INJ_EXCLUDES(mutex_);
  void update(const ObjectPtr& object) INJ_EXCLUDES(mutex_);
  void remove(ObjectPtr object) INJ_EXCLUDES(mutex_);
  void replace(const std::vector<ObjectPtr>& objects) INJ_EXCLUDES(mutex_);
  void resync() INJ_EXCLUDES(mutex_);

  /// Never blocks. The batch before must be gone.
  [[nodiscard]] std::optional<Batch> try_take() INJ_EXCLUDES(mutex_);
  /// Blocks for a batch; empty once `stop` is requested.
  [[nodiscard]] std::optional<Batch> take(const std::stop_token& stop) INJ_EXCLUDES(mutex_);

  /// The batch that marks_sync() has been worked off.
  [[nodiscard]] bool has_synced() const INJ_EXCLUDES(mutex_);

 private:
  using Keys = std::unordered_set<std::string>;

  struct InHand {
    std::string key;
    Delta newest;
  };

  void append(const std::string& key, Delta delta) INJ_REQUIRES(mutex_);
  void append_missing(const Keys& listed) INJ_REQUIRES(mutex_);
  [[nodiscard]] bool knows(const std::string& key) const INJ_REQUIRES(mutex_);
  [[nodiscard]] bool in_hand(const std::string& key) const INJ_REQUIRES(mutex_);
  [[nodiscard]] bool sync_due() const INJ_REQUIRES(mutex_);
  [[nodiscard]] std::optional<Batch> pop() INJ_REQUIRES(mutex_);
  void release(const Batch& batch) INJ_EXCLUDES(mutex_);

  const Store& known_;  // Not owned. Its lock is taken inside ours, never the other way round.

  mutable base::Mutex mutex_;
  std::condition_variable_any arrived_;
  std::unordered_map<std::string, std::vector<Delta>> items_
      INJ_GUARDED_BY(mutex_);                            // No list is empty.
  std::deque<std::string> line_ INJ_GUARDED_BY(mutex_);  // The keys of items_, each once.
  std::optional<InHand> in_hand_ INJ_GUARDED_BY(mutex_);
  bool replaced_ INJ_GUARDED_BY(mutex_) = false;         // There was a replace().
  std::size_t initial_left_ INJ_GUARDED_BY(mutex_) = 0;  // Of the first one, in line or in hand.
  bool synced_ INJ_GUARDED_BY(mutex_) = false;
};

}  // namespace injector::runtime
