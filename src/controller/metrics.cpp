#include "controller/metrics.h"

#include <string>

namespace injector::controller {
namespace {

template <class Enum>
std::size_t place(Enum value) {
  return static_cast<std::size_t>(value);
}

}  // namespace

std::string_view to_string(WriteResult result) noexcept {
  constexpr std::array<std::string_view, kWriteResults.size()> kNames{"done", "conflict", "gone",
                                                                      "refused", "failed"};
  return kNames.at(place(result));
}

Metrics::Metrics(prometheus::Registry& registry) {
  auto& patches = prometheus::BuildCounter()
                      .Name("envoy_initializer_patches_total")
                      .Help("PATCHes of the control loop by what became of them")
                      .Register(registry);
  auto& evictions = prometheus::BuildCounter()
                        .Name("envoy_initializer_evictions_total")
                        .Help("Evictions of repair by what became of them")
                        .Register(registry);
  for (const WriteResult result : kWriteResults) {
    const prometheus::Labels labels{{"result", std::string(to_string(result))}};
    patches_.at(place(result)) = &patches.Add(labels);
    evictions_.at(place(result)) = &evictions.Add(labels);
  }
  auto& pods = prometheus::BuildGauge()
                   .Name("envoy_initializer_pods")
                   .Help("Pods by what repair found")
                   .Register(registry);
  for (const core::PodState state : kPodStates) {
    pods_.at(place(state)) = &pods.Add({{"state", std::string(core::to_string(state))}});
  }
  contested_ = &prometheus::BuildCounter()
                    .Name("envoy_initializer_contested_objects_total")
                    .Help("Objects given up because another writer keeps removing the sidecar")
                    .Register(registry)
                    .Add({});
}

void Metrics::count_patch(WriteResult result) {
  patches_.at(place(result))->Increment();
}

void Metrics::count_eviction(WriteResult result) {
  evictions_.at(place(result))->Increment();
}

void Metrics::count_contested() {
  contested_->Increment();
}

void Metrics::enter(core::PodState state) {
  pods_.at(place(state))->Increment();
}

void Metrics::leave(core::PodState state) {
  pods_.at(place(state))->Decrement();
}

}  // namespace injector::controller
