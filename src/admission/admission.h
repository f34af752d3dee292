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

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admission/byte_budget.h"
#include "admission/metrics.h"
#include "admission/review.h"
#include "admission/routes.h"
#include "base/log.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"
#include "core/policy.h"
#include "template/store.h"

namespace injector::admission {

/// What is known of a Namespace; null: nothing. Asked only where the Pod itself says nothing. May
/// block, for a bounded time.
using NamespaceLookup =
    std::function<std::shared_ptr<const core::MetaFacts>(const std::string& name)>;

/// What is known of it without waiting, in the same words. Nothing: that takes a NamespaceLookup.
/// Must not block.
using NamespacePeek =
    std::function<std::optional<std::shared_ptr<const core::MetaFacts>>(const std::string& name)>;

/// Tells whoever looks at a Pod's owner that the Pod was refused, or what it is warned of. A
/// ReplicaSet does not show its author what the API server answers. Must not block.
using OwnerNotice = std::function<void(const AdmissionRequest&, const core::Decision&)>;

/// Hears of every decision. Must not block.
using DecisionNotice = std::function<void(const AdmissionRequest&, const core::Decision&)>;

/// What an answer depends on besides the request.
struct AdmissionInputs {
  const templates::TemplateStore& templates;  // Not owned; outlives the Admission.
  core::Policy policy = {};
  NamespaceLookup namespaces = {};  // May be empty,
  OwnerNotice tell_owner = {};      // as may this
  NamespacePeek peek = {};          // and this,
  DecisionNotice observe = {};      // and this.
};

class Admission {
 public:
  /// `metrics` is not owned and outlives this.
  Admission(AdmissionInputs inputs, AdmissionMetrics& metrics, base::Logger log);

  /// May block where the Namespace has to be looked up, or a large review waits for its turn.
  [[nodiscard]] HttpReply answer(std::string_view body) const;

  /// Never blocks. Nothing: this review is one for answer(), and nothing has been counted or logged
  /// yet.
  [[nodiscard]] std::optional<HttpReply> answer_at_once(std::string_view body) const;

 private:
  using NamespaceFacts = std::shared_ptr<const core::MetaFacts>;

  template <class Answer>
  [[nodiscard]] auto guarded(std::string_view body, const Answer& answer) const
      -> decltype(answer());
  [[nodiscard]] HttpReply answer_in_turn(std::string_view body) const;
  [[nodiscard]] std::optional<HttpReply> answer_now(std::string_view body,
                                                    const NamespacePeek& look_up) const;
  [[nodiscard]] HttpReply finish(const AdmissionRequest& request, const core::Decision& decision,
                                 std::chrono::steady_clock::time_point start) const;
  [[nodiscard]] HttpReply bad_request(const base::Error& error) const;
  [[nodiscard]] core::Decision decide(const AdmissionRequest& request,
                                      const core::MetaFacts* name_space,
                                      const core::TemplateSet& templates) const;
  [[nodiscard]] bool needs_namespace(const AdmissionRequest& request,
                                     const core::TemplateSet& templates) const;
  [[nodiscard]] HttpReply no_template(const AdmissionRequest& request) const;
  void log(const AdmissionRequest& request, const core::Decision& decision, double seconds) const;

  void tell_owner(const AdmissionRequest& request, const core::Decision& decision) const;

  const AdmissionInputs inputs_;
  AdmissionMetrics& metrics_;
  const base::Logger log_;
  mutable ByteBudget large_;
};

}  // namespace injector::admission
