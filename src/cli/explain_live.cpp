#include "cli/explain_live.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/objects.h"
#include "core/decide.h"
#include "core/opt_in.h"
#include "core/remove.h"
#include "core/workload.h"

namespace injector::cli {
namespace {

using base::Json;
using core::Outcome;
using core::PodState;

struct Subject {
  core::PodPath path;
  const Json& pod;
  std::optional<core::Status> status;
};

base::Result<Subject> open_subject(const Json& object, const core::Policy& policy) {
  const auto path = core::pod_path(object);
  if (!path) {
    return base::invalid("no Pod and no pod template in it");
  }
  const Json* pod = core::pod_at(object, *path);
  if (pod == nullptr) {
    return base::invalid(fmt::format("{}: missing", path->dotted));
  }
  INJ_ASSIGN(auto status, core::injection_status(*pod, policy));
  return Subject{*path, *pod, std::move(status)};
}

std::string stored_state(const Subject& subject, const core::TemplateSet& templates,
                         std::string_view name_space) {
  if (!subject.status) {
    return "not injected: it has no status annotation";
  }
  const bool current = core::is_current(*subject.status, templates, name_space);
  return fmt::format(
      "injected from template {}, {}", subject.status->versions(),
      current ? "which is the current one"
              : fmt::format("outdated: the current one is {}",
                            core::current_versions(*subject.status, templates, name_space)));
}

PodState state_of(const Subject& subject, const core::Decision& decision,
                  const core::TemplateSet& templates, std::string_view name_space) {
  if (subject.status) {
    return core::is_current(*subject.status, templates, name_space) ? PodState::Injected
                                                                    : PodState::Outdated;
  }
  if (decision.reason == core::Reason::AlreadyInitialized) {
    return PodState::Injected;
  }
  return decision.outcome == Outcome::Skip ? PodState::NotAsked : PodState::Missing;
}

bool is_pod(const Subject& subject) {
  return subject.path.pointer.empty();
}

// The Pod as its creator sent it, as far as the registration looks at it.
Json pod_for_request(const Json& bare, const std::string& name_space) {
  Json pod = bare;
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["namespace"] = name_space;
  return pod;
}

void add_calls(const Json& bare, const LiveObject& live, const Registration& registration,
               LiveReport& report) {
  const Json pod = pod_for_request(bare, report.name_space);
  const PodRequest request{pod, report.name_space,
                           live.name_space.is_null() ? nullptr : &live.name_space};
  for (const RegisteredWebhook& webhook : registration.webhooks) {
    report.calls.emplace_back(webhook.title, would_call(webhook.entry, request));
    if (!webhook.ca_bundle.empty()) {
      report.notes.push_back(fmt::format("{}: caBundle: {}", webhook.title, webhook.ca_bundle));
    }
  }
  if (!registration.note.empty()) {
    report.notes.push_back(registration.note);
  }
}

bool any_call(const LiveReport& report, Called called) {
  return std::any_of(report.calls.begin(), report.calls.end(),
                     [called](const auto& call) { return call.second.called == called; });
}

std::string advice_for_missing(const LiveReport& report, const Registration& registration,
                               bool is_a_pod) {
  if (report.calls.empty() && registration.note.empty()) {
    return "no webhook is registered: install it (kubectl apply -k manifests/), or use "
           "--mode workloads or inject";
  }
  const bool distrusted =
      std::any_of(registration.webhooks.begin(), registration.webhooks.end(),
                  [](const RegisteredWebhook& webhook) { return !webhook.ca_trusted; });
  if (distrusted) {
    return "the API server does not accept the webhook's certificate: see caBundle";
  }
  if (!any_call(report, Called::Yes) && !any_call(report, Called::Unknown) &&
      !report.calls.empty()) {
    return "it asks for the sidecar, but the API server does not call the webhook for it";
  }
  return is_a_pod ? "made before the webhook was there, or while it was away: delete the Pod to "
                    "have it made anew"
                  : "its Pods get the sidecar when they are made; the workload itself stays as it "
                    "is: see envoy-initializer status";
}

std::string advice_for(const LiveReport& report, const Registration& registration, bool is_a_pod) {
  if (report.decision.outcome == Outcome::Refuse) {
    return "a new Pod is refused: " + report.decision.detail;
  }
  switch (report.state) {
    case PodState::Missing:
      return advice_for_missing(report, registration, is_a_pod);
    case PodState::Outdated:
      return is_a_pod ? "delete the Pod, or restart its workload, to have the current sidecar"
                      : "uninject and inject it again, or run the controller with --rollout";
    case PodState::NotAsked:
    case PodState::Injected:
      break;
  }
  return {};
}

void write_report(const LiveReport& report, std::ostream& out) {
  out << fmt::format("{} in namespace {}\n", report.title, report.name_space);
  out << fmt::format("  if made now:  {}: {} ({})\n", to_string(report.decision.outcome),
                     to_string(report.decision.reason), detail_of(report.decision));
  out << fmt::format("  decided by:   {}\n", to_string(report.decision.rule));
  for (const core::Warning& warning : report.decision.warnings) {
    out << fmt::format("  warning:      {}\n", to_string(warning));
  }
  for (const auto& [title, verdict] : report.calls) {
    out << fmt::format("  webhook:      {}: called: {}{}{}\n", title, to_string(verdict.called),
                       verdict.why.empty() ? "" : ": ", verdict.why);
  }
  for (const std::string& note : report.notes) {
    out << fmt::format("  note:         {}\n", note);
  }
  out << fmt::format("  today:        {}\n", report.stored);
  if (!report.advice.empty()) {
    out << fmt::format("  what to do:   {}\n", report.advice);
  }
}

// A line per object.
void write_wide(const std::vector<LiveReport>& reports, const ListView& view, std::ostream& out) {
  TextTable table({"NAMESPACE", "KIND/NAME", "STATE", "DECISION", "REASON", "RULE", "ADVICE"});
  for (const LiveReport& report : reports) {
    table.add({report.name_space, report.title, std::string(to_string(report.state)),
               std::string(to_string(report.decision.outcome)),
               std::string(to_string(report.decision.reason)),
               std::string(to_string(report.decision.rule)), report.advice});
  }
  table.write(view.headers ? TextTable::Headers::Shown : TextTable::Headers::Hidden, out);
}

void write_table(const std::vector<LiveReport>& reports, const ListView& view, std::ostream& out) {
  if (view.output.format == ListFormat::Wide) {
    write_wide(reports, view, out);
    return;
  }
  for (const LiveReport& report : reports) {
    write_report(report, out);
  }
}

}  // namespace

Json live_report_json(const LiveReport& report) {
  Json object = Json::object();
  object["object"] = report.title;
  object["namespace"] = report.name_space;
  object.update(decision_json(report.decision));
  Json webhooks = Json::array();
  for (const auto& [title, verdict] : report.calls) {
    webhooks.push_back(
        Json({{"webhook", title}, {"called", to_string(verdict.called)}, {"why", verdict.why}}));
  }
  object["webhooks"] = std::move(webhooks);
  object["state"] = to_string(report.state);
  object["stored"] = report.stored;
  object["notes"] = report.notes;
  object["advice"] = report.advice;
  return object;
}

base::Result<LiveReport> explain_live(const LiveObject& live, const Registration& registration,
                                      const DecisionContext& context) {
  INJ_ASSIGN(auto subject, open_subject(live.object, context.policy));
  const Subject& found = subject;
  const Json bare =
      found.status ? core::without_injection(found.pod, *found.status, context.policy) : found.pod;
  const core::MetaFacts name_space = core::meta_facts(live.name_space);
  auto decided = core::decide({live.object, found.path, bare},
                              live.name_space.is_null() ? nullptr : &name_space, context.templates,
                              context.policy);
  if (!decided) {
    return std::move(decided).error();
  }
  LiveReport report;
  report.title = object_title(live.object);
  report.name_space = base::text_of(base::find(live.object, "metadata", "namespace"));
  report.decision = std::move(decided.value().decision);
  report.state = state_of(found, report.decision, context.templates, report.name_space);
  report.stored = stored_state(found, context.templates, report.name_space);
  add_calls(bare, live, registration, report);
  if (!live.name_space_note.empty()) {
    report.notes.push_back(live.name_space_note);
  }
  report.advice = advice_for(report, registration, is_pod(found));
  return report;
}

void write_live_reports(const std::vector<LiveReport>& reports,
                        const std::vector<std::string>& failures,
                        const std::string& template_source, const ListView& view,
                        std::ostream& out) {
  if (view.output.format == ListFormat::Name) {
    for (const LiveReport& report : reports) {
      out << report.title << "\n";
    }
    return;
  }
  if (view.output.is_table()) {
    if (view.headers) {
      out << "template: " << template_source << "\n";
    }
    write_table(reports, view, out);
    return;
  }
  Json document = Json::object();
  document["template"] = template_source;
  document["objects"] = Json::array();
  for (const LiveReport& report : reports) {
    document["objects"].push_back(live_report_json(report));
  }
  document["failures"] = failures;
  write_document(document, view.output, out);
}

}  // namespace injector::cli
