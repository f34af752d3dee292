// Tries a template on the API server: a dry run of a Pod with it. What the linter does not know,
// the server does.

#pragma once

#include <stop_token>
#include <string>

#include "core/policy.h"
#include "core/template.h"
#include "core/template_probe.h"
#include "kube/rest_client.h"

namespace injector::cluster {

/// The Pod is made in `name_space`, and never stored. Takes 5 s at the most; a server that does not
/// answer, may not be asked, or is too old for dry runs leaves it undecided.
[[nodiscard]] core::ProbeVerdict try_template(kube::RestClient& client,
                                              const std::string& name_space,
                                              const core::Template& tpl, const core::Policy& policy,
                                              const std::stop_token& stop);

}  // namespace injector::cluster
