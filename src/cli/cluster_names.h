// The names that completion offers: contexts of the kubeconfig, and namespaces and objects of the
// cluster that the line is for, asked with a short timeout. Somebody is waiting at a prompt.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/completion.h"
#include "kube/config.h"
#include "kube/rest_client.h"

namespace injector::cli {

class ClusterNames final : public NameSource {
 public:
  using Connect =
      std::function<base::Result<std::unique_ptr<kube::RestClient>>(const ClusterWords& words)>;

  ClusterNames(Connect connect, kube::Environment environment)
      : connect_(std::move(connect)),
        environment_(std::move(environment)) {}

  [[nodiscard]] std::vector<std::string> contexts(const ClusterWords& words) override;
  [[nodiscard]] std::vector<std::string> namespaces(const ClusterWords& words) override;
  [[nodiscard]] std::vector<std::string> objects(const std::string& kind,
                                                 const ClusterWords& words) override;

 private:
  [[nodiscard]] std::vector<std::string> list(kube::RestClient& client, const kube::Target& target);

  const Connect connect_;
  const kube::Environment environment_;
};

}  // namespace injector::cli
