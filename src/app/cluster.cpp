#include "app/cluster.h"

#include <utility>

#include "cli/cluster_template.h"
#include "kube/connect.h"

namespace injector::app {

void ClusterFlags::add_to(CLI::App& command) {
  command.add_option("--kubeconfig", options.kubeconfig,
                     "[default: KUBECONFIG, ~/.kube/config, or the Pod's service account]");
  command.add_option("--context", options.context, "The kubeconfig's context to use");
  command.add_option("--master", options.master,
                     "The API server's address, instead of the kubeconfig's");
}

bool ClusterFlags::of_our_pod() const {
  const auto config = kube::load_config(options, kube::Environment::of_process());
  return config && config.value().context == kube::kInCluster;
}

base::Result<std::unique_ptr<kube::RestClient>> ClusterFlags::connect(
    prometheus::Registry* metrics) const {
  kube::RestOptions rest;
  rest.metrics = metrics;
  return connect(std::move(rest));
}

base::Result<std::unique_ptr<kube::RestClient>> ClusterFlags::connect(
    kube::RestOptions rest) const {
  return kube::connect(options, std::move(rest));
}

base::Result<std::unique_ptr<kube::RestClient>> ClusterFlags::connect_for_command() const {
  kube::RestOptions rest;
  rest.qps = 0;
  rest.timeout = cli::kCommandPatience;
  rest.broken_retry = std::chrono::milliseconds(200);
  return connect(std::move(rest));
}

}  // namespace injector::app
