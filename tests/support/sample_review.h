// AdmissionReviews of any size, as an API server sends them for the Pods of a ReplicaSet: for tests
// and benchmarks.

#pragma once

#include <cstddef>
#include <string>

namespace injector::tests {

enum class Asks { No, Yes };

/// The CREATE of a Pod, `bytes` long (at least 4,000): it grows by containers with environment
/// variables, as large Pods do.
[[nodiscard]] std::string sample_review(std::size_t bytes, Asks asks);

/// The Pod in it.
[[nodiscard]] std::string sample_pod(std::size_t bytes, Asks asks);

}  // namespace injector::tests
