#include "webhook/admission.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "core/inject.h"
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
  response.audit_annotations = {{"reason", std::string(to_string(decision.reason))},
                                {"template", tpl.hash}};
  for (const core::Warning& warning : decision.warnings) {
    response.warnings.push_back(fmt::format("{}: {}", to_string(warning.code), warning.message));
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
    metrics_.count_failure(AdmissionFailure::BadRequest);
    log_.warn("bad admission request", {{"error", request.error().message}});
    return plain_text(kBadRequest, request.error().message);
  }
  const auto tpl = inputs_.templates.current();
  if (tpl == nullptr) {
    metrics_.count_failure(AdmissionFailure::NoTemplate);
    log_.warn("admission without a template", {{"uid", request.value().uid}});
    return plain_text(kUnavailable, "no template yet");
  }
  const Decision decision = decide(request.value(), *tpl);
  HttpReply reply{200, write_review(request.value(), response_to(request.value(), decision, *tpl))};
  const double seconds = seconds_since(start);
  metrics_.count(decision.outcome, decision.reason, seconds);
  log_.info("admission", {{"namespace", request.value().name_space},
                          {"name", name_of(request.value())},
                          {"owner", owner_of(request.value())},
                          {"outcome", to_string(decision.outcome)},
                          {"reason", to_string(decision.reason)},
                          {"detail", decision.detail},
                          {"dry_run", request.value().dry_run},
                          {"uid", request.value().uid},
                          {"seconds", seconds}});
  tell_owner(request.value(), decision);
  return reply;
}

void Admission::tell_owner(const AdmissionRequest& request, const Decision& decision) const {
  const bool worth_a_word =
      decision.outcome == Outcome::Refuse || decision.reason == Reason::UnrecognizedValue;
  const bool has_owner = request.pod && !request.pod->owner.name.empty();
  if (inputs_.tell_owner && worth_a_word && has_owner && !request.dry_run) {
    inputs_.tell_owner(request, decision);
  }
}

Decision Admission::decide(const AdmissionRequest& request, const core::Template& tpl) const {
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
  const auto name_space = inputs_.namespaces ? inputs_.namespaces(request.name_space) : nullptr;
  return core::inject(*request.pod, name_space.get(), tpl, inputs_.policy);
}

}  // namespace injector::webhook
