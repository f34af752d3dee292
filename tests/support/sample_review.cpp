#include "tests/support/sample_review.h"

#include <string_view>

#include <fmt/format.h>

namespace injector::tests {
namespace {

constexpr std::string_view kReviewHead =
    R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{)"
    R"("uid":"cc3ce2e1-32b3-4736-963f-bc2048e894d0","kind":{"group":"","version":"v1","kind":"Pod"},)"
    R"("resource":{"group":"","version":"v1","resource":"pods"},)"
    R"("requestKind":{"group":"","version":"v1","kind":"Pod"},)"
    R"("requestResource":{"group":"","version":"v1","resource":"pods"},)"
    R"("namespace":"shop","operation":"CREATE","userInfo":{)"
    R"("username":"system:serviceaccount:kube-system:replicaset-controller",)"
    R"("uid":"7d9a52f2-6c3f-4a0a-a2f4-0b1f0a3f1c11","groups":["system:serviceaccounts",)"
    R"("system:serviceaccounts:kube-system","system:authenticated"]},"object":)";
constexpr std::string_view kReviewTail =
    R"(,"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}})";

constexpr std::string_view kPodHead =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"generateName":"shop-frontend-7d4b9c6f5-",)"
    R"("namespace":"shop","creationTimestamp":null,"labels":{"app":"shop-frontend",)"
    R"("app.kubernetes.io/version":"1.28.3","pod-template-hash":"7d4b9c6f5","tier":"frontend"},)"
    R"("annotations":{"prometheus.io/port":"9090","prometheus.io/scrape":"true")";
constexpr std::string_view kAsks = R"(,"initializer.kubernetes.io/envoy":"true")";
constexpr std::string_view kPodMiddle =
    R"(},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet",)"
    R"("name":"shop-frontend-7d4b9c6f5","uid":"3c9e1b60-4c0f-4a59-8a4e-0f0f0f0f0f0f",)"
    R"("controller":true,"blockOwnerDeletion":true}],"managedFields":[{"manager":)"
    R"("kube-controller-manager","operation":"Update","apiVersion":"v1",)"
    R"("time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":)"
    R"({"f:annotations":{".":{},"f:prometheus.io/port":{}},"f:generateName":{},"f:labels":{".":{},)"
    R"("f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{}}},"f:spec":)"
    R"({"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{".":{}},)"
    R"("f:resources":{".":{}}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:securityContext":{}}}}]},)"
    R"("spec":{"volumes":[{"name":"config","configMap":{"name":"shop-config","defaultMode":420}},)"
    R"({"name":"kube-api-access-x2x7q","projected":{"sources":[{"serviceAccountToken":)"
    R"({"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":"kube-root-ca.crt",)"
    R"("items":[{"key":"ca.crt","path":"ca.crt"}]}}],"defaultMode":420}}],"containers":[)";
constexpr std::string_view kPodTail =
    R"(],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",)"
    R"("serviceAccountName":"shop-frontend","securityContext":{},"schedulerName":)"
    R"("default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists",)"
    R"("effect":"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable",)"
    R"("operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],"priority":0,)"
    R"("enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{}})";

constexpr std::size_t kVariables = 12;  // Of each container.

std::string variable(std::size_t number) {
  return fmt::format(
      R"({{"name":"SETTING_{0}","value":"http://service-{0}.shop.svc.cluster.local:8080/api"}})",
      number);
}

// All but the first have their environment; that of the first fills the Pod up.
std::string container(std::size_t number, std::string_view environment) {
  return fmt::format(
      R"({{"name":"{0}","image":"registry.example.com/shop/{0}:v1.28.3","ports":[{{"name":"http-{1}",)"
      R"("containerPort":{2},"protocol":"TCP"}}],"env":[{3}],"resources":{{"limits":{{"cpu":"500m",)"
      R"("memory":"512Mi"}},"requests":{{"cpu":"100m","memory":"128Mi"}}}},"volumeMounts":[)"
      R"({{"name":"config","mountPath":"/etc/shop"}},{{"name":"kube-api-access-x2x7q","readOnly":true,)"
      R"("mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"readinessProbe":{{"httpGet":)"
      R"({{"path":"/ready","port":{2},"scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10}},)"
      R"("terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",)"
      R"("imagePullPolicy":"IfNotPresent"}})",
      number == 0 ? "app" : fmt::format("app-{}", number), number, 8080 + number, environment);
}

std::string full_container(std::size_t number) {
  std::string environment;
  for (std::size_t i = 0; i < kVariables; ++i) {
    environment += (i == 0 ? "" : ",") + variable(i);
  }
  return container(number, environment);
}

std::string pod_of(std::string_view containers, Asks asks) {
  return fmt::format("{}{}{}{}{}", kPodHead, asks == Asks::Yes ? kAsks : "", kPodMiddle, containers,
                     kPodTail);
}

}  // namespace

std::string sample_pod(std::size_t bytes, Asks asks) {
  std::string more;
  for (std::size_t number = 1;; ++number) {
    const std::string next = "," + full_container(number);
    if (pod_of(container(0, "") + more + next, asks).size() + 100 > bytes) {
      break;
    }
    more += next;
  }
  std::string environment = R"({"name":"FILLS","value":""})";
  const std::size_t size = pod_of(container(0, environment) + more, asks).size();
  environment.insert(environment.size() - 2, bytes > size ? bytes - size : 0, 'x');
  return pod_of(container(0, environment) + more, asks);
}

std::string sample_review(std::size_t bytes, Asks asks) {
  const std::size_t around = kReviewHead.size() + kReviewTail.size();
  return fmt::format("{}{}{}", kReviewHead, sample_pod(bytes - around, asks), kReviewTail);
}

}  // namespace injector::tests
