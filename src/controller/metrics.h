// What the control loops count. Thread-safe. Labels have few values: never an object's name.

#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "core/pod_state.h"

namespace injector::controller {

/// What became of a write.
enum class WriteResult { Done, Conflict, Gone, Refused, Failed };

[[nodiscard]] std::string_view to_string(WriteResult result) noexcept;

inline constexpr std::array kWriteResults{WriteResult::Done, WriteResult::Conflict,
                                          WriteResult::Gone, WriteResult::Refused,
                                          WriteResult::Failed};
inline constexpr std::array kPodStates{core::PodState::NotAsked, core::PodState::Injected,
                                       core::PodState::Outdated, core::PodState::Missing};

/// envoy_initializer_patches_total{result}, envoy_initializer_contested_objects_total,
/// envoy_initializer_pods{state} and envoy_initializer_evictions_total{result}.
class Metrics {
 public:
  /// `registry` outlives this.
  explicit Metrics(prometheus::Registry& registry);

  void count_patch(WriteResult result);
  void count_eviction(WriteResult result);
  /// Another writer keeps taking the sidecar out of an object; we gave up on it.
  void count_contested();
  /// A Pod came into `state`, or left it.
  void enter(core::PodState state);
  void leave(core::PodState state);

 private:
  // By the value of the enumerator.
  std::array<prometheus::Counter*, kWriteResults.size()> patches_{};
  std::array<prometheus::Counter*, kWriteResults.size()> evictions_{};
  std::array<prometheus::Gauge*, kPodStates.size()> pods_{};
  prometheus::Counter* contested_;
};

}  // namespace injector::controller
