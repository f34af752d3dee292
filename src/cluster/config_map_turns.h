// Whose Pod was evicted when, in a ConfigMap of ours: the owners' uids, each with the time until
// which its next Pod has to wait.

#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::cluster {

using WallTime = std::chrono::system_clock::time_point;

/// Remembers beyond this process until when an owner's next Pod has to wait. By the owner's uid.
/// May be called from any thread.
class TurnStore {
 public:
  virtual ~TurnStore() = default;

  [[nodiscard]] virtual base::Result<std::map<std::string, WallTime>> load(
      const std::stop_token& stop) = 0;
  /// Sets those that have a time, removes those that have none, and leaves the others alone.
  [[nodiscard]] virtual base::Result<void> write(
      const std::map<std::string, std::optional<WallTime>>& changes,
      const std::stop_token& stop) = 0;
};

/// May be called from any thread. Writers that know nothing of each other keep each other's
/// entries.
class ConfigMapTurns final : public TurnStore {
 public:
  static constexpr const char* kName = "envoy-initializer-evictions";

  /// `client` is not owned and outlives this.
  ConfigMapTurns(kube::RestClient& client, std::string name_space);

  [[nodiscard]] base::Result<std::map<std::string, WallTime>> load(
      const std::stop_token& stop) override;
  /// Makes the ConfigMap where there is none.
  [[nodiscard]] base::Result<void> write(
      const std::map<std::string, std::optional<WallTime>>& changes,
      const std::stop_token& stop) override;

 private:
  kube::RestClient& client_;  // Not owned.
  const kube::Target target_;
};

}  // namespace injector::cluster
