// POST /validate: looks at a template before it is stored. An AdmissionReview of our ConfigMap is
// refused if the template in it cannot be used, with everything that is wrong with it; all other
// objects, and what is deleted, are allowed. No sockets in here.
//
// Called concurrently.

#pragma once

#include <string>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include "admission/review.h"
#include "admission/routes.h"
#include "base/log.h"
#include "template/parser.h"

namespace injector::admission {

/// The ConfigMap with the template. Without a name there is none: everything is allowed.
struct TemplateConfigMapName {
  std::string name_space;
  std::string name;
};

class Validation {
 public:
  /// `metrics` is not owned and outlives this. Counts
  /// envoy_initializer_validation_requests_total{outcome}.
  Validation(TemplateConfigMapName ours, templates::TemplateOptions options,
             prometheus::Registry& metrics, base::Logger log);

  [[nodiscard]] HttpReply answer(std::string_view body) const;

 private:
  [[nodiscard]] bool concerns_us(const AdmissionRequest& request) const;
  [[nodiscard]] AdmissionResponse judge(const AdmissionRequest& request) const;

  const TemplateConfigMapName ours_;
  const templates::TemplateOptions options_;
  const base::Logger log_;
  prometheus::Counter& allowed_;
  prometheus::Counter& denied_;
  prometheus::Counter& bad_requests_;
};

}  // namespace injector::admission
