// What leader election needs of an API server: one coordination.k8s.io/v1 Lease that is read and
// written under its resource version. The real one is in kube; the fast tests script their own.

#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace injector::runtime {

using WallTime = std::chrono::system_clock::time_point;

/// spec of a Lease. The API has microseconds: how they are written is the client's business.
struct LeaseRecord {
  std::string holder;                // holderIdentity; empty: nobody holds it.
  std::chrono::seconds duration{0};  // leaseDurationSeconds.
  WallTime acquired;                 // acquireTime: the clock of whoever wrote it.
  WallTime renewed;                  // renewTime: the same; only ever compared for equality.
  int transitions = 0;               // leaseTransitions.

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

struct VersionedLease {
  LeaseRecord record;
  std::string resource_version;
};

/// One Lease, named when the client was made. May be called from any thread. Every call returns
/// within `timeout` (Unavailable) and soon after a stop request (Cancelled): a leader that hung in
/// here would go on leading after its lease ran out.
class LeaseClient {
 public:
  virtual ~LeaseClient() = default;

  /// NotFound if there is none yet.
  [[nodiscard]] virtual base::Result<VersionedLease> get(base::Duration timeout,
                                                         const std::stop_token& stop) = 0;

  /// AlreadyExists if somebody was faster. Returns what the server stored.
  [[nodiscard]] virtual base::Result<VersionedLease> create(const LeaseRecord& record,
                                                            base::Duration timeout,
                                                            const std::stop_token& stop) = 0;

  /// Writes the record over the version it was read at, leaving labels and the like alone.
  /// Conflict if somebody else wrote since. Returns what the server stored.
  [[nodiscard]] virtual base::Result<VersionedLease> update(const VersionedLease& lease,
                                                            base::Duration timeout,
                                                            const std::stop_token& stop) = 0;
};

}  // namespace injector::runtime
