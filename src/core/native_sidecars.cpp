#include "core/native_sidecars.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace injector::core {
namespace {

using base::Json;

constexpr int kFirstMinor = 29;

// As patient as can be: a slow start is no failure, and the readiness probe says when it serves.
Json startup_probe(Json readiness) {
  constexpr int kPatience = 120;  // Failures, one each second, before the container is restarted.
  for (const char* field : {"initialDelaySeconds", "successThreshold"}) {
    readiness.erase(field);
  }
  readiness["periodSeconds"] = 1;
  readiness["failureThreshold"] = kPatience;
  return readiness;
}

}  // namespace

std::vector<std::string> native_sidecars(const Template& tpl) {
  std::vector<std::string> names;
  for (const Piece& container : tpl.init_containers) {
    if (base::text_of(base::find(container.value, "restartPolicy")) == "Always") {
      names.push_back(container.name);
    }
  }
  if (tpl.placement == Placement::Native) {
    for (const Piece& container : tpl.containers) {
      names.push_back(container.name);
    }
  }
  return names;
}

bool needs_native_sidecars(const Template& tpl) {
  return !native_sidecars(tpl).empty();
}

bool runs_native(const Template& tpl, NativeSidecars cluster) {
  switch (tpl.placement) {
    case Placement::Container:
      return false;
    case Placement::Native:
      return true;
    case Placement::Auto:
      break;
  }
  return cluster == NativeSidecars::Yes;
}

base::Result<void> check_without_native(const Template& tpl) {
  const auto native = native_sidecars(tpl);
  if (native.empty()) {
    return {};
  }
  if (tpl.placement == Placement::Native) {
    return base::invalid(
        fmt::format("placement: native needs Kubernetes 1.29: on this API server {} would be an "
                    "init container that never ends, and no Pod would start; use placement: auto",
                    native.front()));
  }
  return base::invalid(
      fmt::format("initContainers: {}: restartPolicy: Always needs Kubernetes 1.29: this API "
                  "server drops it, and the container would keep the Pod from ever starting; "
                  "move it to containers",
                  native.front()));
}

Json as_native(Json container) {
  container["restartPolicy"] = "Always";
  const Json* readiness = base::find(std::as_const(container), "readinessProbe");
  if (readiness != nullptr && base::find(std::as_const(container), "startupProbe") == nullptr) {
    Json probe = startup_probe(*readiness);
    container["startupProbe"] = std::move(probe);
  }
  return container;
}

std::optional<NativeSidecars> native_sidecars_of(std::string_view kube_version) {
  if (!kube_version.empty() && kube_version.front() == 'v') {
    kube_version.remove_prefix(1);
  }
  int major = 0;
  int minor = 0;
  const char* end = kube_version.data() + kube_version.size();
  const auto first = std::from_chars(kube_version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') {
    return std::nullopt;
  }
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  const bool ends_well =
      second.ptr == end || *second.ptr == '.' || *second.ptr == '+' || *second.ptr == '-';
  if (second.ec != std::errc() || !ends_well) {
    return std::nullopt;
  }
  return major > 1 || (major == 1 && minor >= kFirstMinor) ? NativeSidecars::Yes
                                                           : NativeSidecars::No;
}

}  // namespace injector::core
