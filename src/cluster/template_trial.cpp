#include "cluster/template_trial.h"

#include <chrono>
#include <utility>

#include "base/json.h"
#include "base/json_text.h"
#include "kube/discovery.h"
#include "kube/resource.h"

namespace injector::cluster {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kPatience = 5s;

core::ProbeVerdict undecided(std::string why) {
  return {core::ProbeOutcome::Undecided, std::move(why), {}};
}

}  // namespace

core::ProbeVerdict try_template(kube::RestClient& client, const std::string& name_space,
                                const core::Template& tpl, const core::Policy& policy,
                                const std::stop_token& stop) {
  const auto served = kube::serves_dry_run(client, stop);
  if (!served) {
    return undecided(served.error().message);
  }
  const auto path = kube::path_of({kube::kPods, name_space, "", ""});
  if (!served.value() || !path) {
    return undecided(path ? "this API server knows no dry runs" : path.error().message);
  }
  const auto answer =
      client.send({.method = "POST",
                   .path = path.value(),
                   .query = {{"dryRun", "All"}},
                   .content_type = "application/json",
                   .body = base::write_json(core::probe_pod(tpl, name_space, policy)),
                   .timeout = kPatience},
                  stop);
  if (!answer) {
    return undecided(answer.error().message);
  }
  auto body = base::read_json(answer.value().body);
  return core::judge(answer.value().code, body ? std::move(body).value() : base::Json());
}

}  // namespace injector::cluster
