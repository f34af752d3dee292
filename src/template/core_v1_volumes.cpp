// The volume sources. `Required value` is what the API server says of an empty field here.

#include "template/core_v1_fields.h"
#include "template/field_words.h"
#include "template/shared_fields.h"

namespace injector::templates {
namespace {

// NOLINTBEGIN(modernize-avoid-c-arrays): a table is as long as it is; std::array wants to be told.

constexpr std::string_view kHostPathTypes[] = {
    "Directory", "DirectoryOrCreate", "File",       "FileOrCreate",
    "Socket",    "CharDevice",        "BlockDevice"};
constexpr std::string_view kCachingModes[] = {"None", "ReadOnly", "ReadWrite"};
constexpr std::string_view kDiskKinds[] = {"Shared", "Dedicated", "Managed"};
constexpr std::string_view kVolumeModes[] = {"Filesystem", "Block"};
constexpr std::string_view kAccessModes[] = {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany",
                                             "ReadWriteOncePod"};
constexpr std::string_view kKeyTypes[] = {"RSA3072",   "RSA4096",   "ECDSAP256",
                                          "ECDSAP384", "ECDSAP521", "ED25519"};

constexpr Range kByte = {0, 255};
constexpr Range kTokenSeconds = {600, std::int64_t{1} << 32};
constexpr Range kCertificateSeconds = {3600, 7862400};

constexpr Field kSecretRef[] = {text("name")};
constexpr Field kRequiredSecretRef[] = {required(text("name"))};
constexpr Field kNamedSecretRef[] = {required(text("name", Format::Subdomain))};

// Files from ConfigMaps, Secrets and the Pod itself.

constexpr Field kKeyToPath[] = {required(text("key")), required(text("path", Format::FilePath)),
                                number("mode", kMode)};
constexpr Field kFileFieldRef[] = {defaulted("apiVersion", kApiVersions),
                                   required(text("fieldPath", Format::FileFieldPath))};
constexpr Field kFileResourceRef[] = {required(text("containerName")),
                                      required(text("resource", Format::ResourcePath)),
                                      quantity("divisor")};
constexpr Field kDownwardFile[] = {
    required(text("path", Format::FilePath)), object("fieldRef", kFileFieldRef),
    object("resourceFieldRef", kFileResourceRef), number("mode", kMode)};
constexpr std::string_view kDownwardSources[] = {"fieldRef", "resourceFieldRef"};
constexpr Field kDownwardFiles = exactly_one(objects("items", kDownwardFile), kDownwardSources);

constexpr Field kSecret[] = {required(text("secretName")), objects("items", kKeyToPath),
                             number("defaultMode", kMode), flag("optional")};
constexpr Field kConfigMap[] = {required(text("name")), objects("items", kKeyToPath),
                                number("defaultMode", kMode), flag("optional")};
constexpr Field kDownward[] = {kDownwardFiles, number("defaultMode", kMode)};

constexpr Field kProjectedFiles[] = {required(text("name")), objects("items", kKeyToPath),
                                     flag("optional")};
constexpr Field kProjectedDownward[] = {kDownwardFiles};
constexpr Field kToken[] = {text("audience"), number("expirationSeconds", kTokenSeconds),
                            required(text("path", Format::RelativePath))};
constexpr Field kSelectorTerm[] = {text("key"), text("operator"), texts("values")};
constexpr Field kSelector[] = {{"matchLabels", FieldType::StringMap},
                               objects("matchExpressions", kSelectorTerm)};
constexpr Field kTrustBundle[] = {text("name"), text("signerName"),
                                  object("labelSelector", kSelector), flag("optional"),
                                  required(text("path", Format::FilePath))};
constexpr std::string_view kTrustBundleSources[] = {"name", "signerName"};
constexpr Field kPodCertificate[] = {required(text("signerName")),
                                     required(one_of("keyType", kKeyTypes)),
                                     number("maxExpirationSeconds", kCertificateSeconds),
                                     text("credentialBundlePath", Format::FilePath),
                                     text("keyPath", Format::FilePath),
                                     text("certificateChainPath", Format::FilePath),
                                     {"userAnnotations", FieldType::StringMap}};
constexpr Field kProjection[] = {
    object("secret", kProjectedFiles),
    object("configMap", kProjectedFiles),
    object("downwardAPI", kProjectedDownward),
    object("serviceAccountToken", kToken),
    exactly_one(object("clusterTrustBundle", kTrustBundle), kTrustBundleSources),
    object("podCertificate", kPodCertificate)};
constexpr std::string_view kProjections[] = {
    "secret",        "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle",
    "podCertificate"};
constexpr Field kProjected[] = {at_most_one(objects("sources", kProjection), kProjections),
                                number("defaultMode", kMode)};

// Claims.

constexpr Field kClaim[] = {required(text("claimName")), flag("readOnly")};
constexpr Field kDataSource[] = {text("apiGroup"), required(text("kind")), required(text("name")),
                                 text("namespace")};
constexpr Field kStorage[] = {{"limits", FieldType::QuantityMap},
                              {"requests", FieldType::QuantityMap}};
constexpr Field kAccessModeList = {
    .name = "accessModes", .type = FieldType::String, .is_list = true, .values = kAccessModes};
constexpr Field kClaimSpec[] = {required(kAccessModeList),
                                object("selector", kSelector),
                                required(object("resources", kStorage)),
                                text("volumeName"),
                                text("storageClassName"),
                                text("volumeAttributesClassName"),
                                one_of("volumeMode", kVolumeModes),
                                object("dataSource", kDataSource),
                                object("dataSourceRef", kDataSource)};
constexpr Field kClaimMetadata[] = {{"labels", FieldType::StringMap},
                                    {"annotations", FieldType::StringMap}};
constexpr Field kClaimTemplate[] = {object("metadata", kClaimMetadata),
                                    required(object("spec", kClaimSpec))};
constexpr Field kEphemeral[] = {required(object("volumeClaimTemplate", kClaimTemplate))};

// Of the node and the network.

constexpr Field kHostPath[] = {required(text("path", Format::NoBacksteps)),
                               defaulted("type", kHostPathTypes)};
constexpr Field kEmptyDir[] = {text("medium"), quantity("sizeLimit")};
constexpr Field kImage[] = {required(text("reference")), defaulted("pullPolicy", kPullPolicies)};
constexpr Field kCsi[] = {required(text("driver", Format::CsiDriver)),
                          flag("readOnly"),
                          text("fsType"),
                          {"volumeAttributes", FieldType::StringMap},
                          object("nodePublishSecretRef", kNamedSecretRef)};
constexpr Field kNfs[] = {required(text("server")), required(text("path", Format::AbsolutePath)),
                          flag("readOnly")};
constexpr Field kIscsi[] = {required(text("targetPortal")),
                            required(text("iqn", Format::IscsiName)),
                            number("lun", kByte),
                            text("iscsiInterface"),
                            text("fsType"),
                            flag("readOnly"),
                            texts("portals"),
                            flag("chapAuthDiscovery"),
                            flag("chapAuthSession"),
                            object("secretRef", kSecretRef),
                            text("initiatorName", Format::IscsiName)};
constexpr Field kFc[] = {texts("targetWWNs"), number("lun", kByte), text("fsType"),
                         flag("readOnly"), texts("wwids")};
constexpr Field kFlexVolume[] = {required(text("driver")),
                                 text("fsType"),
                                 object("secretRef", kSecretRef),
                                 flag("readOnly"),
                                 {"options", FieldType::StringMap}};
constexpr Field kRbd[] = {required(texts("monitors")),
                          required(text("image")),
                          text("fsType"),
                          text("pool"),
                          text("user"),
                          text("keyring"),
                          object("secretRef", kSecretRef),
                          flag("readOnly")};
constexpr Field kCephfs[] = {
    required(texts("monitors")),     text("path"),    text("user"), text("secretFile"),
    object("secretRef", kSecretRef), flag("readOnly")};
constexpr Field kGlusterfs[] = {required(text("endpoints")), required(text("path")),
                                flag("readOnly")};
constexpr Field kFlocker[] = {text("datasetName"), text("datasetUUID")};
constexpr std::string_view kFlockerNames[] = {"datasetName", "datasetUUID"};
constexpr Field kQuobyte[] = {required(text("registry", Format::HostPorts)),
                              required(text("volume")),
                              flag("readOnly"),
                              text("user"),
                              text("group"),
                              text("tenant")};
constexpr Field kStorageos[] = {required(text("volumeName", Format::DnsLabel)),
                                text("volumeNamespace", Format::DnsLabel), text("fsType"),
                                flag("readOnly"), object("secretRef", kRequiredSecretRef)};
constexpr Field kScaleIo[] = {
    required(text("gateway")), required(text("system")),     object("secretRef", kSecretRef),
    flag("sslEnabled"),        text("protectionDomain"),     text("storagePool"),
    text("storageMode"),       required(text("volumeName")), text("fsType"),
    flag("readOnly")};

// Of clouds.

constexpr Field kGitRepo[] = {required(text("repository")), text("revision"),
                              text("directory", Format::RelativePath)};
constexpr Field kCinder[] = {required(text("volumeID")), text("fsType"), flag("readOnly"),
                             object("secretRef", kRequiredSecretRef)};
constexpr Field kGceDisk[] = {required(text("pdName")), text("fsType"), number("partition", kByte),
                              flag("readOnly")};
constexpr Field kAwsDisk[] = {required(text("volumeID")), text("fsType"),
                              number("partition", kByte), flag("readOnly")};
constexpr Field kAzureFile[] = {required(text("secretName")), required(text("shareName")),
                                flag("readOnly")};
constexpr Field kAzureDisk[] = {required(text("diskName")),
                                required(text("diskURI")),
                                one_of("cachingMode", kCachingModes),
                                text("fsType"),
                                flag("readOnly"),
                                one_of("kind", kDiskKinds)};
constexpr Field kVsphere[] = {required(text("volumePath")), text("fsType"),
                              text("storagePolicyName"), text("storagePolicyID")};
constexpr Field kPhoton[] = {required(text("pdID")), text("fsType")};
constexpr Field kPortworx[] = {required(text("volumeID")), text("fsType"), flag("readOnly")};

constexpr Field kVolume[] = {required(text("name", Format::DnsLabel)),
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
                             object("ephemeral", kEphemeral),
                             object("iscsi", kIscsi),
                             object("rbd", kRbd),
                             object("cephfs", kCephfs),
                             object("fc", kFc),
                             object("glusterfs", kGlusterfs),
                             object("flexVolume", kFlexVolume),
                             object("cinder", kCinder),
                             exactly_one(object("flocker", kFlocker), kFlockerNames),
                             object("azureFile", kAzureFile),
                             object("azureDisk", kAzureDisk),
                             object("vsphereVolume", kVsphere),
                             object("quobyte", kQuobyte),
                             object("portworxVolume", kPortworx),
                             object("scaleIO", kScaleIo),
                             object("storageos", kStorageos),
                             object("photonPersistentDisk", kPhoton),
                             object("gcePersistentDisk", kGceDisk),
                             object("awsElasticBlockStore", kAwsDisk),
                             object("gitRepo", kGitRepo)};
constexpr std::string_view kSources[] = {"hostPath",
                                         "emptyDir",
                                         "secret",
                                         "configMap",
                                         "downwardAPI",
                                         "projected",
                                         "nfs",
                                         "persistentVolumeClaim",
                                         "csi",
                                         "image",
                                         "ephemeral",
                                         "iscsi",
                                         "rbd",
                                         "cephfs",
                                         "fc",
                                         "glusterfs",
                                         "flexVolume",
                                         "cinder",
                                         "flocker",
                                         "azureFile",
                                         "azureDisk",
                                         "vsphereVolume",
                                         "quobyte",
                                         "portworxVolume",
                                         "scaleIO",
                                         "storageos",
                                         "photonPersistentDisk",
                                         "gcePersistentDisk",
                                         "awsElasticBlockStore",
                                         "gitRepo"};

// NOLINTEND(modernize-avoid-c-arrays)

}  // namespace

Field volumes_field() noexcept {
  return at_most_one(objects("volumes", kVolume), kSources);
}

}  // namespace injector::templates
