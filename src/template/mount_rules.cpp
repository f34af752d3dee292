#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include "template/rules.h"
#include "template/text_format.h"

namespace injector::templates {
namespace {

using base::Json;
using Names = std::set<std::string, std::less<>>;
using Volumes = std::map<std::string, const Json*, std::less<>>;

// The volume with the service account's token, which admission puts into every Pod.
bool is_provided_by_kubernetes(std::string_view volume) {
  return volume.rfind("kube-api-access", 0) == 0 || volume.rfind("default-token-", 0) == 0;
}

// True if the template has no such volume, which has then been said.
bool is_unknown(std::string_view name, const Place& place, const Volumes& volumes,
                Findings& findings) {
  if (name.empty() || volumes.contains(name) || is_provided_by_kubernetes(name)) {
    return false;
  }
  findings.problem(place.member("name"),
                   fmt::format("no volume {} in the template's volumes", quoted(name)));
  return true;
}

void check_propagation(const Json& mount, const Place& place, bool privileged, Findings& findings) {
  const std::string_view propagation = text_at(mount, "mountPropagation");
  if (propagation == "Bidirectional" && !privileged) {
    findings.problem(place.member("mountPropagation"),
                     "can be Bidirectional only in a container with securityContext.privileged: "
                     "true");
  }
  const std::string_view recursive = text_at(mount, "recursiveReadOnly");
  if (recursive != "IfPossible" && recursive != "Enabled") {
    return;
  }
  if (!is_flag(mount, "readOnly", true)) {
    findings.problem(place.member("recursiveReadOnly"), "needs readOnly: true");
  }
  if (!propagation.empty() && propagation != "None") {
    findings.problem(place.member("recursiveReadOnly"), "needs mountPropagation: None");
  }
}

void check_mount(const Json& mount, const Place& place, Names& paths, Findings& findings) {
  const std::string_view path = text_at(mount, "mountPath");
  if (!path.empty() && !paths.emplace(path).second) {
    findings.problem(place.member("mountPath"), fmt::format("{} is mounted twice", quoted(path)));
  }
  if (!text_at(mount, "subPath").empty() && !text_at(mount, "subPathExpr").empty()) {
    findings.problem(place.member("subPathExpr"),
                     "is there together with subPath: keep one of them");
  }
}

void check_device(const Json& device, const Place& place, const Volumes& volumes,
                  Findings& findings) {
  const std::string_view name = text_at(device, "name");
  if (is_unknown(name, place, volumes, findings)) {
    return;
  }
  const auto volume = volumes.find(name);
  if (volume != volumes.end() && base::find(*volume->second, "persistentVolumeClaim") == nullptr &&
      base::find(*volume->second, "ephemeral") == nullptr) {
    findings.problem(
        place.member("name"),
        fmt::format("{} is not a persistentVolumeClaim or ephemeral volume", quoted(name)));
  }
}

struct Taken {
  Names paths;    // Of mounts and devices.
  Names mounted;  // Volumes.
  Names devices;  // Volumes.
};

void check_device_clash(const Json& device, const Place& place, Taken& taken, Findings& findings) {
  const std::string_view name = text_at(device, "name");
  const std::string_view path = text_at(device, "devicePath");
  if (!name.empty() && (!taken.devices.emplace(name).second || taken.mounted.contains(name))) {
    findings.problem(place.member("name"), fmt::format("{} is used twice", quoted(name)));
  }
  if (!path.empty() && !taken.paths.emplace(path).second) {
    findings.problem(place.member("devicePath"), fmt::format("{} is used twice", quoted(path)));
  }
}

void check_mounts_of(const Json& container, const Place& place, const Volumes& volumes,
                     Findings& findings) {
  const Json* context = base::find(container, "securityContext");
  const bool privileged = context != nullptr && is_flag(*context, "privileged", true);
  Taken taken;
  each_item(container, "volumeMounts", place, [&](const Json& mount, const Place& where) {
    is_unknown(text_at(mount, "name"), where, volumes, findings);
    taken.mounted.emplace(text_at(mount, "name"));
    check_mount(mount, where, taken.paths, findings);
    check_propagation(mount, where, privileged, findings);
  });
  each_item(container, "volumeDevices", place, [&](const Json& device, const Place& where) {
    check_device(device, where, volumes, findings);
    check_device_clash(device, where, taken, findings);
  });
}

// A variable's file is on an emptyDir.
void check_files_of(const Json& container, const Place& place, const Volumes& volumes,
                    Findings& findings) {
  each_item(container, "env", place, [&](const Json& variable, const Place& where) {
    const Json* reference = base::find(variable, "valueFrom", "fileKeyRef");
    const std::string_view name = reference == nullptr ? "" : text_at(*reference, "volumeName");
    const auto volume = volumes.find(name);
    const Place field = where.member("valueFrom").member("fileKeyRef").member("volumeName");
    if (!name.empty() && volume == volumes.end()) {
      findings.problem(field, fmt::format("no volume {} in the template's volumes", quoted(name)));
    } else if (!name.empty() && volume->second->size() > 1 &&
               base::find(*volume->second, "emptyDir") == nullptr) {
      findings.problem(field, fmt::format("{} is not an emptyDir volume", quoted(name)));
    }
  });
}

}  // namespace

void check_mounts(const Json& root, Findings& findings) {
  Volumes volumes;
  each_item(root, "volumes", {}, [&](const Json& volume, const Place&) {
    volumes.emplace(text_at(volume, "name"), &volume);
  });
  for (const char* field : {"containers", "initContainers"}) {
    each_item(root, field, {}, [&](const Json& container, const Place& place) {
      check_mounts_of(container, place, volumes, findings);
      check_files_of(container, place, volumes, findings);
    });
  }
}

}  // namespace injector::templates
