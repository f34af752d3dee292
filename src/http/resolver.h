// Host names made addresses, so that a stop can end the wait.

#pragma once

#include <memory>
#include <netdb.h>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/until.h"
#include "http/url.h"

namespace injector::http {

struct AddressesFree {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

using Addresses = std::unique_ptr<addrinfo, AddressesFree>;

/// May be called from any thread. Names are looked up by the C library on a thread of its own;
/// addresses at once.
class Resolver {
 public:
  Resolver();
  /// Lookups that still run are left to the C library, which has no way to end them.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  [[nodiscard]] base::Result<Addresses> resolve(const Url& url, const base::Until& until);

 private:
  struct Lookup;

  void abandon(std::unique_ptr<Lookup> lookup);

  base::Mutex mutex_;
  std::vector<std::unique_ptr<Lookup>> abandoned_ INJ_GUARDED_BY(mutex_);  // Maybe still running.
};

}  // namespace injector::http
