// A bad template is refused at kubectl apply; where that did not happen, the last good one serves,
// also after a restart. With the roles and arguments of manifests/ alone.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/e2e/installation.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/manifests.h"

namespace injector::tests {
namespace {

using base::Json;

const std::string kLastGood = std::string(kOurConfigMaps) + "/envoy-initializer-last-good";

// ConfigMap with this template; the file for kubectl.
std::string write_template(const TempDir& dir, const std::string& container) {
  return dir.write("template.yaml",
                   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: envoy-initializer, "
                   "namespace: envoy-initializer}\ndata:\n  config: |\n    containers:\n    - " +
                       container + "\n");
}

Json asking_pod() {
  Json pod = plain_pod();
  pod["metadata"]["labels"]["initializer.kubernetes.io/envoy"] = "true";
  return pod;
}

bool soon_injects(const std::string& sidecar) {
  const std::vector<std::string> expected{"app", sidecar};
  return eventually([&] { return create(asking_pod()).containers == expected; });
}

bool soon_kept(const std::string& text) {
  return eventually([&] {
    return exists(kLastGood) && get(kLastGood).at("data").at("config").get<std::string>().find(
                                    text) != std::string::npos;
  });
}

void remove_config_maps() {
  must_kubectl({"-n", "envoy-initializer", "delete", "--ignore-not-found", "configmap",
                "envoy-initializer", "envoy-initializer-last-good"});
}

TEST_CASE("template guard: kubectl apply of a bad template is refused in the linter's words",
          "[apiserver]") {
  if (!may_listen()) {
    WARN("not checked: only root may listen on port 443");
    return;
  }
  const TempDir dir;
  apply_manifests();
  ChildProcess webhook = start_webhook(dir);
  REQUIRE(soon_injects("envoy"));  // The built-in template.
  const std::string bad = write_template(dir, "{name: mine, imagee: mine:1}");
  KubectlResult answer;
  // Until the certificate keeper has put our CA into the configuration, the server ignores us.
  const bool refused = eventually([&] {
    answer = kubectl_here({"apply", "--dry-run=server", "-f", bad});
    return answer.code != 0;
  });
  INFO(answer.output << tail(dir.file("log")));
  REQUIRE(refused);
  CHECK_THAT(answer.output,
             Catch::Contains("containers[0].imagee") && Catch::Contains("did you mean image?"));
  must_kubectl({"apply", "-f", write_template(dir, "{name: mine, image: \"mine:1\"}")});
  CHECK(soon_injects("mine"));
  CHECK(kubectl_here({"apply", "-f", write_template(dir, "{name: mine}")}).code != 0);
  // Another ConfigMap of our namespace is nobody's business.
  must_kubectl(
      {"-n", "envoy-initializer", "create", "configmap", "other", "--from-literal=config=1"});
  must_kubectl({"-n", "envoy-initializer", "delete", "configmap", "other"});
  CHECK(webhook.stop() == 0);
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
  delete_manifests();
  remove_config_maps();
}

TEST_CASE(
    "template guard: a replica that starts while the ConfigMap is bad serves the last good one",
    "[apiserver]") {
  if (!may_listen()) {
    WARN("not checked: only root may listen on port 443");
    return;
  }
  const TempDir dir;
  apply_manifests();
  must_kubectl({"apply", "-f", write_template(dir, "{name: good, image: \"good:1\"}")});
  {
    ChildProcess first = start_webhook(dir);
    REQUIRE(soon_injects("good"));
    REQUIRE(soon_kept("good:1"));
    CHECK(first.stop() == 0);
  }
  // Nobody is there to refuse it, and nobody is blocked.
  must_kubectl({"apply", "-f", write_template(dir, "{name: bad, imagee: \"bad:1\"}")});
  {
    ChildProcess second = start_webhook(dir);
    CHECK(soon_injects("good"));
    CHECK(second.stop() == 0);
  }
  CHECK(read_file(dir.file("log")).find("orbidden") == std::string::npos);
  delete_manifests();
  remove_config_maps();
}

}  // namespace
}  // namespace injector::tests
