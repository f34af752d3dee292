// POST /mutate: the bytes of an AdmissionReview in, status and the bytes of the answer out. No
// sockets in here, and no side effect but log and metrics: a dry run is answered like any other.
//
// Called concurrently.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "codec/review.h"
#include "codec/template_store.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "webhook/admission_metrics.h"
#include "webhook/http.h"

namespace injector::webhook {

/// What is known of a Namespace; null: nothing.
using NamespaceLookup =
    std::function<std::shared_ptr<const core::MetaFacts>(const std::string& name)>;

class Admission {
 public:
  /// The references are not owned and outlive this. `namespaces` may be empty.
  Admission(const codec::TemplateStore& templates, core::Policy policy, NamespaceLookup namespaces,
            AdmissionMetrics& metrics, base::Logger log);

  [[nodiscard]] HttpReply answer(std::string_view body) const;

 private:
  [[nodiscard]] core::Decision decide(const codec::AdmissionRequest& request,
                                      const core::Template& tpl) const;

  const codec::TemplateStore& templates_;
  const core::Policy policy_;
  const NamespaceLookup namespaces_;
  AdmissionMetrics& metrics_;
  const base::Logger log_;
};

}  // namespace injector::webhook
