// An informer on a thread of its own, and the name of what it follows.

#pragma once

#include <string>
#include <thread>

#include "kube/resource_client.h"
#include "kube/rest_client.h"
#include "runtime/informer.h"
#include "runtime/loop_context.h"

namespace injector::cluster {

struct ObjectName {
  std::string name_space;
  std::string name;
};

/// An informer on its own thread, from construction to destruction.
class RunningInformer {
 public:
  /// The client and the context are not owned and outlive this.
  RunningInformer(kube::RestClient& client, kube::Resource resource, kube::Selection selection,
                  runtime::InformerOptions options, const runtime::LoopContext& loop_context);

  [[nodiscard]] runtime::Informer& informer() noexcept { return informer_; }

  /// Begins to follow the server; handlers are added before.
  void start();

 private:
  kube::ResourceClient server_;
  runtime::Informer informer_;
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace injector::cluster
