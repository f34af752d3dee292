// The rules of Kubernetes that involve several fields of a template. What has the wrong type is
// passed over: check_fields reports it. Pure; any thread.

#pragma once

#include "base/json.h"
#include "template/findings.h"

namespace injector::templates {

/// Names, ports, variables, probes, restart policies and security contexts.
void check_containers(const base::Json& root, Findings& findings);

/// What containers mount of the template's volumes.
void check_mounts(const base::Json& root, Findings& findings);

/// Of one container.
void check_resources(const base::Json& container, const Place& place, Findings& findings);

/// `divisor` in a resourceFieldRef.
void check_divisor(const base::Json& reference, const Place& place, Findings& findings);

void check_volumes(const base::Json& root, Findings& findings);

void check_pull_secrets(const base::Json& root, Findings& findings);

/// Labels and annotations.
void check_metadata(const base::Json& root, Findings& findings);

}  // namespace injector::templates
