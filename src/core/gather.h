// Gathers PodFacts from any JSON representation. `Node` is a cheap handle with:
//   bool exists() const;                        there, null or not
//   bool is_null() const;
//   bool is_object(), is_array() const;
//   std::size_t size() const;                   of an object or a list; may be a guess
//   std::optional<std::string_view> text() const;
//   std::optional<bool> boolean() const;
//   std::optional<std::int64_t> integer() const;
//   Node member(std::string_view) const;        a Node that does not exist where there is none
//   void each_member(F(std::string_view, Node)) const;
//   void each_element(F(Node)) const;
//   std::string json() const;                   the node's text
//
// One algorithm for all of them is what keeps the webhook and the CLI from seeing two Pods in one.

#pragma once

#include <algorithm>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"
#include "core/pod_facts.h"
#include "core/template_set.h"
#include "core/workload.h"

namespace injector::core {

inline constexpr std::string_view kOverrideImage = "auto";

template <class Node>
class PodFactsGatherer {
 public:
  /// With templates, only what matters to them is kept: volumes and overriding containers by their
  /// names, as a Pod may list a hundred thousand.
  [[nodiscard]] static base::Result<PodFacts> gather(Node pod,
                                                     const TemplateSet* templates = nullptr) {
    PodFactsGatherer gatherer(templates);
    if (!pod.is_object()) {
      return base::invalid("not an object");
    }
    gatherer.read_metadata(pod.member("metadata"));
    gatherer.read_spec(pod.member("spec"));
    if (!gatherer.problem_.empty()) {
      return base::invalid(std::move(gatherer.problem_));
    }
    return std::move(gatherer.facts_);
  }

 private:
  explicit PodFactsGatherer(const TemplateSet* templates)
      : templates_(templates) {}

  void fail(std::string_view path, std::string_view what) {
    if (problem_.empty()) {
      problem_ = fmt::format("{}: {}", path, what);
    }
  }

  // Present if `node` is an object (or a list); a wrong type is a problem, absence is not.
  Presence object_at(Node node, std::string_view path) {
    if (!node.exists() || node.is_null()) {
      return node.exists() ? Presence::Null : Presence::Absent;
    }
    if (!node.is_object()) {
      fail(path, "not an object");
    }
    return node.is_object() ? Presence::Present : Presence::Absent;
  }

  Presence list_at(Node node, std::string_view path) {
    if (!node.exists() || node.is_null()) {
      return node.exists() ? Presence::Null : Presence::Absent;
    }
    if (!node.is_array()) {
      fail(path, "not a list");
    }
    return node.is_array() ? Presence::Present : Presence::Absent;
  }

  // Exact for ordinary Pods. What a hostile one only pretends to hold gets no memory.
  static std::size_t room_for(Node node) {
    constexpr std::size_t kMost = 32;
    return std::min(node.size(), kMost);
  }

  std::string read_text(Node node, std::string_view path) {
    return read_text(node, [path] { return path; });
  }

  // `path` is only called where it is wanted: this is the webhook's hot path.
  template <class Path>

  requires std::invocable<Path> std::string read_text(Node node, Path path) {
    if (!node.exists() || node.is_null()) {
      return {};
    }
    const auto text = node.text();
    if (!text) {
      fail(path(), "not a string");
    }
    return std::string(text.value_or(""));
  }

  void read_metadata(Node metadata) {
    facts_.metadata = object_at(metadata, "metadata");
    if (facts_.metadata != Presence::Present) {
      return;
    }
    facts_.name = read_text(metadata.member("name"), "metadata.name");
    facts_.generate_name = read_text(metadata.member("generateName"), "metadata.generateName");
    facts_.name_space = read_text(metadata.member("namespace"), "metadata.namespace");
    facts_.labels_map = read_map(metadata.member("labels"), "metadata.labels", facts_.labels);
    facts_.annotations_map =
        read_map(metadata.member("annotations"), "metadata.annotations", facts_.annotations);
    read_owner(metadata.member("ownerReferences"));
  }

  Presence read_map(Node node, std::string_view path, StringMap& into) {
    const Presence presence = object_at(node, path);
    if (presence != Presence::Present) {
      return presence;
    }
    into.reserve(room_for(node));
    node.each_member([&](std::string_view key, Node value) {
      into.emplace_back(std::string(key), read_text(value, [&] {
                          return fmt::format("{}[{}]", path, base::echoed(key));
                        }));
    });
    return presence;
  }

