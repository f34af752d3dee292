// What a real kubectl makes of manifests/: the install is complete and touches nothing of the
// user's, and components go together in any order.

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/kubectl.h"
#include "tests/support/manifests.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;
using Facts = std::set<std::string>;  // "Deployment envoy-initializer/spec/replicas=2".

const std::set<std::string> kClusterWide = {"Namespace",
                                            "ClusterRole",
                                            "PriorityClass",
                                            "MutatingWebhookConfiguration",
                                            "ClusterRoleBinding",
                                            "ValidatingWebhookConfiguration",
                                            "InitializerConfiguration"};

std::string text_at(const Json& object, const char* field) {
  return std::string(base::text_of(base::find(object, "metadata", field)));
}

// Elements are told apart by their name; without one by what they are, so that order plays no part.
std::string element_key(const Json& element) {
  const Json* name = element.is_object() ? base::find(element, "name") : nullptr;
  return name != nullptr ? name->dump() : element.dump();
}

void collect(const std::string& path, const Json& value, Facts& facts) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, member] : value.items()) {
      collect(path + "/" + key, member, facts);
    }
  } else if (value.is_array() && !value.empty()) {
    for (const Json& element : value) {
      collect(path + "[" + element_key(element) + "]", element, facts);
    }
  } else {
    facts.insert(path + "=" + value.dump());
  }
}

Facts facts_of(const std::vector<Json>& objects) {
  Facts facts;
  for (const Json& object : objects) {
    collect(kind_of(object) + " " + text_at(object, "name"), object, facts);
  }
  return facts;
}

Facts with(const std::vector<std::string>& names) {
  std::vector<std::string> components;
  for (const std::string& name : names) {
    components.push_back("components/" + name);
  }
  const TempDir dir;
  return facts_of(rendered(write_overlay(dir, {"."}, components)));
}

Facts minus(const Facts& left, const Facts& right) {
  Facts result;
  std::set_difference(left.begin(), left.end(), right.begin(), right.end(),
                      std::inserter(result, result.end()));
  return result;
}

Facts common(const Facts& left, const Facts& right) {
  Facts result;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                        std::inserter(result, result.end()));
  return result;
}

std::vector<std::string> component_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(manifest_path("components"))) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("components: each changes something", "[kustomize]") {
  const Facts base = with({});
  CHECK(component_names().size() >= 9);
  for (const std::string& name : component_names()) {
    INFO(name);
    CHECK(with({name}) != base);
  }
}

TEST_CASE("components: any two give the same in either order, with both effects", "[kustomize]") {
  const Facts base = with({});
  const std::vector<std::string> names = component_names();
  std::map<std::string, Facts> alone;
  for (const std::string& name : names) {
    alone[name] = with({name});
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t j = i + 1; j < names.size(); ++j) {
      INFO(names[i] << " and " << names[j]);
      const Facts both = with({names[i], names[j]});
      CHECK(both == with({names[j], names[i]}));
      for (const Facts& one : {alone[names[i]], alone[names[j]]}) {
        CHECK(minus(minus(one, base), both) == Facts());   // All that one of them brings is there,
        CHECK(common(minus(base, one), both) == Facts());  // and all that it takes out is not.
      }
    }
  }
}

TEST_CASE("components: all of them go together", "[kustomize]") {
  std::vector<std::string> names = component_names();
  const Facts forward = with(names);
  std::reverse(names.begin(), names.end());
  CHECK(forward == with(names));
}

TEST_CASE(
    "kustomizations: all that they install is cluster-wide under our name, or in our namespace",
    "[kustomize]") {
  for (const char* folder : {".", "base", "workloads", "initializer", "namespace"}) {
    for (const Json& object : rendered(manifest_path(folder))) {
      INFO(folder << ": " << kind_of(object) << " " << text_at(object, "name"));
      const bool ours = kClusterWide.contains(kind_of(object))
                            ? text_at(object, "name").rfind("envoy-", 0) == 0
                            : text_at(object, "namespace") == "envoy-initializer";
      CHECK(ours);
    }
  }
}

TEST_CASE("kustomizations: none installs a ConfigMap: the template is the user's", "[kustomize]") {
  for (const char* folder : {".", "base", "workloads", "initializer"}) {
    const std::vector<Json> objects = rendered(manifest_path(folder));
    CHECK(std::none_of(objects.begin(), objects.end(),
                       [](const Json& object) { return kind_of(object) == "ConfigMap"; }));
  }
}

TEST_CASE("kustomizations: base is the install without the Namespace", "[kustomize]") {
  const Facts rest =
      minus(facts_of(rendered(manifest_path("."))), facts_of(rendered(manifest_path("base"))));
  CHECK(rest == facts_of(rendered(manifest_path("namespace"))));
  CHECK(with({"keep-namespace"}) == facts_of(rendered(manifest_path("base"))));
}

}  // namespace
}  // namespace injector::tests
