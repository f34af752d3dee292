#include "codec/core_v1_fields.h"

namespace injector::codec {
namespace {

using Fields = std::span<const Field>;
using enum FieldType;

constexpr Field text(std::string_view name) {
  return {name, String};
}

constexpr Field texts(std::string_view name) {
  return {name, String, true};
}

constexpr Field flag(std::string_view name) {
  return {name, Boolean};
}

constexpr Field number(std::string_view name) {
  return {name, Integer};
}

constexpr Field any(std::string_view name) {
  return {name, Any};
}

constexpr Field object(std::string_view name, Fields fields) {
  return {name, Object, false, fields};
}

constexpr Field objects(std::string_view name, Fields fields) {
  return {name, Object, true, fields};
}

// NOLINTBEGIN(modernize-avoid-c-arrays): a table is as long as it is; std::array wants to be told.

constexpr Field kReference[] = {text("name")};
constexpr Field kOptionalReference[] = {text("name"), flag("optional")};
constexpr Field kKeySelector[] = {text("name"), text("key"), flag("optional")};
constexpr Field kFieldRef[] = {text("apiVersion"), text("fieldPath")};
constexpr Field kResourceFieldRef[] = {
    text("containerName"), text("resource"), {"divisor", Quantity}};
constexpr Field kFileKeyRef[] = {text("volumeName"), text("path"), text("key"), flag("optional")};
constexpr Field kKeyToPath[] = {text("key"), text("path"), number("mode")};

// Container.

constexpr Field kContainerPort[] = {
    text("name"), {"containerPort", Port}, {"hostPort", Port}, text("protocol"), text("hostIP")};
constexpr Field kEnvFrom[] = {text("prefix"), object("configMapRef", kOptionalReference),
                              object("secretRef", kOptionalReference)};
constexpr Field kEnvSource[] = {
    object("fieldRef", kFieldRef), object("resourceFieldRef", kResourceFieldRef),
    object("configMapKeyRef", kKeySelector), object("secretKeyRef", kKeySelector),
    object("fileKeyRef", kFileKeyRef)};
constexpr Field kEnv[] = {text("name"), text("value"), object("valueFrom", kEnvSource)};
constexpr Field kResourceClaim[] = {text("name"), text("request")};
constexpr Field kResources[] = {
    {"limits", QuantityMap}, {"requests", QuantityMap}, objects("claims", kResourceClaim)};
constexpr Field kResizePolicy[] = {text("resourceName"), text("restartPolicy")};
constexpr Field kVolumeMount[] = {
    text("name"),     text("mountPath"),         text("subPath"),         text("subPathExpr"),
    flag("readOnly"), text("recursiveReadOnly"), text("mountPropagation")};
constexpr Field kVolumeDevice[] = {text("name"), text("devicePath")};
constexpr Field kExec[] = {texts("command")};
constexpr Field kHeader[] = {text("name"), text("value")};
constexpr Field kHttpGet[] = {text("path"),
                              {"port", IntOrString},
                              text("host"),
                              text("scheme"),
                              objects("httpHeaders", kHeader)};
constexpr Field kTcpSocket[] = {{"port", IntOrString}, text("host")};
constexpr Field kGrpc[] = {{"port", Port}, text("service")};
constexpr Field kSleep[] = {number("seconds")};
constexpr Field kProbe[] = {
    object("exec", kExec),           object("httpGet", kHttpGet),
    object("tcpSocket", kTcpSocket), object("grpc", kGrpc),
    number("initialDelaySeconds"),   number("timeoutSeconds"),
    number("periodSeconds"),         number("successThreshold"),
    number("failureThreshold"),      number("terminationGracePeriodSeconds")};
constexpr Field kHandler[] = {object("exec", kExec), object("httpGet", kHttpGet),
                              object("tcpSocket", kTcpSocket), object("sleep", kSleep)};
constexpr Field kLifecycle[] = {object("postStart", kHandler), object("preStop", kHandler),
                                text("stopSignal")};
constexpr Field kCapabilities[] = {texts("add"), texts("drop")};
constexpr Field kProfile[] = {text("type"), text("localhostProfile")};
constexpr Field kSeLinux[] = {text("user"), text("role"), text("type"), text("level")};
constexpr Field kSecurityContext[] = {object("capabilities", kCapabilities),
                                      flag("privileged"),
                                      object("seLinuxOptions", kSeLinux),
                                      any("windowsOptions"),
                                      number("runAsUser"),
                                      number("runAsGroup"),
                                      flag("runAsNonRoot"),
                                      flag("readOnlyRootFilesystem"),
                                      flag("allowPrivilegeEscalation"),
                                      text("procMount"),
                                      object("seccompProfile", kProfile),
                                      object("appArmorProfile", kProfile)};
constexpr Field kContainer[] = {text("name"),
                                text("image"),
                                texts("command"),
                                texts("args"),
                                text("workingDir"),
                                objects("ports", kContainerPort),
                                objects("envFrom", kEnvFrom),
                                objects("env", kEnv),
                                object("resources", kResources),
                                objects("resizePolicy", kResizePolicy),
                                text("restartPolicy"),
                                any("restartPolicyRules"),
                                objects("volumeMounts", kVolumeMount),
                                objects("volumeDevices", kVolumeDevice),
                                object("livenessProbe", kProbe),
                                object("readinessProbe", kProbe),
                                object("startupProbe", kProbe),
                                object("lifecycle", kLifecycle),
                                text("terminationMessagePath"),
                                text("terminationMessagePolicy"),
                                text("imagePullPolicy"),
                                object("securityContext", kSecurityContext),
                                flag("stdin"),
                                flag("stdinOnce"),
                                flag("tty")};

// Volume.

constexpr Field kHostPath[] = {text("path"), text("type")};
constexpr Field kEmptyDir[] = {text("medium"), {"sizeLimit", Quantity}};
constexpr Field kSecret[] = {text("secretName"), objects("items", kKeyToPath),
                             number("defaultMode"), flag("optional")};
constexpr Field kConfigMap[] = {text("name"), objects("items", kKeyToPath), number("defaultMode"),
                                flag("optional")};
constexpr Field kDownwardFile[] = {text("path"), object("fieldRef", kFieldRef),
                                   object("resourceFieldRef", kResourceFieldRef), number("mode")};
constexpr Field kDownward[] = {objects("items", kDownwardFile), number("defaultMode")};
constexpr Field kProjectedSecret[] = {text("name"), objects("items", kKeyToPath), flag("optional")};
constexpr Field kProjectedDownward[] = {objects("items", kDownwardFile)};
constexpr Field kToken[] = {text("audience"), number("expirationSeconds"), text("path")};
constexpr Field kProjection[] = {object("secret", kProjectedSecret),
                                 object("configMap", kProjectedSecret),
                                 object("downwardAPI", kProjectedDownward),
                                 object("serviceAccountToken", kToken),
                                 any("clusterTrustBundle"),
                                 any("podCertificate")};
constexpr Field kProjected[] = {objects("sources", kProjection), number("defaultMode")};
constexpr Field kNfs[] = {text("server"), text("path"), flag("readOnly")};
constexpr Field kClaim[] = {text("claimName"), flag("readOnly")};
constexpr Field kCsi[] = {text("driver"),
                          flag("readOnly"),
                          text("fsType"),
                          {"volumeAttributes", StringMap},
                          object("nodePublishSecretRef", kReference)};
constexpr Field kImage[] = {text("reference"), text("pullPolicy")};
constexpr Field kVolume[] = {text("name"),
                             object("hostPath", kHostPath),
                             object("emptyDir", kEmptyDir),
                             object("secret", kSecret),
                             object("configMap", kConfigMap),
                             object("downwardAPI", kDownward),
                             object("projected", kProjected),
                             object("nfs", kNfs),
                             object("persistentVolumeClaim", kClaim),
                             object("csi", kCsi),
                             object("image", kImage),
                             any("ephemeral"),
                             any("iscsi"),
                             any("rbd"),
                             any("cephfs"),
                             any("fc"),
                             any("glusterfs"),
                             any("flexVolume"),
                             any("cinder"),
                             any("flocker"),
                             any("azureFile"),
                             any("azureDisk"),
                             any("vsphereVolume"),
                             any("quobyte"),
                             any("portworxVolume"),
                             any("scaleIO"),
                             any("storageos"),
                             any("photonPersistentDisk"),
                             any("gcePersistentDisk"),
                             any("awsElasticBlockStore"),
                             any("gitRepo")};

// NOLINTEND(modernize-avoid-c-arrays)

}  // namespace

Fields container_fields() noexcept {
  return kContainer;
}

Fields volume_fields() noexcept {
  return kVolume;
}

Fields local_object_reference_fields() noexcept {
  return kReference;
}

}  // namespace injector::codec
