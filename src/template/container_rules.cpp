#include <array>
#include <set>
#include <string>

#include <fmt/format.h>

#include "template/rules.h"
#include "template/text_format.h"

namespace injector::templates {
namespace {

using base::Json;
using Names = std::set<std::string, std::less<>>;

constexpr std::array<const char*, 4> kLongRunning = {"livenessProbe", "readinessProbe",
                                                     "startupProbe", "lifecycle"};

bool is_native_sidecar(const Json& container) {
  return text_at(container, "restartPolicy") == "Always";
}

void check_unique(const Json& item, const Place& place, Names& names, Findings& findings) {
  const std::string_view name = text_at(item, "name");
  if (!name.empty() && !names.emplace(name).second) {
    findings.problem(place.member("name"), fmt::format("{} is there twice", quoted(name)));
  }
}

// Ports.

std::int64_t number_at(const Json& object, std::string_view field) {
  const Json* number = base::find(object, field);
  return number != nullptr && number->is_number_integer() ? number->get<std::int64_t>() : 0;
}

std::string protocol_of(const Json& port) {
  const std::string_view protocol = text_at(port, "protocol");
  return protocol.empty() ? "TCP" : std::string(protocol);
}

void check_host_port(const Json& port, const Place& place, Names& host_ports, Findings& findings) {
  const std::int64_t number = number_at(port, "hostPort");
  const std::string_view address = text_at(port, "hostIP");
  if (number == 0) {
    if (!address.empty()) {
      findings.warning(place.member("hostIP"), "has no effect without hostPort");
    }
    return;
  }
  if (!host_ports.insert(fmt::format("{}/{}/{}", protocol_of(port), address, number)).second) {
    findings.problem(place.member("hostPort"),
                     fmt::format("{} is taken twice for {}", number, protocol_of(port)));
  }
}

// `host_ports` and `ports` are those of the containers that run at the same time.
void check_ports(const Json& container, const Place& place, Names& host_ports, Names& ports,
                 Findings& findings) {
  Names names;
  each_item(container, "ports", place, [&](const Json& port, const Place& where) {
    check_unique(port, where, names, findings);
    check_host_port(port, where, host_ports, findings);
    const std::int64_t number = number_at(port, "containerPort");
    if (number != 0 && !ports.insert(fmt::format("{}/{}", number, protocol_of(port))).second) {
      findings.warning(
          where.member("containerPort"),
          fmt::format("{}/{} is there twice: the containers of a Pod share their ports", number,
                      protocol_of(port)));
    }
  });
}

// Variables.

// A value that uses the earlier one extends it; any other hides it.
void check_hidden(const Json& variable, const Place& place, Names& names, Findings& findings) {
  const std::string_view name = text_at(variable, "name");
  const bool extends =
      text_at(variable, "value").find(fmt::format("$({})", name)) != std::string_view::npos;
  if (!name.empty() && !names.emplace(name).second && !extends) {
    findings.warning(place.member("name"),
                     fmt::format("{} is there twice: the last one wins", quoted(name)));
  }
}

void check_variable(const Json& variable, const Place& place, Findings& findings) {
  const std::string_view name = text_at(variable, "name");
  if (!name.empty() && objection(Format::EnvName, name).empty() && !is_old_env_name(name)) {
    findings.warning(place.member("name"),
                     fmt::format("{} is refused by Kubernetes before 1.32", quoted(name)));
  }
  const Json* source = base::find(variable, "valueFrom");
  if (source == nullptr) {
    return;
  }
  if (!text_at(variable, "value").empty()) {
    findings.problem(place.member("valueFrom"), "is there together with value: keep one of them");
  }
  if (const Json* reference = base::find(*source, "resourceFieldRef")) {
    check_divisor(*reference, place.member("valueFrom").member("resourceFieldRef"), findings);
  }
}

void check_variables(const Json& container, const Place& place, Findings& findings) {
  Names names;
  each_item(container, "env", place, [&](const Json& variable, const Place& where) {
    check_variable(variable, where, findings);
    check_hidden(variable, where, names, findings);
  });
}

// Probes and restarts.

void check_grace_period(const Json& container, const Place& place, Findings& findings) {
  if (base::find(container, "readinessProbe", "terminationGracePeriodSeconds") != nullptr) {
    findings.problem(place.member("readinessProbe").member("terminationGracePeriodSeconds"),
                     "is not allowed in a readinessProbe, which never ends a container");
  }
}

void check_restart_rules(const Json& container, const Place& place, Findings& findings) {
  constexpr std::size_t kMaxRules = 20;
  const Json* rules = base::find(container, "restartPolicyRules");
  if (rules == nullptr || !rules->is_array() || rules->empty()) {
    return;
  }
  if (text_at(container, "restartPolicy").empty()) {
    findings.problem(place.member("restartPolicyRules"), "need restartPolicy beside them");
  }
  if (rules->size() > kMaxRules) {
    findings.problem(place.member("restartPolicyRules"),
                     fmt::format("are {}, more than {}", rules->size(), kMaxRules));
  }
}

void check_resize_policy(const Json& container, const Place& place, Findings& findings) {
  Names resources;
  each_item(container, "resizePolicy", place, [&](const Json& policy, const Place& where) {
    const std::string_view resource = text_at(policy, "resourceName");
    if (!resource.empty() && !resources.emplace(resource).second) {
      findings.problem(where.member("resourceName"),
                       fmt::format("{} is there twice", quoted(resource)));
    }
  });
}

void check_init_container(const Json& container, const Place& place, Findings& findings) {
  if (is_native_sidecar(container)) {
    return;
  }
  for (const char* field : kLongRunning) {
    if (base::find(container, field) != nullptr) {
      findings.problem(place.member(field),
                       "is not allowed in an init container, which ends before the others start, "
                       "unless it has restartPolicy: Always");
    }
  }
  if (!text_at(container, "restartPolicy").empty()) {
    findings.warning(place.member("restartPolicy"), "needs Kubernetes 1.35, unless it is Always");
  }
}

void check_regular_container(const Json& container, const Place& place, Findings& findings) {
  if (base::find(container, "restartPolicy") != nullptr) {
    findings.warning(place.member("restartPolicy"),
                     "needs Kubernetes 1.35 in containers: for a native sidecar write it in "
                     "initContainers");
  }
}

// Security contexts.

bool adds_capability(const Json& context, std::string_view capability) {
  const Json* added = base::find(context, "capabilities", "add");
  if (added == nullptr || !added->is_array()) {
    return false;
  }
  for (const Json& name : *added) {
    if (base::text_of(&name) == capability) {
      return true;
    }
  }
  return false;
}

void check_escalation(const Json& context, const Place& place, Findings& findings) {
  if (!is_flag(context, "allowPrivilegeEscalation", false)) {
    return;
  }
  const Place where = place.member("allowPrivilegeEscalation");
  if (is_flag(context, "privileged", true)) {
    findings.problem(where, "cannot be false while privileged is true");
  }
  if (adds_capability(context, "CAP_SYS_ADMIN")) {
    findings.problem(where, "cannot be false while capabilities.add has CAP_SYS_ADMIN");
  }
}

void check_profile(const Json& context, const Place& place, const char* field, Findings& findings) {
  const Json* profile = base::find(context, field);
  if (profile == nullptr || !profile->is_object()) {
    return;
  }
  const Place where = place.member(field).member("localhostProfile");
  const bool localhost = text_at(*profile, "type") == "Localhost";
  if (localhost && text_at(*profile, "localhostProfile").empty()) {
    findings.problem(where, "missing: type Localhost needs it");
  } else if (!localhost && base::find(*profile, "localhostProfile") != nullptr) {
    findings.problem(where, "is only for type Localhost");
  }
}

void check_security(const Json& container, const Place& place, Findings& findings) {
  const Json* context = base::find(container, "securityContext");
  if (context == nullptr) {
    return;
  }
  const Place where = place.member("securityContext");
  check_escalation(*context, where, findings);
  check_profile(*context, where, "seccompProfile", findings);
  check_profile(*context, where, "appArmorProfile", findings);
  const Json* user = base::find(*context, "runAsUser");
  if (is_flag(*context, "runAsNonRoot", true) && user != nullptr && *user == Json(0)) {
    findings.warning(where.member("runAsUser"),
                     "is 0 while runAsNonRoot is true: the container will not start");
  }
}

void check_container(const Json& container, const Place& place, Findings& findings) {
  check_variables(container, place, findings);
  check_grace_period(container, place, findings);
  check_restart_rules(container, place, findings);
  check_resize_policy(container, place, findings);
  check_security(container, place, findings);
  check_resources(container, place, findings);
}

}  // namespace

void check_containers(const Json& root, Findings& findings) {
  Names names;
  Names host_ports;
  Names ports;
  bool any = false;
  each_item(root, "containers", {}, [&](const Json& container, const Place& place) {
    any = true;
    check_unique(container, place, names, findings);
    check_ports(container, place, host_ports, ports, findings);
    check_regular_container(container, place, findings);
    check_container(container, place, findings);
  });
  each_item(root, "initContainers", {}, [&](const Json& container, const Place& place) {
    any = true;
    Names own_host_ports;
    Names own_ports;
    check_unique(container, place, names, findings);
    check_ports(container, place, own_host_ports, is_native_sidecar(container) ? ports : own_ports,
                findings);
    check_init_container(container, place, findings);
    check_container(container, place, findings);
  });
  if (!any) {
    findings.problem({}, "has no container: give at least one in containers or initContainers");
  }
}

}  // namespace injector::templates
