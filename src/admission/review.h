// AdmissionReview in and out, admission.k8s.io/v1 and v1beta1. Reading takes from the bytes only
// what the decision needs; no document tree is built.
//
// All functions may be called from any thread.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "core/pod_facts.h"

namespace injector::admission {

enum class ReviewVersion { V1, V1Beta1 };

struct AdmissionRequest {
  ReviewVersion version = ReviewVersion::V1;
  std::string uid;
  std::string group;     // Of the resource; empty for core.
  std::string resource;  // "pods"
  std::string sub_resource;
  std::string operation;  // "CREATE"
  std::string name;
  std::string name_space;
  bool dry_run = false;
  std::optional<core::PodFacts> pod;  // Only for the CREATE of a well-formed Pod.
  std::string pod_problem;            // What is wrong with one that is not.
  std::string config_map;             // Only for a written ConfigMap: the object as JSON text.

  [[nodiscard]] bool is_pod() const noexcept { return group.empty() && resource == "pods"; }

  [[nodiscard]] bool is_config_map() const noexcept {
    return group.empty() && resource == "configmaps" && sub_resource.empty();
  }

  [[nodiscard]] bool is_create() const noexcept {
    return operation == "CREATE" && sub_resource.empty();
  }
};

struct AdmissionResponse {
  bool allowed = true;
  std::string patch;    // RFC 6902 as JSON text; empty: none.
  std::string message;  // Why it is not allowed.
  int code = 0;         // With the message; 0: none.
  std::vector<std::string> warnings;

  // The audit annotations; empty: none. What they point to outlives the response.
  std::string_view reason;
  std::string_view templates;  // Hash, or names and hashes, of what the Pod got.
};

/// InvalidInput says what is wrong with the review: "not JSON: ...", "request.uid: missing".
/// With templates, of the Pod's volumes and containers only what matters to them is kept.
[[nodiscard]] base::Result<AdmissionRequest> read_review(
    std::string_view body, const core::TemplateSet* templates = nullptr);

/// In the version that was asked in, the uid echoed. v1beta1 has no warnings, so they are left out.
[[nodiscard]] std::string write_review(const AdmissionRequest& request,
                                       const AdmissionResponse& response);

}  // namespace injector::admission
