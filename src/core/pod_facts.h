// The few things about a Pod that the decision depends on, gathered once from whatever holds the
// JSON: a document tree (CLI, control loop) or the parser's tape (webhook). Plain values; no thread
// rules.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "core/string_map.h"

namespace injector::core {

class TemplateSet;

struct Port {
  std::int64_t number = 0;
  std::string protocol = "TCP";

  bool operator==(const Port&) const = default;
};

struct ContainerFacts {
  std::string name;
  std::vector<Port> ports;
  std::string override_json = {};  // All of it as text, if its image is `auto`; see override.h.

  bool operator==(const ContainerFacts&) const = default;
};

struct VolumeFacts {
  std::string name;
  std::string json;  // The whole volume as text; read only where the names clash.

  bool operator==(const VolumeFacts&) const = default;
};

/// The controller that made the Pod; empty for a bare Pod.
struct OwnerFacts {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;

  bool operator==(const OwnerFacts&) const = default;
};

/// "ReplicaSet/web-5d4f"; empty if there is none.
[[nodiscard]] std::string to_string(const OwnerFacts& owner);

/// Null is as good as absent for a patch, but not for undoing it.
enum class Presence { Absent, Null, Present };

struct PodFacts {
  std::string name;           // Empty where the server is still to generate it,
  std::string generate_name;  // or this is.
  std::string name_space;
  std::string service_account;  // Gathered only where a template uses it.
  OwnerFacts owner;
  StringMap labels;
  StringMap annotations;
  std::vector<ContainerFacts> containers;
  std::vector<ContainerFacts> init_containers;
  std::vector<VolumeFacts> volumes;
  std::vector<std::string> image_pull_secrets;
  bool host_network = false;
  bool windows = false;  // Meant for Windows nodes.
  bool of_job = false;   // Made by a Job: it is done when all its containers have ended.

  // Which parents are there: a patch creates the others.
  Presence metadata = Presence::Absent;
  Presence labels_map = Presence::Absent;
  Presence annotations_map = Presence::Absent;
  Presence init_container_list = Presence::Absent;
  Presence volume_list = Presence::Absent;
  Presence image_pull_secret_list = Presence::Absent;

  bool operator==(const PodFacts&) const = default;
};

/// Fails where something that matters has a wrong type: "spec.containers[2]: not an object".
/// With templates, only what matters to them is gathered of volumes and containers.
[[nodiscard]] base::Result<PodFacts> pod_facts(const base::Json& pod,
                                               const TemplateSet* templates = nullptr);

/// The labels and annotations of a Namespace or of a workload's own metadata.
struct MetaFacts {
  StringMap labels;
  StringMap annotations;
};

/// Entries whose value is no string are left out: they cannot be an answer to anything.
[[nodiscard]] MetaFacts meta_facts(const base::Json& object);

}  // namespace injector::core
