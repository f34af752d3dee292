#include "admission/admission.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>

#include "base/echo.h"
#include "base/printable.h"
#include "core/inject.h"
#include "core/opt_in.h"
#include "core/render.h"

namespace injector::admission {
namespace {

using core::Decision;
using core::Outcome;
using core::Reason;
using SteadyTime = std::chrono::steady_clock;

constexpr int kBadRequest = 400;
constexpr int kUnprocessable = 422;
constexpr int kTooManyRequests = 429;
constexpr int kUnavailable = 503;

// Reviews of ordinary Pods have a few kilobytes.
constexpr std::size_t kLargeReview = std::size_t{64} << 10U;
constexpr std::size_t kLargeBytesAtOnce = std::size_t{2} << 20U;
constexpr std::chrono::seconds kTurnPatience{2};

HttpReply plain_text(int status, std::string_view text) {
  return {status, std::string(text) + "\n", "text/plain; charset=utf-8"};
}

Decision left_alone(Reason reason, std::string detail) {
  Decision decision;
  decision.reason = reason;
  decision.detail = std::move(detail);
  return decision;
}

// "sha256:..." of the default template alone, else "envoy=sha256:... otel=sha256:...".
// Points into the plan or into `several`.
std::string_view versions_of(const core::Plan& plan, std::string& several) {
  if (plan.templates.size() == 1 && plan.templates.front()->name == core::kDefaultTemplate) {
    return plan.templates.front()->hash;
  }
  for (const auto& tpl : plan.templates) {
    several += several.empty() ? "" : " ";
    several += tpl->name + "=" + tpl->hash;
  }
  return several;
}

AdmissionResponse response_to(const AdmissionRequest& request, const Decision& decision,
                              std::string_view versions) {
  AdmissionResponse response;
  response.reason = to_string(decision.reason);
  response.templates = versions;
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

// "ReplicaSet/web-5d4f", without an allocation; empty if there is none.
fmt::memory_buffer owner_of(const AdmissionRequest& request) {
  fmt::memory_buffer text;
  if (request.pod && !request.pod->owner.name.empty()) {
    fmt::format_to(std::back_inserter(text), "{}/{}", request.pod->owner.kind,
                   request.pod->owner.name);
  }
  return text;
}

}  // namespace

Admission::Admission(AdmissionInputs inputs, AdmissionMetrics& metrics, base::Logger log)
    : inputs_(std::move(inputs)),
      metrics_(metrics),
      log_(std::move(log)),
      large_(kLargeBytesAtOnce) {}

template <class Answer>
auto Admission::guarded(std::string_view body, const Answer& answer) const -> decltype(answer()) {
  try {
    return answer();
  } catch (const std::bad_alloc&) {
    metrics_.count_failure(AdmissionFailure::OutOfMemory);
    log_.error("admission: out of memory", {{"bytes", body.size()}});
    return plain_text(kUnavailable, "out of memory");
  }
}

HttpReply Admission::answer(std::string_view body) const {
  return guarded(body, [&] { return answer_in_turn(body); });
}

// A large review takes milliseconds and many bytes: it is never answered at once.
std::optional<HttpReply> Admission::answer_at_once(std::string_view body) const {
  if (body.size() > kLargeReview) {
    return std::nullopt;
  }
  return guarded(body, [&]() -> std::optional<HttpReply> {
    return answer_now(body, [this](const std::string& name) {
      return inputs_.peek ? inputs_.peek(name) : std::nullopt;
    });
  });
}

HttpReply Admission::answer_in_turn(std::string_view body) const {
  const auto ask = [this](const std::string& name) -> std::optional<NamespaceFacts> {
    return inputs_.namespaces(name);
  };
  if (body.size() <= kLargeReview) {
    return *answer_now(body, ask);
  }
  const auto turn = large_.take(body.size(), kTurnPatience);
  if (!turn) {
    metrics_.count_failure(AdmissionFailure::Busy);
    log_.warn("admission: too many large reviews at once", {{"bytes", body.size()}});
    return plain_text(kTooManyRequests, "too many large reviews at once");
  }
  return *answer_now(body, ask);
}

// Nothing if `look_up` is needed and says nothing.
std::optional<HttpReply> Admission::answer_now(std::string_view body,
                                               const NamespacePeek& look_up) const {
  const auto start = SteadyTime::now();
  // Whoever does not ask is skipped whatever the templates; none at all are enough to see it.
  static const core::TemplateSet kNone;
  const auto current = inputs_.templates.current();
  const core::TemplateSet& templates = current ? *current : kNone;
  const auto request = read_review(body, &templates);
  if (!request) {
    return bad_request(request.error());
  }
  std::optional<NamespaceFacts> name_space = NamespaceFacts();
  if (needs_namespace(request.value(), templates)) {
    name_space = look_up(request.value().name_space);
  }
  if (!name_space) {
    return std::nullopt;
  }
  const Decision decision = decide(request.value(), name_space->get(), templates);
  if (!current && decision.reason == Reason::UnknownTemplate) {
    return no_template(request.value());
  }
  return finish(request.value(), decision, start);
}

HttpReply Admission::finish(const AdmissionRequest& request, const Decision& decision,
                            SteadyTime::time_point start) const {
  std::string several;
  const std::string_view versions = versions_of(decision.plan, several);
  HttpReply reply{200, write_review(request, response_to(request, decision, versions))};
  const double seconds = seconds_since(start);
  metrics_.count({request.name_space, decision.outcome, decision.reason, seconds});
  log(request, decision, seconds);
  tell_owner(request, decision);
  if (inputs_.observe) {
    inputs_.observe(request, decision);
  }
  return reply;
}

HttpReply Admission::bad_request(const base::Error& error) const {
  metrics_.count_failure(AdmissionFailure::BadRequest);
  log_.warn("bad admission request", {{"error", error.message}});
  return plain_text(kBadRequest, error.message);
}

HttpReply Admission::no_template(const AdmissionRequest& request) const {
  metrics_.count_failure(AdmissionFailure::NoTemplate);
  log_.warn("admission without a template",
            {{"namespace", base::echoed(request.name_space)},
             {"name", base::echoed(name_of(request))},
             {"owner", base::echoed(fmt::to_string(owner_of(request)))},
             {"uid", base::echoed(request.uid)}});
  return plain_text(kUnavailable, "no template yet");
}

// Most Pods of a cluster ask for nothing, and nobody looks for them in a log.
void Admission::log(const AdmissionRequest& request, const Decision& decision,
                    double seconds) const {
  const bool dull = decision.reason == Reason::NotRequested && decision.warnings.empty();
  if (!log_.enabled(dull ? base::LogLevel::Debug : base::LogLevel::Info)) {
    return;
  }
  const auto write = dull ? &base::Logger::debug : &base::Logger::info;
  const base::Echo name_space(request.name_space);
  const base::Echo name(name_of(request));
  const base::Echo uid(request.uid);
  const auto owner = owner_of(request);
  (log_.*write)("admission", {{"namespace", name_space.text()},
                              {"name", name.text()},
                              {"owner", base::Echo({owner.data(), owner.size()}).text()},
                              {"outcome", to_string(decision.outcome)},
                              {"reason", to_string(decision.reason)},
                              {"detail", decision.detail},
                              {"warnings", core::joined(decision.warnings)},
                              {"dry_run", request.dry_run},
                              {"uid", uid.text()},
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
                           const core::TemplateSet& templates) const {
  if (!request.is_pod()) {
    return left_alone(Reason::NotAPod, fmt::format("resource {}", base::echoed(request.resource)));
  }
  if (!request.is_create()) {
    const std::string operation = base::echoed(request.operation);
    return left_alone(Reason::NotCreate,
                      request.sub_resource.empty()
                          ? operation
                          : operation + " of " + base::echoed(request.sub_resource));
  }
  if (!request.pod) {
    return left_alone(Reason::NotAPod, request.pod_problem);
  }
  return core::inject(*request.pod, name_space, templates, inputs_.policy);
}

// The Pod's own word comes first, and an injected Pod is left alone anyway: then the Namespace does
// not matter, and nobody waits for it, unless templates are chosen by Namespace.
bool Admission::needs_namespace(const AdmissionRequest& request,
                                const core::TemplateSet& templates) const {
  if (!inputs_.namespaces || !request.is_pod() || !request.is_create() || !request.pod) {
    return false;
  }
  const auto& annotations = request.pod->annotations;
  const bool injected = std::any_of(annotations.begin(), annotations.end(), [&](const auto& entry) {
    return inputs_.policy.is_status_key(entry.first);
  });
  if (injected) {
    return false;
  }
  const core::OptIn asked = core::opt_in(*request.pod, nullptr, inputs_.policy);
  const bool own_word = asked.rule != core::Rule::Default;
  return !own_word || (asked.answer == core::Answer::Yes && templates.selects_namespaces());
}

}  // namespace injector::admission
