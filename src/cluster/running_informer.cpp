#include "cluster/running_informer.h"

#include <utility>

namespace injector::cluster {

RunningInformer::RunningInformer(kube::RestClient& client, kube::Resource resource,
                                 kube::Selection selection, runtime::InformerOptions options,
                                 const runtime::LoopContext& loop_context)
    : server_(client, std::move(resource), std::move(selection)),
      informer_(server_, std::move(options), loop_context) {}

void RunningInformer::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { informer_.run(stop); });
}

}  // namespace injector::cluster
