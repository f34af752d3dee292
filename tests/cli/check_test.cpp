// Each check, well and made to fail.

#include "cli/check.h"

#include <chrono>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/base64.h"
#include "cli/check_command.h"
#include "kube/time_text.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

using namespace std::chrono_literals;

using base::Json;

Json yaml(const std::string& text) {
  auto read = yaml::read_yaml(text);
  if (!read) {
    FAIL(read.error().message);
  }
  return std::move(read.value().value);
}

// A cluster from tables. What is not in them is not found.
class TableCluster final : public ClusterView {
 public:
  base::Result<Json> version() override {
    if (!answers) {
      return base::Error{base::ErrorCode::Unavailable, "connection refused"};
    }
    return Json({{"major", "1"}, {"minor", minor}, {"gitVersion", "v1." + minor + ".0"}});
  }

  base::Result<Json> get(const kube::Target& target) override {
    const auto found = objects.find(kube::path_of(target).value());
    return found == objects.end() ? base::Result<Json>(not_found()) : found->second;
  }

  base::Result<std::vector<Json>> list(const kube::Target& target) override {
    const auto found = lists.find(kube::path_of(target).value());
    return found == lists.end() ? base::Result<std::vector<Json>>(not_found()) : found->second;
  }

  base::Result<Json> dry_run(const kube::Target&, const Json& object) override {
    if (!refusal.empty()) {
      return base::Error{base::ErrorCode::Forbidden, refusal};
    }
    Json created = object;
    if (injects) {
      created["metadata"]["annotations"]["initializer.kubernetes.io/envoy-status"] = "{}";
    }
    return created;
  }

  base::Result<Json> review(const kube::Target& target, const Json& object) override {
    if (!may_review) {
      return base::Error{base::ErrorCode::Forbidden, "no reviews for you"};
    }
    reviewed.push_back(target.resource.plural);
    Json answer = object;
    const Json& attributes = object.at("spec").at("resourceAttributes");
    answer["status"]["allowed"] = base::text_of(base::find(attributes, "resource")) != denied;
    return answer;
  }

  static base::Error not_found() { return {base::ErrorCode::NotFound, "not found"}; }

  bool answers = true;
  std::string minor = "30";
  std::map<std::string, Json> objects;
  std::map<std::string, std::vector<Json>> lists;
  std::string refusal;
  bool injects = true;
  bool may_review = true;
  std::string denied;
  std::vector<std::string> reviewed;
};

constexpr const char* kHome = "/api/v1/namespaces/envoy-initializer";
const std::string kConfigurations =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const std::string kDeployments = "/apis/apps/v1/namespaces/envoy-initializer/deployments";

const tls::SystemTime kNow = std::chrono::system_clock::now();

Json deployment(int ready, const std::string& image) {
  Json object = yaml(R"(metadata: {name: envoy-initializer}
spec: {replicas: 2, template: {spec: {containers: [{args: [webhook, --manage-certs]}]}}}
status: {}
)");
  object["status"]["readyReplicas"] = ready;
  object["spec"]["template"]["spec"]["containers"][0]["image"] = image;
  return object;
}

