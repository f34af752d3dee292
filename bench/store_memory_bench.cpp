// What an informer's store takes for a Pod: 10,000 Pods of about 4 KB, as they come from the server
// and trimmed to what the injector reads. Prints bytes a Pod; exits 1 if the trimmed ones take more
// than the budget.
//
//   store_memory_bench [pods]

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <malloc.h>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "runtime/object.h"
#include "runtime/store.h"

namespace {

using injector::base::find;
using injector::base::Json;
using injector::runtime::make_object;
using injector::runtime::Store;
using injector::runtime::Transform;

constexpr std::size_t kBudget = 1200;

std::size_t bytes_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

Json environment(std::size_t number) {
  Json list = Json::array();
  for (const char* name : {"LOG_LEVEL", "DATABASE_URL", "CACHE_HOST", "FEATURE_FLAGS"}) {
    list.push_back({{"name", name}, {"value", fmt::format("value-of-{}-{}", name, number)}});
  }
  list.push_back(
      {{"name", "POD_IP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}});
  return list;
}

Json container(std::size_t number) {
  return {{"name", "app"},
          {"image", "registry.example.com/team/shop-frontend:v1.28.3"},
          {"command", {"/bin/shop-frontend", "--listen=:8080", "--metrics=:9090"}},
          {"ports",
           {{{"name", "http"}, {"containerPort", 8080}, {"protocol", "TCP"}},
            {{"name", "metrics"}, {"containerPort", 9090}, {"protocol", "TCP"}}}},
          {"env", environment(number)},
          {"resources",
           {{"limits", {{"cpu", "500m"}, {"memory", "512Mi"}}},
            {"requests", {{"cpu", "100m"}, {"memory", "128Mi"}}}}},
          {"volumeMounts",
           {{{"name", "config"}, {"mountPath", "/etc/shop"}},
            {{"name", "kube-api-access"},
             {"readOnly", true},
             {"mountPath", "/var/run/secrets/kubernetes.io/serviceaccount"}}}},
          {"readinessProbe",
           {{"httpGet", {{"path", "/ready"}, {"port", "http"}, {"scheme", "HTTP"}}},
            {"timeoutSeconds", 1},
            {"periodSeconds", 10}}},
          {"terminationMessagePath", "/dev/termination-log"},
          {"imagePullPolicy", "IfNotPresent"}};
}

Json volumes() {
  return {{{"name", "config"}, {"configMap", {{"name", "shop-config"}, {"defaultMode", 420}}}},
          {{"name", "kube-api-access"},
           {"projected",
            {{"sources",
              {{{"serviceAccountToken", {{"expirationSeconds", 3607}, {"path", "token"}}}},
               {{"configMap", {{"name", "kube-root-ca.crt"}}}}}},
             {"defaultMode", 420}}}}};
}

Json conditions() {
  Json list = Json::array();
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    list.push_back({{"type", type},
                    {"status", "True"},
                    {"lastProbeTime", nullptr},
                    {"lastTransitionTime", "2026-01-02T03:04:05Z"}});
  }
  return list;
}

Json managed_by(const char* manager, const char* part, std::initializer_list<const char*> names) {
  Json owned = Json::object();
  for (const char* name : names) {
    owned[name] = {{".", Json::object()}, {"f:name", Json::object()}};
  }
  return {{"manager", manager},       {"operation", "Update"},
          {"apiVersion", "v1"},       {"time", "2026-01-02T03:04:05Z"},
          {"fieldsType", "FieldsV1"}, {"fieldsV1", {{part, std::move(owned)}}}};
}

Json managed_fields() {
  return Json::array(
      {managed_by("kube-controller-manager", "f:spec",
                  {"f:affinity", "f:containers", "f:dnsPolicy", "f:enableServiceLinks",
                   "f:restartPolicy", "f:schedulerName", "f:securityContext",
                   "f:terminationGracePeriodSeconds", "f:volumes"}),
       managed_by("kubelet", "f:status",
                  {"f:conditions", "f:containerStatuses", "f:hostIP", "f:phase", "f:podIP",
                   "f:podIPs", "f:startTime"})});
}

Json metadata(std::size_t number) {
  return {{"name", fmt::format("shop-frontend-7d4b9c6f5-{:05}", number)},
          {"generateName", "shop-frontend-7d4b9c6f5-"},
          {"namespace", fmt::format("team-{}", number % 50)},
          {"uid", fmt::format("0b5f3a52-7f0e-4a3b-9d55-{:012}", number)},
          {"resourceVersion", std::to_string(100'000 + number)},
          {"creationTimestamp", "2026-01-02T03:04:05Z"},
          {"labels", {{"app", "shop-frontend"}, {"pod-template-hash", "7d4b9c6f5"}}},
          {"annotations", {{"a.example.com/envoy", "true"}}},
          {"ownerReferences",
           {{{"apiVersion", "apps/v1"},
             {"kind", "ReplicaSet"},
             {"name", "shop-frontend-7d4b9c6f5"},
             {"uid", "3c9e1b60-4c0f-4a59-8a4e-0f0f0f0f0f0f"},
             {"controller", true},
             {"blockOwnerDeletion", true}}}},
          {"managedFields", managed_fields()}};
}

Json status(std::size_t number) {
  return {{"phase", "Running"},
          {"conditions", conditions()},
          {"hostIP", "10.0.0.7"},
          {"podIP", fmt::format("10.1.{}.{}", number / 250 % 250, number % 250)},
          {"startTime", "2026-01-02T03:04:05Z"},
          {"containerStatuses",
           {{{"name", "app"},
             {"state", {{"running", {{"startedAt", "2026-01-02T03:04:05Z"}}}}},
             {"ready", true},
             {"restartCount", 0},
             {"image", "registry.example.com/team/shop-frontend:v1.28.3"},
             {"containerID", "containerd://" + std::string(64, 'c')}}}},
          {"qosClass", "Burstable"}};
}

Json pod(std::size_t number) {
  return {{"kind", "Pod"},
          {"apiVersion", "v1"},
          {"metadata", metadata(number)},
          {"spec",
           {{"volumes", volumes()},
            {"containers", {container(number)}},
            {"restartPolicy", "Always"},
            {"terminationGracePeriodSeconds", 30},
            {"dnsPolicy", "ClusterFirst"},
            {"serviceAccountName", "shop-frontend"},
            {"nodeName", fmt::format("node-{}", number % 100)},
            {"securityContext", Json::object()},
            {"schedulerName", "default-scheduler"},
            {"tolerations",
             {{{"key", "node.kubernetes.io/not-ready"},
               {"operator", "Exists"},
               {"effect", "NoExecute"},
               {"tolerationSeconds", 300}}}}}},
          {"status", status(number)}};
}

Json only(const Json* object, std::initializer_list<const char*> keys) {
  Json kept = Json::object();
  for (const char* key : keys) {
    const Json* const member = object == nullptr ? nullptr : find(*object, key);
    if (member != nullptr) {
      kept[key] = *member;
    }
  }
  return kept;
}

Json each_only(const Json* list, std::initializer_list<const char*> keys) {
  Json kept = Json::array();
  if (list != nullptr && list->is_array()) {
    for (const Json& element : *list) {
      kept.push_back(only(&element, keys));
    }
  }
  return kept;
}

// What deciding on an injection reads of a Pod.
void trim_pod(Json& object) {
  const Json* const spec = find(object, "spec");
  Json spec_kept = only(spec, {"hostNetwork"});
  if (spec != nullptr) {
    spec_kept["containers"] = each_only(find(*spec, "containers"), {"name", "ports"});
    spec_kept["volumes"] = each_only(find(*spec, "volumes"), {"name"});
  }
  object = Json{
      {"metadata", only(find(object, "metadata"), {"name", "namespace", "uid", "resourceVersion",
                                                   "labels", "annotations", "ownerReferences"})},
      {"spec", std::move(spec_kept)},
      {"status", only(find(object, "status"), {"phase"})}};
}

struct Measured {
  std::size_t text = 0;   // Bytes of JSON a Pod.
  std::size_t store = 0;  // Bytes of memory a Pod, everything included.
};

Measured fill(std::size_t pods, const Transform& transform) {
  const std::size_t before = bytes_in_use();
  Store store;
  std::size_t text = 0;
  for (std::size_t number = 0; number < pods; ++number) {
    Json object = pod(number);
    transform(object);
    auto made = make_object(object);
    text += made.value()->json.size();
    store.put(std::move(made).value());
  }
  return {text / pods, (bytes_in_use() - before) / pods};
}

std::size_t count_from(int argc, char** argv) {
  const unsigned long asked = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 0;
  return asked == 0 ? 10'000 : asked;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t pods = count_from(argc, argv);
  const Measured whole = fill(pods, [](Json&) {});
  const Measured slim = fill(pods, injector::runtime::drop_managed_fields);
  const Measured trimmed = fill(pods, trim_pod);
  fmt::print("store of {} pods, bytes a pod       JSON text  in memory\n", pods);
  fmt::print("  as the server sends them          {:>9}  {:>9}\n", whole.text, whole.store);
  fmt::print("  without managedFields             {:>9}  {:>9}\n", slim.text, slim.store);
  fmt::print("  trimmed to what is read           {:>9}  {:>9}  (budget {})\n", trimmed.text,
             trimmed.store, kBudget);
  return trimmed.store <= kBudget ? EXIT_SUCCESS : EXIT_FAILURE;
}
