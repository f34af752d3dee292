#include "patch/schema.h"

#include <algorithm>
#include <utility>

namespace injector::patch {
namespace {

constexpr Field object(std::string_view name, Schema schema = {}) {
  return Field{name, FieldKind::Struct, schema, {}, false};
}

constexpr Field map(std::string_view name) {
  return Field{name, FieldKind::Map, {}, {}, false};
}

constexpr Field merge_list(std::string_view name, std::string_view key, Schema schema = {}) {
  return Field{name, FieldKind::ObjectList, schema, key, false};
}

constexpr Field merge_set(std::string_view name) {
  return Field{name, FieldKind::ScalarList, {}, {}, false};
}

constexpr Field retaining(Field field) {
  field.retain_keys = true;
  return field;
}

// The tables name every field that is an object or a merge list, in the order of the API reference.
// Scalars and atomic lists are left out, and so is everything inside an atomic list.

// --- meta/v1

constexpr std::array kInitializers{merge_list("pending", "name"), object("result")};
constexpr std::array kObjectMeta{map("labels"), map("annotations"),
                                 merge_list("ownerReferences", "uid"), merge_set("finalizers"),
                                 object("initializers", kInitializers)};  // Until 1.15.
constexpr std::array kLabelSelector{map("matchLabels")};

// --- core/v1: containers

constexpr std::array kResources{map("limits"), map("requests")};
constexpr std::array kEnvVarSource{object("fieldRef"), object("resourceFieldRef"),
                                   object("configMapKeyRef"), object("secretKeyRef"),
                                   object("fileKeyRef")};
constexpr std::array kEnvVar{object("valueFrom", kEnvVarSource)};
constexpr std::array kHandler{object("exec"), object("httpGet"), object("tcpSocket"),
                              object("grpc"), object("sleep")};
constexpr std::array kLifecycle{object("postStart", kHandler), object("preStop", kHandler)};
constexpr std::array kSecurityContext{object("capabilities"), object("seLinuxOptions"),
                                      object("windowsOptions"), object("seccompProfile"),
                                      object("appArmorProfile")};
constexpr std::array kContainer{
    merge_list("ports", "containerPort"),      merge_list("env", "name", kEnvVar),
    object("resources", kResources),           merge_list("volumeMounts", "mountPath"),
    merge_list("volumeDevices", "devicePath"), object("livenessProbe", kHandler),
    object("readinessProbe", kHandler),        object("startupProbe", kHandler),
    object("lifecycle", kLifecycle),           object("securityContext", kSecurityContext)};

// --- core/v1: volumes

constexpr std::array kSecretRef{object("secretRef")};
constexpr std::array kFlexVolume{object("secretRef"), map("options")};
constexpr std::array kCsi{map("volumeAttributes"), object("nodePublishSecretRef")};
constexpr std::array kClaimSpec{object("selector", kLabelSelector), object("resources", kResources),
                                object("dataSource"), object("dataSourceRef")};
constexpr std::array kClaimTemplate{object("metadata", kObjectMeta), object("spec", kClaimSpec)};
constexpr std::array kEphemeral{object("volumeClaimTemplate", kClaimTemplate)};
constexpr std::array kVolume{object("hostPath"),
                             object("emptyDir"),
                             object("gcePersistentDisk"),
                             object("awsElasticBlockStore"),
                             object("gitRepo"),
                             object("secret"),
                             object("nfs"),
                             object("iscsi", kSecretRef),
                             object("glusterfs"),
                             object("persistentVolumeClaim"),
                             object("rbd", kSecretRef),
                             object("flexVolume", kFlexVolume),
                             object("cinder", kSecretRef),
                             object("cephfs", kSecretRef),
                             object("flocker"),
                             object("downwardAPI"),
                             object("fc"),
                             object("azureFile"),
                             object("configMap"),
                             object("vsphereVolume"),
                             object("quobyte"),
                             object("azureDisk"),
                             object("photonPersistentDisk"),
                             object("projected"),
                             object("portworxVolume"),
                             object("scaleIO", kSecretRef),
                             object("storageos", kSecretRef),
                             object("csi", kCsi),
                             object("ephemeral", kEphemeral),
                             object("image")};

// --- core/v1: pods

constexpr std::array kPodSecurityContext{object("seLinuxOptions"), object("windowsOptions"),
                                         object("seccompProfile"), object("appArmorProfile")};
constexpr std::array kNodeAffinity{object("requiredDuringSchedulingIgnoredDuringExecution")};
constexpr std::array kAffinity{object("nodeAffinity", kNodeAffinity), object("podAffinity"),
                               object("podAntiAffinity")};
constexpr std::array kTopologySpread{object("labelSelector", kLabelSelector)};
constexpr std::array kResourceClaim{object("source")};  // Until 1.30.
constexpr std::array kPodSpec{
    retaining(merge_list("volumes", "name", kVolume)),
    merge_list("initContainers", "name", kContainer),
    merge_list("containers", "name", kContainer),
    merge_list("ephemeralContainers", "name", kContainer),
    map("nodeSelector"),
    object("securityContext", kPodSecurityContext),
    merge_list("imagePullSecrets", "name"),
    object("affinity", kAffinity),
    merge_list("hostAliases", "ip"),
    object("dnsConfig"),
    map("overhead"),
    merge_list("topologySpreadConstraints", "topologyKey", kTopologySpread),
    object("os"),
    merge_list("schedulingGates", "name"),
    retaining(merge_list("resourceClaims", "name", kResourceClaim)),
    object("resources", kResources),
    object("workloadRef"),
    object("schedulingGroup")};
constexpr std::array kPodStatus{merge_list("conditions", "type"),
                                merge_list("hostIPs", "ip"),
                                merge_list("podIPs", "ip"),
                                retaining(merge_list("resourceClaimStatuses", "name")),
                                object("extendedResourceClaimStatus"),
                                map("allocatedResources"),
                                object("resources", kResources)};
constexpr std::array kPod{object("metadata", kObjectMeta), object("spec", kPodSpec),
                          object("status", kPodStatus)};
constexpr std::array kPodTemplateSpec{object("metadata", kObjectMeta), object("spec", kPodSpec)};
constexpr std::array kPodTemplate{object("metadata", kObjectMeta),
                                  object("template", kPodTemplateSpec)};

// --- workloads

constexpr std::array kRollingUpdate{object("rollingUpdate")};
constexpr std::array kConditions{merge_list("conditions", "type")};

constexpr std::array kControllerSpec{map("selector"), object("template", kPodTemplateSpec)};
constexpr std::array kReplicationController{object("metadata", kObjectMeta),
                                            object("spec", kControllerSpec),
                                            object("status", kConditions)};

constexpr std::array kDeploymentSpec{
    object("selector", kLabelSelector), object("template", kPodTemplateSpec),
    retaining(object("strategy", kRollingUpdate)), object("rollbackTo")};  // extensions/v1beta1.
constexpr std::array kDeployment{object("metadata", kObjectMeta), object("spec", kDeploymentSpec),
                                 object("status", kConditions)};

constexpr std::array kReplicaSetSpec{object("selector", kLabelSelector),
                                     object("template", kPodTemplateSpec)};
constexpr std::array kReplicaSet{object("metadata", kObjectMeta), object("spec", kReplicaSetSpec),
                                 object("status", kConditions)};

constexpr std::array kSetSpec{object("selector", kLabelSelector),
                              object("template", kPodTemplateSpec),
                              object("updateStrategy", kRollingUpdate),
                              object("persistentVolumeClaimRetentionPolicy"), object("ordinals")};
constexpr std::array kStatefulSet{object("metadata", kObjectMeta), object("spec", kSetSpec),
                                  object("status", kConditions)};
constexpr std::array kDaemonSetSpec{object("selector", kLabelSelector),
                                    object("template", kPodTemplateSpec),
                                    object("updateStrategy", kRollingUpdate)};
constexpr std::array kDaemonSet{object("metadata", kObjectMeta), object("spec", kDaemonSetSpec),
                                object("status", kConditions)};

constexpr std::array kJobSpec{object("podFailurePolicy"), object("successPolicy"),
                              object("selector", kLabelSelector),
                              object("template", kPodTemplateSpec)};
constexpr std::array kJobStatus{merge_list("conditions", "type"),
                                object("uncountedTerminatedPods")};
constexpr std::array kJob{object("metadata", kObjectMeta), object("spec", kJobSpec),
                          object("status", kJobStatus)};

constexpr std::array kJobTemplate{object("metadata", kObjectMeta), object("spec", kJobSpec)};
constexpr std::array kCronJobSpec{object("jobTemplate", kJobTemplate)};
constexpr std::array kCronJob{object("metadata", kObjectMeta), object("spec", kCronJobSpec),
                              object("status")};

constexpr std::array<std::pair<std::string_view, Schema>, 10> kKinds{{
    {"Pod", kPod},
    {"PodTemplate", kPodTemplate},
    {"PodTemplateSpec", kPodTemplateSpec},
    {"Deployment", kDeployment},
    {"StatefulSet", kStatefulSet},
    {"DaemonSet", kDaemonSet},
    {"ReplicaSet", kReplicaSet},
    {"ReplicationController", kReplicationController},
    {"Job", kJob},
    {"CronJob", kCronJob},
}};

constexpr char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool same_but_for_case(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char one, char other) { return lower(one) == lower(other); });
}

}  // namespace

const Field* Schema::find(std::string_view name) const noexcept {
  const Field* folded = nullptr;
  for (const Field* field = fields_; field != fields_ + size_; ++field) {
    if (field->name == name) {
      return field;
    }
    if (folded == nullptr && same_but_for_case(field->name, name)) {
      folded = field;
    }
  }
  return folded;
}

const Schema* schema_for_kind(std::string_view kind) noexcept {
  const auto* const found = std::find_if(kKinds.begin(), kKinds.end(),
                                         [&](const auto& entry) { return entry.first == kind; });
  return found == kKinds.end() ? nullptr : &found->second;
}

std::string_view supported_kinds() noexcept {
  return "Pod, PodTemplate, PodTemplateSpec, Deployment, StatefulSet, DaemonSet, ReplicaSet, "
         "ReplicationController, Job, CronJob";
}

}  // namespace injector::patch
