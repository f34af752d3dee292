// What `check` sees of a cluster: objects that are read, and questions that leave nothing behind.
// Small, so that a test answers them from a table.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"

namespace injector::cli {

class ClusterView {
 public:
  virtual ~ClusterView() = default;

  /// {"major": "1", "minor": "30", "gitVersion": "v1.30.2"}
  [[nodiscard]] virtual base::Result<base::Json> version() = 0;
  [[nodiscard]] virtual base::Result<base::Json> get(const kube::Target& target) = 0;
  [[nodiscard]] virtual base::Result<std::vector<base::Json>> list(const kube::Target& target) = 0;
  /// What would be created; nothing is stored.
  [[nodiscard]] virtual base::Result<base::Json> dry_run(const kube::Target& target,
                                                         const base::Json& object) = 0;
  /// The review that the server answers, with its status.
  [[nodiscard]] virtual base::Result<base::Json> review(const kube::Target& target,
                                                        const base::Json& object) = 0;
};

/// A real cluster. What was read once is not read again. Used by one thread.
class LiveCluster final : public ClusterView {
 public:
  /// `client` is not owned and outlives this.
  explicit LiveCluster(kube::RestClient& client)
      : client_(client) {}

  [[nodiscard]] base::Result<base::Json> version() override;
  [[nodiscard]] base::Result<base::Json> get(const kube::Target& target) override;
  [[nodiscard]] base::Result<std::vector<base::Json>> list(const kube::Target& target) override;
  [[nodiscard]] base::Result<base::Json> dry_run(const kube::Target& target,
                                                 const base::Json& object) override;
  [[nodiscard]] base::Result<base::Json> review(const kube::Target& target,
                                                const base::Json& object) override;

 private:
  kube::RestClient& client_;  // Not owned.
  std::map<std::string, base::Result<base::Json>> read_;
  std::map<std::string, base::Result<std::vector<base::Json>>> listed_;
};

}  // namespace injector::cli
