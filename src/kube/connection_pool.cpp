#include "kube/connection_pool.h"

#include <chrono>
#include <utility>

namespace injector::kube {
namespace {

constexpr std::size_t kMaxIdle = 32;
constexpr base::Duration kMaxIdleTime = std::chrono::seconds(90);

}  // namespace

/// `outdated` takes what has been idle too long, to be closed without the lock.
std::unique_ptr<Connection> ConnectionPool::pop(std::vector<Idle>& outdated) {
  const base::TimePoint oldest = std::chrono::steady_clock::now() - kMaxIdleTime;
  const base::MutexLock lock(mutex_);
  if (idle_.empty() || idle_.back().since < oldest) {
    outdated = std::exchange(idle_, {});
    return nullptr;
  }
  std::unique_ptr<Connection> connection = std::move(idle_.back().connection);
  idle_.pop_back();
  return connection;
}

std::unique_ptr<Connection> ConnectionPool::take(const SslContext& context) {
  for (;;) {
    std::vector<Idle> outdated;
    std::unique_ptr<Connection> connection = pop(outdated);
    if (connection == nullptr || (connection->context() == context && connection->healthy())) {
      return connection;
    }
  }
}

void ConnectionPool::give_back(std::unique_ptr<Connection> connection) {
  Idle dropped;  // Closed after the lock is released.
  const base::TimePoint now = std::chrono::steady_clock::now();
  const base::MutexLock lock(mutex_);
  const bool outdated = !idle_.empty() && idle_.front().since < now - kMaxIdleTime;
  if (outdated || idle_.size() == kMaxIdle) {
    dropped = std::move(idle_.front());
    idle_.erase(idle_.begin());
  }
  idle_.push_back({std::move(connection), now});
}

}  // namespace injector::kube
