// check on a real API server: an installation that is well, and six faults in it.

#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "tests/e2e/installation.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kHome = "envoy-initializer";
const std::string kEndpoints = "/api/v1/namespaces/envoy-initializer/endpoints";
const std::string kDeployment =
    "/apis/apps/v1/namespaces/envoy-initializer/deployments/envoy-initializer";
const std::string kOurs = std::string(kConfigurations) + "/envoy-initializer";

struct Checked {
  int code = 0;
  std::string text;
  std::map<std::string, std::string> results;  // By check: "ok", "failed", ...

  [[nodiscard]] std::string of(const std::string& check) const {
    const auto found = results.find(check);
    return found == results.end() ? "not run" : found->second;
  }
};

Checked check(std::vector<std::string> flags = {}) {
  const TempDir dir;
  std::vector<std::string> command{kProgram, "check",        "-o",
                                   "json",   "--kubeconfig", server().kubeconfig_path()};
  command.insert(command.end(), flags.begin(), flags.end());
  Checked checked;
  checked.code = run({.argv = command, .log_file = dir.file("log")});
  checked.text = read_file(dir.file("log"));
  const auto document = base::read_json(checked.text);
  INFO(checked.text);
  REQUIRE(document);
  for (const Json& one : document.value().at("checks")) {
    checked.results[one.at("check").get<std::string>()] = one.at("result").get<std::string>();
  }
  return checked;
}

// What the Deployment's controller would write: nobody runs Pods here.
void set_ready(int replicas) {
  must_kubectl({"-n", kHome, "patch", "deployment", kHome, "--subresource=status", "--type=merge",
                "-p",
                R"({"status":{"replicas":2,"readyReplicas":)" + std::to_string(replicas) + "}}"});
}

void put_endpoints() {
  must_create(base::read_json(R"({"apiVersion":"v1","kind":"Endpoints","metadata":{
    "name":"envoy-initializer","namespace":"envoy-initializer"},
    "subsets":[{"addresses":[{"ip":"10.0.0.1"}],"ports":[{"name":"https","port":8443}]}]})")
                  .value());
}

Json asking_pod(const std::string& name, const std::string& name_space) {
  Json pod = plain_pod(name_space);
  pod["metadata"]["name"] = name;
  pod["metadata"]["labels"]["initializer.kubernetes.io/envoy"] = "true";
  return pod;
}

void must_remove(const std::string& path) {
  CHECK(server().request("DELETE", path + "?gracePeriodSeconds=0").status == 200);
}

}  // namespace

TEST_CASE("check: before installing, a server of 1.20 can have it, with a warning", "[apiserver]") {
  const Checked before = check({"--pre"});
  INFO(before.text);
  CHECK(before.code == 0);
  CHECK(before.of("version") == "ok");
  CHECK(before.of("match-conditions") == "warning");
  CHECK(before.of("install-rights") == "ok");
  CHECK(before.of("conflicts") == "ok");
  CHECK(before.of("pod-security") == "ok");
  const Checked after = check();
  CHECK(after.code == 1);
  CHECK(after.of("deployment") == "failed");
  CHECK(after.of("registration") == "failed");
}

TEST_CASE("check: an installation that is well, and six faults", "[apiserver]") {
  if (!may_listen()) {
    WARN("port 443 needs root: not checked");
    return;
  }
  apply_manifests();
  const TempDir dir;
  const ChildProcess webhook = start_webhook(dir);
  set_ready(2);
  put_endpoints();
  Checked well;
  CHECK(eventually([&] {  // Certificates are made, published and believed after a moment.
    well = check();
    return well.code == 0;
  }));
  INFO(well.text);
  for (const char* id : {"api", "deployment", "service", "registration", "certificate", "templates",
                         "rights", "injection", "other-webhooks", "pods"}) {
    INFO(id);
    CHECK(well.of(id) == "ok");
  }
  CHECK(well.of("controller") == "skipped");

  SECTION("a replica is not ready") {
    set_ready(1);
    CHECK(check().of("deployment") == "failed");
    set_ready(2);
  }
  SECTION("the Service has no endpoint") {
    must_remove(kEndpoints + "/envoy-initializer");
    CHECK(check().of("service") == "failed");
  }
  SECTION("a right is missing") {
    must_kubectl({"delete", "clusterrolebinding", "envoy-initializer-certificates"});
    Checked checked;
    CHECK(eventually([&] {  // RBAC is read with a delay.
      checked = check();
      return checked.of("rights") == "failed";
    }));
    CHECK(checked.text.find("update mutatingwebhookconfigurations.admissionregistration.k8s.io") !=
          std::string::npos);
  }
  SECTION("a Pod that asks runs without the sidecar") {
    must_create(base::read_json(R"({"apiVersion":"v1","kind":"Namespace","metadata":{
      "name":"exempt","labels":{"initializer.kubernetes.io/exclude":"true"}}})")
                    .value());
    must_create(asking_pod("web", "exempt"));
    CHECK(check().of("pods") == "failed");
    const Checked there = check({"--probe-namespace", "exempt"});
    CHECK(there.of("injection") == "failed");
    must_remove("/api/v1/namespaces/exempt/pods/web");
  }
  SECTION("the registration lets the webhook's own Pods wait for it") {
    Json ours = get(kOurs);
    for (Json& entry : ours["webhooks"]) {
      entry.erase("namespaceSelector");
    }
    REQUIRE(server().request("PUT", kOurs, base::write_json(ours)).status == 200);
    CHECK(check().of("registration") == "failed");
  }
  SECTION("nobody is registered any more") {
    must_remove(kOurs);
    CHECK(eventually([&] { return check().of("injection") == "failed"; }));
    CHECK(check().of("registration") == "failed");
  }
  static_cast<void>(server().request("DELETE", kEndpoints + "/envoy-initializer"));
}

TEST_CASE("check: a webhook that does not answer, and a certificate that is not trusted",
          "[apiserver]") {
  if (!may_listen()) {
    WARN("port 443 needs root: not checked");
    return;
  }
  apply_manifests();
  const TempDir dir;
  {
    const ChildProcess webhook = start_webhook(dir);
    CHECK(eventually([&] { return check().of("injection") == "ok"; }));
  }
  Checked silent;
  CHECK(eventually([&] {
    silent = check();
    return silent.of("injection") == "failed";
  }));
  CHECK(silent.text.find("failed calling webhook") != std::string::npos);
  CHECK(silent.of("certificate") == "ok");
  must_kubectl({"-n", kHome, "delete", "secret", "envoy-initializer-tls"});
  const TempDir certs;
  REQUIRE(run({.argv = {kProgram, "certs", "--dns", "x.svc", "--out", certs.path().string()},
               .log_file = certs.file("log")}) == 0);
  must_kubectl({"-n", kHome, "create", "secret", "tls", "envoy-initializer-tls",
                "--cert=" + certs.file("tls.crt"), "--key=" + certs.file("tls.key")});
  CHECK(check().of("certificate") == "failed");
  must_kubectl({"-n", kHome, "delete", "secret", "envoy-initializer-tls"});
  delete_manifests();
}

}  // namespace injector::tests
