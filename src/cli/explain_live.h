// explain pod/NAME: what a cluster does with an object that it has. Why the sidecar is there or is
// not: the decision if the Pod were made now, whether the webhook is called at all, and what the
// stored object has today.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/decide.h"
#include "cli/explain_command.h"
#include "cli/streams.h"
#include "cli/webhook_match.h"
#include "core/pod_state.h"

namespace injector::cli {

/// A webhook that is registered for us, and what is known of its certificate.
struct RegisteredWebhook {
  std::string title;       // "envoy-initializer/envoy.initializer.kubernetes.io"
  base::Json entry;        // Of a configuration's `webhooks`.
  std::string ca_bundle;   // One sentence for a person.
  bool ca_trusted = true;  // False: the API server will not accept the certificate.
};

/// What was found in the cluster.
struct LiveObject {
  base::Json object;
  base::Json name_space;        // The Namespace; null: not known.
  std::string name_space_note;  // Why not.
};

struct Registration {
  std::vector<RegisteredWebhook> webhooks;
  std::string note;  // Why nothing is known of them; empty: they are all there is.
};

/// The answer for one object.
struct LiveReport {
  std::string title;
  std::string name_space;
  core::Decision decision;  // If the Pod were made now, without what an earlier injection added.
  core::PodState state = core::PodState::NotAsked;
  std::string stored;                                      // What it has today, in a sentence.
  std::vector<std::pair<std::string, CallVerdict>> calls;  // By webhook.
  std::vector<std::string> notes;
  std::string advice;  // What to do about it; empty: nothing.
};

/// An Error where the object has no Pod in it, or a malformed one. The report points into the
/// context's template.
[[nodiscard]] base::Result<LiveReport> explain_live(const LiveObject& live,
                                                    const Registration& registration,
                                                    const DecisionContext& context);

/// What `-o json` says of one.
[[nodiscard]] base::Json live_report_json(const LiveReport& report);

/// All reports, below the line that names the template: at length, or with -o wide a line for each.
void write_live_reports(const std::vector<LiveReport>& reports,
                        const std::vector<std::string>& failures,
                        const std::string& template_source, const ListView& view,
                        std::ostream& out);

}  // namespace injector::cli
