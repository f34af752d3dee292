// Flags, wiring, signals.

#include <chrono>
#include <functional>
#include <iostream>
#include <thread>

#include <CLI/CLI.hpp>

#include "base/signals.h"
#include "kube/connect.h"
#include "kube/event_sink.h"
#include "kube/resource_client.h"
#include "runtime/object_loop.h"
#include "runtime/process_context.h"

#include "file_driver.h"
#include "network_controller.h"

namespace injector::examples {
namespace {

base::Result<void> run(const kube::ConfigOptions& cluster, const runtime::LoopOptions& options,
                       NetworkDriver& driver) {
  const base::SignalQueue signals;  // Before any thread.
  const auto client = kube::connect(cluster, {.user_agent = "network-controller"});
  const auto kept = driver.list();
  if (!client || !kept) {
    return client ? kept.error() : client.error();
  }
  runtime::ProcessContext process_context(
      base::Logger(base::LogFormat::Text, base::LogLevel::Info));
  kube::RestEventSink sink(*client.value());
  runtime::EventRecorder events(sink, {.component = "network-controller"}, process_context.get());
  NetworkController controller(*client.value(), driver, events);

  // Lists and watches, queues the key of what changed, has the workers reconcile it.
  kube::ResourceClient networks(*client.value(), kNetworks, {.name_space = cluster.name_space});
  auto reconcile = std::bind_front(&NetworkController::reconcile, &controller);
  runtime::ObjectLoop loop(networks, options, std::move(reconcile), process_context.get());
  for (const std::string& key : kept.value()) {  // Its object may have gone while nobody looked.
    if (cluster.name_space.empty() || cluster.name_space == runtime::split_key(key).name_space) {
      loop.enqueue(key);
    }
  }
  const std::jthread work([&](const std::stop_token& stop) { loop.run(stop); });
  signals.wait_for_stop();
  return {};  // Each worker finishes what it is at, then the Events are sent.
}

}  // namespace
}  // namespace injector::examples

int main(int argc, char** argv) {
  injector::kube::ConfigOptions cluster;
  injector::runtime::LoopOptions loop{.name = "networks", .kind = "Network", .workers = 2};
  unsigned resync = 30;
  std::string state;
  CLI::App app("Keeps networks as Network objects want them.", "network-controller");
  app.add_option("--kubeconfig", cluster.kubeconfig, "[default: the one kubectl would use]");
  app.add_option("--context", cluster.context, "The kubeconfig's context to use");
  app.add_option("--master", cluster.master, "The API server, instead of the kubeconfig's");
  app.add_option("-n,--namespace", cluster.name_space, "The only one to look at [default: all]");
  app.add_option("--workers", loop.workers, "[default: 2]")->check(CLI::Range(1, 100));
  app.add_option("--resync", resync, "Seconds until all are seen again; 0: never [default: 30]");
  app.add_option("--state", state, "The folder that the networks are kept in")->required();
  CLI11_PARSE(app, argc, argv);
  loop.resync = std::chrono::seconds(resync);
  injector::examples::FileDriver driver(state);
  const auto ended = injector::examples::run(cluster, loop, driver);
  if (!ended) {
    std::cerr << "error: " << ended.error().message << "\n";
  }
  return ended ? 0 : 1;
}
