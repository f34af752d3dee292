// Installing, upgrading and uninstalling touch nothing that is the user's.

#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "tests/e2e/installation.h"
#include "tests/support/eventually.h"
#include "tests/support/manifests.h"

namespace injector::tests {
namespace {

using base::Json;

const std::string kTemplate = std::string(kOurConfigMaps) + "/envoy-initializer";
constexpr const char* kEnvoy = "/api/v1/namespaces/default/configmaps/envoy";

// What the user has made of the example.
std::string edited_template(const TempDir& dir) {
  std::string text = read_file(manifest_path("examples/template.yaml"));
  const std::string image = "distroless-v1.38.0";
  return dir.write("template.yaml", text.replace(text.find(image), image.size(), "mine"));
}

// Equal if nobody has written it since.
std::string version(const std::string& path) {
  return get(path).at("metadata").at("resourceVersion").get<std::string>();
}

TEST_CASE("upgrade: a new install has no template, and applying again changes nothing",
          "[apiserver]") {
  apply_manifests();
  CHECK_FALSE(exists(kTemplate));
  const TempDir dir;
  const std::string again = must_kubectl({"apply", "-k", overlay_here(dir, {"."})});
  CHECK(again.find("configured") == std::string::npos);
  CHECK(again.find("unchanged") != std::string::npos);
}

TEST_CASE("upgrade: an apply leaves the user's template as it is", "[apiserver]") {
  apply_manifests();
  const TempDir dir;
  must_kubectl({"apply", "-f", edited_template(dir)});
  const std::string before = version(kTemplate);
  apply_manifests();
  apply_manifests({"components/fail-open", "components/network-policy"});
  CHECK(version(kTemplate) == before);
  must_kubectl({"delete", "-f", dir.file("template.yaml")});
}

// There the template was part of what was applied, with the rest of it.
TEST_CASE("upgrade: a template that version 0.1.0 installed stays", "[apiserver]") {
  apply_manifests();
  must_kubectl({"apply", "-f", manifest_path("examples/original/template.yaml")});
  must_kubectl({"-n", "envoy-initializer", "patch", "configmap", "envoy-initializer",
                "--type=merge", "-p",
                R"({"data":{"config":"containers:\n- {name: mine, image: mine:1}\n"}})"});
  const std::string before = version(kTemplate);
  apply_manifests();
  CHECK(version(kTemplate) == before);
  must_kubectl({"-n", "envoy-initializer", "delete", "configmap", "envoy-initializer"});
}

TEST_CASE("uninstall: the Namespace and the user's template stay, and nothing else",
          "[apiserver]") {
  apply_manifests();
  const TempDir dir;
  must_kubectl({"apply", "-f", edited_template(dir)});
  const std::string before = version(kTemplate);
  const TempDir folder;
  const std::vector<Json> objects = rendered(overlay_here(folder, {"base"}));
  CHECK(objects.size() > 10);
  delete_manifests();
  for (const Json& object : objects) {
    INFO(kind_of(object) << " " << name_of(object));
    CHECK(eventually([&] { return !exists(path_of(object)); }));
  }
  CHECK(get("/api/v1/namespaces/envoy-initializer").at("status").at("phase") == "Active");
  CHECK(version(kTemplate) == before);

  apply_manifests();
  CHECK(version(kTemplate) == before);
  must_kubectl({"delete", "-f", dir.file("template.yaml")});
}

TEST_CASE("uninstall: an overlay with keep-namespace leaves the Namespace, too", "[apiserver]") {
  apply_manifests({"components/network-policy"});
  const TempDir dir;
  must_kubectl(
      {"delete", "--wait=false", "-k",
       overlay_here(dir, {"."}, {"components/network-policy", "components/keep-namespace"})});
  CHECK(get("/api/v1/namespaces/envoy-initializer").at("status").at("phase") == "Active");
  CHECK_FALSE(exists(std::string(kConfigurations) + "/envoy-initializer"));
}

TEST_CASE("install and uninstall: a ConfigMap envoy of the current namespace is untouched",
          "[apiserver]") {
  must_create(Json::parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"envoy"},
                              "data":{"mine":"yes"}})"));
  const std::string before = version(kEnvoy);
  apply_manifests();
  CHECK(version(kEnvoy) == before);
  delete_manifests();
  CHECK(version(kEnvoy) == before);
}

}  // namespace
}  // namespace injector::tests
