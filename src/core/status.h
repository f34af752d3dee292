// The status annotation: what an injected Pod carries so that its injection can be undone exactly,
// and so that anybody can see which template it came from.
//
//   {"template":"sha256:0123456789abcdef","containers":["envoy"],"volumes":["envoy-conf"],
//    "created":["metadata.annotations","spec.volumes"]}

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/decision.h"
#include "core/pod_facts.h"

namespace injector::core {

/// Follows a path of `created` whose parent was there as null: undoing makes it null again.
inline constexpr const char* kWasNull = "=null";

struct Status {
  std::string template_hash;
  std::vector<std::string> containers;
  std::vector<std::string> init_containers;
  std::vector<std::string> volumes;
  std::vector<std::string> image_pull_secrets;
  std::vector<std::string> labels;
  std::vector<std::string> annotations;  // Without the status annotation itself.
  std::vector<std::string> created;      // Parents that were absent: "spec.volumes".
};

/// What `plan`, which has no status annotation yet, is about to do to the Pod of `facts`: one line
/// of JSON; empty lists are left out.
[[nodiscard]] std::string write_status(const PodFacts& facts, const Plan& plan,
                                       std::string_view hash);

/// Reads a parsed annotation value back. Unknown members are ignored: a later version may add some.
[[nodiscard]] base::Result<Status> read_status(const base::Json& value);

}  // namespace injector::core
