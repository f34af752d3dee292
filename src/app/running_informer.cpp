#include "app/running_informer.h"

#include <utility>

namespace injector::app {

RunningInformer::RunningInformer(kube::RestClient& client, kube::Resource resource,
                                 kube::Selection selection, runtime::InformerOptions options,
                                 const runtime::Ambient& ambient)
    : server_(client, std::move(resource), std::move(selection)),
      informer_(server_, std::move(options), ambient) {}

void RunningInformer::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { informer_.run(stop); });
}

}  // namespace injector::app
