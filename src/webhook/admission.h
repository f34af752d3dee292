// POST /mutate: the bytes of an AdmissionReview in, status and the bytes of the answer out. Only a
// Pod that asks needs a template: without one it is answered 503, every other is allowed. No
// sockets in here, and no side effect but log and metrics, and a word to the Pod's owner that a dry
// run leaves out.
//
// What a client wrote comes back bounded, whether in the log, in an Event or in the answer. Large
// reviews take turns, so that any number of them needs the memory of one; ordinary ones never wait.
// Where memory runs out all the same, that one request is answered 503.
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
#include "webhook/byte_budget.h"
#include "webhook/http.h"

namespace injector::webhook {

/// What is known of a Namespace; null: nothing. Asked only where the Pod itself says nothing. May
/// block, for a bounded time.
using NamespaceLookup =
    std::function<std::shared_ptr<const core::MetaFacts>(const std::string& name)>;

/// Tells whoever looks at a Pod's owner that the Pod was refused, or what it is warned of. A
/// ReplicaSet does not show its author what the API server answers. Must not block.
using OwnerNotice = std::function<void(const codec::AdmissionRequest&, const core::Decision&)>;

/// What an answer depends on besides the request.
struct AdmissionInputs {
  const codec::TemplateStore& templates;  // Not owned; outlives the Admission.
  core::Policy policy = {};
  NamespaceLookup namespaces = {};  // May be empty,
  OwnerNotice tell_owner = {};      // as may this.
};

class Admission {
 public:
  /// `metrics` is not owned and outlives this.
  Admission(AdmissionInputs inputs, AdmissionMetrics& metrics, base::Logger log);

  [[nodiscard]] HttpReply answer(std::string_view body) const;

 private:
  [[nodiscard]] HttpReply answer_in_turn(std::string_view body) const;
  [[nodiscard]] HttpReply answer_now(std::string_view body) const;
  [[nodiscard]] core::Decision decide(const codec::AdmissionRequest& request,
                                      const core::Template& tpl) const;
  [[nodiscard]] std::shared_ptr<const core::MetaFacts> namespace_of(
      const codec::AdmissionRequest& request) const;
  [[nodiscard]] HttpReply no_template(const codec::AdmissionRequest& request) const;
  void log(const codec::AdmissionRequest& request, const core::Decision& decision,
           double seconds) const;

  void tell_owner(const codec::AdmissionRequest& request, const core::Decision& decision) const;

  const AdmissionInputs inputs_;
  AdmissionMetrics& metrics_;
  const base::Logger log_;
  mutable ByteBudget large_;
};

}  // namespace injector::webhook