Json webhook() {
  return yaml(R"(name: envoy.initializer.kubernetes.io
clientConfig: {service: {name: envoy-initializer, namespace: envoy-initializer}}
rules: [{apiGroups: [''], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
namespaceSelector:
  matchExpressions:
  - {key: kubernetes.io/metadata.name, operator: NotIn, values: [envoy-initializer]}
matchConditions: [{name: asks, expression: "true"}]
reinvocationPolicy: IfNeeded
failurePolicy: Fail
)");
}

Json configuration(const std::string& name, Json entry) {
  Json object = Json({{"metadata", {{"name", name}}}});
  object["webhooks"] = Json::array({std::move(entry)});
  return object;
}

Json asking_pod(const std::string& status) {
  Json pod = yaml(R"(apiVersion: v1
kind: Pod
metadata:
  name: web-0
  namespace: shop
  annotations: {initializer.kubernetes.io/envoy: "true"}
spec: {containers: [{name: app, image: app}]}
)");
  if (!status.empty()) {
    pod["metadata"]["annotations"]["initializer.kubernetes.io/envoy-status"] = status;
  }
  return pod;
}

struct Issued {
  std::string bundle;
  Json secret;
};

Issued issue(std::chrono::seconds lifetime) {
  const auto ca = tls::make_ca("test", {kNow, 24h * 365}).value();
  const auto pair = tls::make_serving_certificate(ca, {"x.svc"}, {kNow, lifetime}).value();
  Json secret = Json::object();
  secret["data"]["tls.crt"] = base::base64_encode(pair.certificate.pem());
  return {base::base64_encode(ca.certificate.pem()), secret};
}

void put_registration(TableCluster& cluster, const Json& entry) {
  const Json object = configuration("envoy-initializer", entry);
  cluster.objects[kConfigurations + "/envoy-initializer"] = object;
  cluster.lists[kConfigurations] = {object};
}

// Everything as it should be.
TableCluster healthy() {
  TableCluster cluster;
  cluster.objects[kHome] = yaml(
      "metadata: {name: envoy-initializer, labels: {kubernetes.io/metadata.name: "
      "envoy-initializer}}");
  cluster.objects[kDeployments + "/envoy-initializer"] = deployment(2, "e/envoy-initializer:0.2.0");
  cluster.lists[kDeployments] = {cluster.objects[kDeployments + "/envoy-initializer"]};
  cluster.objects[std::string(kHome) + "/endpoints/envoy-initializer"] =
      yaml("subsets: [{addresses: [{ip: 10.0.0.1}]}]");
  const Issued issued = issue(24h * 90);
  Json entry = webhook();
  entry["clientConfig"]["caBundle"] = issued.bundle;
  put_registration(cluster, entry);
  cluster.objects[std::string(kHome) + "/secrets/envoy-initializer-tls"] = issued.secret;
  cluster.lists["/api/v1/pods"] = {};
  cluster.lists["/api/v1/namespaces"] = {};
  return cluster;
}

CheckContext context(TableCluster& cluster) {
  return {cluster, "envoy-initializer", "envoy-initializer", "default", "0.2.0", {}, kNow};
}

Mark mark_of(Finding (*check)(const CheckContext&), TableCluster& cluster) {
  const Finding finding = check(context(cluster));
  UNSCOPED_INFO(finding.text << " / " << finding.hint);
  if (finding.mark == Mark::Failed || finding.mark == Mark::Warning) {
    CHECK_FALSE(finding.hint.empty());
  }
  return finding.mark;
}

}  // namespace

TEST_CASE("check: a healthy cluster passes all, before and after installing", "[cli]") {
  TableCluster cluster = healthy();
  for (const auto* checks : {&checks_before_installing(), &checks_of_installation()}) {
    for (const Check& check : *checks) {
      const Finding finding = check.run(context(cluster));
      INFO(check.id << ": " << finding.text);
      CHECK((finding.mark == Mark::Good || std::string(check.id) == "controller"));
    }
  }
}

TEST_CASE("check: each has its paragraph in docs/checks.md", "[cli]") {
  const std::string text =
      injector::tests::read_file(std::string(injector::tests::kSourceDir) + "/docs/checks.md");
  for (const auto* checks : {&checks_before_installing(), &checks_of_installation()}) {
    for (const Check& check : *checks) {
      CHECK_THAT(text, Catch::Contains("\n### " + std::string(check.id) + "\n"));
    }
  }
}

TEST_CASE("check: api fails where nobody answers, and ends the run", "[cli]") {
  TableCluster cluster = healthy();
  cluster.answers = false;
  CHECK(mark_of(check_api, cluster) == Mark::Failed);
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  CHECK(run_check(checks_of_installation(), context(cluster), CheckFormat::Table, {in, out, err}) ==
        kFailed);
  CHECK_THAT(out.str(), Catch::Contains("1 of 1 checks failed"));
}

TEST_CASE("check: version and match-conditions go by the server's version", "[cli]") {
  TableCluster cluster;
  cluster.minor = "15";
  CHECK(mark_of(check_version, cluster) == Mark::Failed);
  cluster.minor = "29+";
  CHECK(mark_of(check_version, cluster) == Mark::Good);
  CHECK(mark_of(check_match_conditions, cluster) == Mark::Warning);
  cluster.minor = "x";
  CHECK(mark_of(check_version, cluster) == Mark::Skipped);
}

TEST_CASE("check: install-rights names what may not be created", "[cli]") {
  TableCluster cluster;
  cluster.denied = "clusterroles";
  CHECK(mark_of(check_install_rights, cluster) == Mark::Failed);
  CHECK_THAT(check_install_rights(context(cluster)).text,
             Catch::Contains("create clusterroles.rbac.authorization.k8s.io"));
  CHECK(cluster.reviewed.front() == "selfsubjectaccessreviews");
}

TEST_CASE("check: conflicts finds others that act on our key", "[cli]") {
  TableCluster cluster = healthy();
  Json other = webhook();
  other["clientConfig"]["service"]["namespace"] = "elsewhere";
  put_registration(cluster, other);
  CHECK(mark_of(check_conflicts, cluster) == Mark::Failed);
  other["objectSelector"]["matchLabels"]["initializer.kubernetes.io/envoy"] = "true";
  cluster.lists[kConfigurations] = {configuration("another", other)};
  CHECK(mark_of(check_conflicts, cluster) == Mark::Failed);
  other.erase("objectSelector");
  cluster.lists[kConfigurations] = {configuration("another", other)};
  CHECK(mark_of(check_conflicts, cluster) == Mark::Good);
  cluster.lists["/apis/admissionregistration.k8s.io/v1beta1/mutatingadmissionpolicies"] = {
      yaml("{metadata: {name: p}, spec: {matchConditions: [{expression: "
           "\"'initializer.kubernetes.io/envoy' in object.metadata.labels\"}]}}")};
  CHECK(mark_of(check_conflicts, cluster) == Mark::Warning);
}

TEST_CASE("check: pod-security is a dry run in the namespace, if there is one", "[cli]") {
  TableCluster cluster = healthy();
  cluster.refusal = "pods \"x\" is forbidden: violates PodSecurity";
  CHECK(mark_of(check_pod_security, cluster) == Mark::Failed);
  cluster.refusal = "User \"x\" cannot create resource \"pods\"";
  CHECK(mark_of(check_pod_security, cluster) == Mark::Skipped);
  cluster.objects.erase(kHome);
  CHECK(mark_of(check_pod_security, cluster) == Mark::Good);
}

TEST_CASE("check: deployment must be there, be ready, and be of this version", "[cli]") {
  TableCluster cluster = healthy();
  const std::string path = kDeployments + "/envoy-initializer";
  cluster.objects[path] = deployment(1, "envoy-initializer:0.2.0");
  CHECK(mark_of(check_deployment, cluster) == Mark::Failed);
  cluster.objects[path] = deployment(2, "reg:5000/envoy-initializer:0.1.0@sha256:0");
  CHECK(mark_of(check_deployment, cluster) == Mark::Warning);
  cluster.objects[path] = deployment(2, "reg:5000/envoy-initializer");
  CHECK(mark_of(check_deployment, cluster) == Mark::Warning);
  cluster.objects.erase(path);
  CHECK(mark_of(check_deployment, cluster) == Mark::Failed);
}

TEST_CASE("check: service needs an endpoint that is ready", "[cli]") {
  TableCluster cluster = healthy();
  const std::string path = std::string(kHome) + "/endpoints/envoy-initializer";
  cluster.objects[path] = yaml("subsets: [{notReadyAddresses: [{ip: 10.0.0.1}]}]");
  CHECK(mark_of(check_service, cluster) == Mark::Failed);
  cluster.objects.erase(path);
  CHECK(mark_of(check_service, cluster) == Mark::Failed);
}

TEST_CASE("check: registration finds rules, selectors and policies that do not do", "[cli]") {
  TableCluster cluster = healthy();
  Json entry = webhook();
  entry["rules"][0]["operations"] = Json::array({"UPDATE"});
  put_registration(cluster, entry);
  CHECK(mark_of(check_registration, cluster) == Mark::Failed);

  entry = webhook();
  entry.erase("namespaceSelector");
  put_registration(cluster, entry);
  CHECK_THAT(check_registration(context(cluster)).text, Catch::Contains("own Pods"));

  entry = webhook();
  entry["clientConfig"]["service"]["name"] = "other";
  put_registration(cluster, entry);
  CHECK(mark_of(check_registration, cluster) == Mark::Failed);

  entry = webhook();
  entry["failurePolicy"] = "Ignore";
  put_registration(cluster, entry);
  CHECK(mark_of(check_registration, cluster) == Mark::Warning);

  put_registration(cluster, webhook());
  CHECK(mark_of(check_registration, cluster) == Mark::Good);
  cluster.minor = "20";  // It drops matchConditions.
  CHECK(mark_of(check_registration, cluster) == Mark::Warning);

  cluster.objects.erase(kConfigurations + "/envoy-initializer");
  CHECK(mark_of(check_registration, cluster) == Mark::Failed);
}

TEST_CASE("check: certificate compares caBundle and Secret, and looks at the end", "[cli]") {
  TableCluster cluster = healthy();
  const std::string path = std::string(kHome) + "/secrets/envoy-initializer-tls";
  cluster.objects[path] = issue(24h * 90).secret;  // Of another CA.
  CHECK(mark_of(check_certificate, cluster) == Mark::Failed);
  const Issued soon = issue(24h * 3);
  Json entry = webhook();
  entry["clientConfig"]["caBundle"] = soon.bundle;
  put_registration(cluster, entry);
  cluster.objects[path] = soon.secret;
  CHECK(mark_of(check_certificate, cluster) == Mark::Warning);
  put_registration(cluster, webhook());
  CHECK(mark_of(check_certificate, cluster) == Mark::Failed);
}

TEST_CASE("check: templates finds one that cannot be used, or is not in use", "[cli]") {
  TableCluster cluster = healthy();
  const std::string path = std::string(kHome) + "/configmaps/envoy-initializer";
  const auto config_map = [](const std::string& text) {
    Json object = Json({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    object["data"]["config"] = text;
    return object;
  };
  cluster.objects[path] = config_map("containers: [{image: x}]");
  CHECK(mark_of(check_templates, cluster) == Mark::Failed);
  cluster.objects[path] = config_map("containers: [{name: envoy, image: x}]");
  CHECK(mark_of(check_templates, cluster) == Mark::Good);
  cluster.objects[path + "-last-good"] = config_map("containers: [{name: envoy, image: other}]");
  CHECK(mark_of(check_templates, cluster) == Mark::Warning);
  cluster.lists["/apis/envoy-initializer.io/v1alpha1/sidecartemplates"] = {
      yaml("{metadata: {name: t, namespace: shop}, status: {conditions: [{type: Accepted, status: "
           "'False', message: 'containers: missing'}]}}")};
  CHECK_THAT(check_templates(context(cluster)).text,
             Catch::Contains("shop/t: containers: missing"));
}

TEST_CASE("check: rights are asked for the webhook's ServiceAccount", "[cli]") {
  TableCluster cluster = healthy();
  cluster.denied = "secrets";
  CHECK(mark_of(check_rights, cluster) == Mark::Failed);
  CHECK(cluster.reviewed.front() == "subjectaccessreviews");
  CHECK_THAT(check_rights(context(cluster)).text,
             Catch::Contains("update secrets/envoy-initializer-tls in namespace"));
  cluster.may_review = false;
  CHECK(mark_of(check_rights, cluster) == Mark::Skipped);
}

TEST_CASE("check: injection fails where the Pod comes back as it was, or not at all", "[cli]") {
  TableCluster cluster = healthy();
  cluster.injects = false;
  CHECK(mark_of(check_injection, cluster) == Mark::Failed);
  cluster.refusal = "failed calling webhook \"envoy.initializer.kubernetes.io\"";
  CHECK(mark_of(check_injection, cluster) == Mark::Failed);
  cluster.refusal = "User \"x\" cannot create resource \"pods\"";
  CHECK(mark_of(check_injection, cluster) == Mark::Skipped);
}

TEST_CASE("check: other-webhooks warns of those after us if we are not called again", "[cli]") {
  TableCluster cluster = healthy();
  cluster.lists[kConfigurations].push_back(configuration("zz-mesh", webhook()));
  CHECK(mark_of(check_other_webhooks, cluster) == Mark::Good);
  Json ours = webhook();
  ours.erase("reinvocationPolicy");
  cluster.lists[kConfigurations].front() = configuration("envoy-initializer", ours);
  CHECK(mark_of(check_other_webhooks, cluster) == Mark::Warning);
}

TEST_CASE("check: pods that ask and have none fail, outdated ones warn", "[cli]") {
  TableCluster cluster = healthy();
  cluster.lists["/api/v1/pods"] = {asking_pod("")};
  CHECK(mark_of(check_pods, cluster) == Mark::Failed);
  cluster.lists["/api/v1/pods"] = {asking_pod(R"({"template":"sha256:0","containers":["envoy"]})")};
  CHECK(mark_of(check_pods, cluster) == Mark::Warning);
}

TEST_CASE("check: controller's lease must be renewed", "[cli]") {
  TableCluster cluster = healthy();
  cluster.lists[kDeployments].push_back(
      yaml("{metadata: {name: envoy-initializer-repair}, spec: {template: {spec: {containers: "
           "[{args: [controller, --mode=repair]}]}}}}"));
  CHECK(mark_of(check_controller, cluster) == Mark::Failed);
  Json lease = yaml("{spec: {holderIdentity: a, leaseDurationSeconds: 15}}");
  const std::string path =
      "/apis/coordination.k8s.io/v1/namespaces/envoy-initializer/leases/envoy-initializer-repair";
  lease["spec"]["renewTime"] = kube::micro_time_text(kNow - 5s);
  cluster.objects[path] = lease;
  CHECK(mark_of(check_controller, cluster) == Mark::Good);
  lease["spec"]["renewTime"] = kube::micro_time_text(kNow - 5min);
  cluster.objects[path] = lease;
  CHECK(mark_of(check_controller, cluster) == Mark::Failed);
}

TEST_CASE("check: prints marks, hints and links; colour only where it is wanted", "[cli]") {
  TableCluster cluster = healthy();
  cluster.objects.erase(kDeployments + "/envoy-initializer");
  const auto print = [&](CheckFormat format, bool color) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    CHECK(run_check(checks_of_installation(), context(cluster), format, {in, out, err, color}) ==
          kFailed);
    CHECK(err.str().empty());
    return out.str();
  };
  const std::string table = print(CheckFormat::Table, false);
  CHECK_THAT(table, Catch::StartsWith("✓ api ") && Catch::Contains("\n✗ deployment ") &&
                        Catch::Contains("what to do: kubectl apply -k") &&
                        Catch::Contains("see docs/checks.md#deployment\n") &&
                        Catch::EndsWith("1 of 11 checks failed\n") && !Catch::Contains("\033"));
  CHECK_THAT(print(CheckFormat::Table, true), Catch::Contains("\033[31m✗\033[0m deployment"));
  CHECK_THAT(print(CheckFormat::Short, false),
             Catch::StartsWith("✗ deployment ") && !Catch::Contains("✓"));
  CHECK_THAT(print(CheckFormat::Json, false), Catch::Contains(R"("check": "deployment")") &&
                                                  Catch::Contains(R"("result": "failed")") &&
                                                  Catch::Contains(R"("ok": false)"));
}

}  // namespace injector::cli
