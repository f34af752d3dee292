#include "webhook/admission.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/inject.h"
#include "core/opt_in.h"
#include "core/render.h"

namespace injector::webhook {
namespace {

using codec::AdmissionRequest;
using codec::AdmissionResponse;
using core::Decision;
using core::Outcome;
using core::Reason;
using SteadyTime = std::chrono::steady_clock;

constexpr int kBadRequest = 400;
constexpr int kUnprocessable = 422;
constexpr int kUnavailable = 503;

HttpReply plain_text(int status, std::string_view text) {
  return {status, std::string(text) + "\n", "text/plain; charset=utf-8"};
}

Decision left_alone(Reason reason, std::string detail) {
  Decision decision;
  decision.reason = reason;
  decision.detail = std::move(detail);
  return decision;
}

AdmissionResponse response_to(const AdmissionRequest& request, const Decision& decision,
                              const core::Template& tpl) {
  AdmissionResponse response;
  response.audit_annotations = {{"reason", std::string(to_string(decision.reason))}};
  if (!tpl.hash.empty()) {
    response.audit_annotations.emplace_back("template", tpl.hash);
  }
  for (const core::Warning& warning : decision.warnings) {
    response.warnings.push_back(to_string(warning));
  }
  if (decision.outcome == Outcome::Inject) {
    response.patch = core::json_patch(*request.pod, decision.plan);
  } else if (decision.outcome == Outcome::Refuse) {
    response.allowed = false;
    response.code = kUnprocessable;
    response.message = fmt::format("{}: {}", to_string(decision.reason), decision.detail);
  }
  return response;
}

double seconds_since(SteadyTime::time_point start) {
  return std::chrono::duration<double>(SteadyTime::now() - start).count();
}

// A Pod without a name yet goes by the prefix of the name it will get.
std::string_view name_of(const AdmissionRequest& request) {
  if (request.name.empty() && request.pod) {
    return request.pod->name.empty() ? request.pod->generate_name : request.pod->name;
  }
  return request.name;
}

std::string owner_of(const AdmissionRequest& request) {
  return request.pod ? to_string(request.pod->owner) : std::string();
}

}  // namespace

Admission::Admission(AdmissionInputs inputs, AdmissionMetrics& metrics, base::Logger log)
    : inputs_(std::move(inputs)),
      metrics_(metrics),
      log_(std::move(log)) {}

HttpReply Admission::answer(std::string_view body) const {
  const auto start = SteadyTime::now();
  const auto request = codec::read_review(body);
  if (!request) {
    return bad_request(request.error());
  }
  NamespaceFacts name_space;
  if (needs_namespace(request.value())) {
    name_space = inputs_.namespaces(request.value().name_space);
  }
  return answer(request.value(), name_space.get(), start);
}

std::optional<HttpReply> Admission::answer_at_once(std::string_view body) const {
  const auto start = SteadyTime::now();
  const auto request = codec::read_review(body);
  if (!request) {
    return bad_request(request.error());
  }
  if (!needs_namespace(request.value())) {
    return answer(request.value(), nullptr, start);
  }
  const auto known = inputs_.peek ? inputs_.peek(request.value().name_space) : std::nullopt;
  if (!known) {
    return std::nullopt;
  }
  return answer(request.value(), known->get(), start);
}

HttpReply Admission::bad_request(const base::Error& error) const {
  metrics_.count_failure(AdmissionFailure::BadRequest);
  log_.warn("bad admission request", {{"error", error.message}});
  return plain_text(kBadRequest, error.message);
}

HttpReply Admission::answer(const AdmissionRequest& request, const core::MetaFacts* name_space,
                            SteadyTime::time_point start) const {
  // Whoever does not ask is skipped whatever the template; an empty one is enough to see it.
  static const core::Template kNone;
  const auto current = inputs_.templates.current();
  const core::Template& tpl = current ? *current : kNone;
  const Decision decision = decide(request, name_space, tpl);
  if (!current && decision.outcome != Outcome::Skip) {
    return no_template(request);
  }
  HttpReply reply{200, write_review(request, response_to(request, decision, tpl))};
  const double seconds = seconds_since(start);
  metrics_.count(decision.outcome, decision.reason, seconds);
  log(request, decision, seconds);
  tell_owner(request, decision);
  return reply;
}

HttpReply Admission::no_template(const AdmissionRequest& request) const {
  metrics_.count_failure(AdmissionFailure::NoTemplate);
  log_.warn("admission without a template", {{"namespace", request.name_space},
                                             {"name", name_of(request)},
                                             {"owner", owner_of(request)},
                                             {"uid", request.uid}});
  return plain_text(kUnavailable, "no template yet");
}

// Most Pods of a cluster ask for nothing, and nobody looks for them in a log.
void Admission::log(const AdmissionRequest& request, const Decision& decision,
                    double seconds) const {
  const bool dull = decision.reason == Reason::NotRequested && decision.warnings.empty();
  const auto write = dull ? &base::Logger::debug : &base::Logger::info;
  (log_.*write)("admission", {{"namespace", request.name_space},
                              {"name", name_of(request)},
                              {"owner", owner_of(request)},
                              {"outcome", to_string(decision.outcome)},
                              {"reason", to_string(decision.reason)},
                              {"detail", decision.detail},
                              {"warnings", core::joined(decision.warnings)},
                              {"dry_run", request.dry_run},
                              {"uid", request.uid},
                              {"seconds", seconds}});
}

void Admission::tell_owner(const AdmissionRequest& request, const Decision& decision) const {
  const bool worth_a_word = decision.outcome == Outcome::Refuse || !decision.warnings.empty();
  const bool has_owner = request.pod && !request.pod->owner.name.empty();
  if (inputs_.tell_owner && worth_a_word && has_owner && !request.dry_run) {
    inputs_.tell_owner(request, decision);
  }
}

Decision Admission::decide(const AdmissionRequest& request, const core::MetaFacts* name_space,
                           const core::Template& tpl) const {
  if (!request.is_pod()) {
    return left_alone(Reason::NotAPod, fmt::format("resource {}", request.resource));
  }
  if (!request.is_create()) {
    return left_alone(Reason::NotCreate, request.sub_resource.empty()
                                             ? request.operation
                                             : request.operation + " of " + request.sub_resource);
  }
  if (!request.pod) {
    return left_alone(Reason::NotAPod, request.pod_problem);
  }
  return core::inject(*request.pod, name_space, tpl, inputs_.policy);
}

// The Pod's own word comes first, and an injected Pod is left alone anyway: then the Namespace does
// not matter, and nobody waits for it.
bool Admission::needs_namespace(const AdmissionRequest& request) const {
  if (!inputs_.namespaces || !request.is_pod() || !request.is_create() || !request.pod) {
    return false;
  }
  const bool own_word =
      core::opt_in(*request.pod, nullptr, inputs_.policy).rule != core::Rule::Default;
  const bool injected =
      core::find(request.pod->annotations, inputs_.policy.status_key()) != nullptr;
  return !own_word && !injected;
}

}  // namespace injector::webhook
