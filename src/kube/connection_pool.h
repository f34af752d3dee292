// Idle connections to one API server.
//
// May be called from any thread.

#pragma once

#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kube/connection.h"

namespace injector::kube {

class ConnectionPool {
 public:
  /// An idle connection that is still good and was made with `context`; null: there is none.
  [[nodiscard]] std::unique_ptr<Connection> take(const SslContext& context);

  /// Keeps a connection whose last answer has been read to its end.
  void give_back(std::unique_ptr<Connection> connection);

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    base::TimePoint since;
  };

  [[nodiscard]] std::unique_ptr<Connection> pop(std::vector<Idle>& outdated);

  base::Mutex mutex_;
  std::vector<Idle> idle_ INJ_GUARDED_BY(mutex_);  // The one used last is at the end.
};

}  // namespace injector::kube