  void read_owner(Node references) {
    if (!references.is_array()) {
      return;
    }
    references.each_element([&](Node reference) {
      if (reference.is_object() && reference.member("controller").boolean().value_or(false)) {
        facts_.owner = {text_or_empty(reference, "apiVersion"), text_or_empty(reference, "kind"),
                        text_or_empty(reference, "name"), text_or_empty(reference, "uid")};
      }
    });
    facts_.of_job = runs_to_completion(facts_.owner.api_version, facts_.owner.kind);
  }

  static std::string text_or_empty(Node object, std::string_view name) {
    return std::string(object.member(name).text().value_or(""));
  }

  void read_spec(Node spec) {
    if (object_at(spec, "spec") != Presence::Present) {
      fail("spec", "missing");
      return;
    }
    facts_.host_network = spec.member("hostNetwork").boolean().value_or(false);
    facts_.windows = is_for_windows(spec);
    if (templates_ == nullptr || templates_->uses_service_account()) {
      facts_.service_account =
          read_text(spec.member("serviceAccountName"), "spec.serviceAccountName");
    }
    if (read_containers(spec.member("containers"), "spec.containers", facts_.containers) !=
        Presence::Present) {
      fail("spec.containers", "missing");
    }
    facts_.init_container_list = read_containers(spec.member("initContainers"),
                                                 "spec.initContainers", facts_.init_containers);
    facts_.volume_list = each_item(spec.member("volumes"), "spec.volumes",
                                   [&](Node volume) { read_volume(volume); });
    facts_.image_pull_secret_list =
        each_item(spec.member("imagePullSecrets"), "spec.imagePullSecrets", [&](Node secret) {
          facts_.image_pull_secrets.push_back(
              read_text(secret.member("name"), "spec.imagePullSecrets[].name"));
        });
  }

  void read_volume(Node volume) {
    const Node node = volume.member("name");
    const auto name = node.text();
    if (!name && node.exists() && !node.is_null()) {
      fail("spec.volumes[].name", "not a string");
    }
    if (matters(name.value_or(""))) {
      facts_.volumes.push_back({std::string(name.value_or("")), volume.json()});
    }
  }

  [[nodiscard]] bool matters(std::string_view volume) const {
    return templates_ == nullptr || templates_->has_volume(volume);
  }

  // By the field that says so since 1.25, or by the nodes it may run on.
  static bool is_for_windows(Node spec) {
    constexpr std::string_view kWindows = "windows";
    const Node selector = spec.member("nodeSelector");
    return spec.member("os").member("name").text() == kWindows ||
           selector.member("kubernetes.io/os").text() == kWindows ||
           selector.member("beta.kubernetes.io/os").text() == kWindows;
  }

  // Calls `read` with every object of the list.
  template <class Read>
  Presence each_item(Node list, std::string_view path, Read read) {
    const Presence presence = list_at(list, path);
    if (presence != Presence::Present) {
      return presence;
    }
    std::size_t index = 0;
    list.each_element([&](Node item) {
      if (item.is_object()) {
        read(item);
      } else {
        fail(fmt::format("{}[{}]", path, index), "not an object");
      }
      ++index;
    });
    return presence;
  }

  Presence read_containers(Node list, std::string_view path, std::vector<ContainerFacts>& into) {
    into.reserve(room_for(list));
    return each_item(list, path, [&](Node container) {
      into.push_back(
          {read_text(container.member("name"), [&] { return fmt::format("{}[].name", path); }),
           read_ports(container.member("ports"))});
      keep_if_override(container, into.back());
    });
  }

  // A container without an image of its own stands for the sidecar of its name.
  void keep_if_override(Node container, ContainerFacts& facts) {
    const bool ours = templates_ == nullptr || templates_->has_container(facts.name);
    if (ours && container.member("image").text() == kOverrideImage) {
      facts.override_json = container.json();
    }
  }

  std::vector<Port> read_ports(Node list) {
    std::vector<Port> ports;
    ports.reserve(room_for(list));
    each_item(list, "spec.containers[].ports", [&](Node port) {
      if (const auto number = port.member("containerPort").integer()) {
        ports.push_back({*number, std::string(port.member("protocol").text().value_or("TCP"))});
      }
    });
    return ports;
  }

  const TemplateSet* templates_;  // Not owned; null: everything is kept.
  PodFacts facts_;
  std::string problem_;  // The first one; empty: none yet.
};

}  // namespace injector::core
