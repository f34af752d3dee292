#include "template/core_v1_fields.h"

#include "template/field_words.h"
#include "template/shared_fields.h"

namespace injector::templates {
namespace {

// NOLINTBEGIN(modernize-avoid-c-arrays): a table is as long as it is; std::array wants to be told.

constexpr std::string_view kProtocols[] = {"TCP", "UDP", "SCTP"};
constexpr std::string_view kRestartPolicies[] = {"Always", "OnFailure", "Never"};
constexpr std::string_view kRestartActions[] = {"Restart", "RestartAllContainers"};
constexpr std::string_view kExitCodeOperators[] = {"In", "NotIn"};
constexpr std::string_view kMessagePolicies[] = {"File", "FallbackToLogsOnError"};
constexpr std::string_view kSchemes[] = {"HTTP", "HTTPS"};
constexpr std::string_view kPropagations[] = {"None", "HostToContainer", "Bidirectional"};
constexpr std::string_view kRecursiveReadOnly[] = {"Disabled", "IfPossible", "Enabled"};
constexpr std::string_view kResizable[] = {"cpu", "memory"};
constexpr std::string_view kResizePolicies[] = {"NotRequired", "RestartContainer"};
constexpr std::string_view kProfileTypes[] = {"RuntimeDefault", "Localhost", "Unconfined"};
constexpr std::string_view kProcMounts[] = {"Default", "Unmasked"};
constexpr std::string_view kSignals[] = {
    "SIGABRT",     "SIGALRM",     "SIGBUS",      "SIGCHLD",     "SIGCLD",      "SIGCONT",
    "SIGFPE",      "SIGHUP",      "SIGILL",      "SIGINT",      "SIGIO",       "SIGIOT",
    "SIGKILL",     "SIGPIPE",     "SIGPOLL",     "SIGPROF",     "SIGPWR",      "SIGQUIT",
    "SIGSEGV",     "SIGSTKFLT",   "SIGSTOP",     "SIGSYS",      "SIGTERM",     "SIGTRAP",
    "SIGTSTP",     "SIGTTIN",     "SIGTTOU",     "SIGURG",      "SIGUSR1",     "SIGUSR2",
    "SIGVTALRM",   "SIGWINCH",    "SIGXCPU",     "SIGXFSZ",     "SIGRTMIN",    "SIGRTMIN+1",
    "SIGRTMIN+2",  "SIGRTMIN+3",  "SIGRTMIN+4",  "SIGRTMIN+5",  "SIGRTMIN+6",  "SIGRTMIN+7",
    "SIGRTMIN+8",  "SIGRTMIN+9",  "SIGRTMIN+10", "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13",
    "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMAX-14", "SIGRTMAX-13", "SIGRTMAX-12", "SIGRTMAX-11",
    "SIGRTMAX-10", "SIGRTMAX-9",  "SIGRTMAX-8",  "SIGRTMAX-7",  "SIGRTMAX-6",  "SIGRTMAX-5",
    "SIGRTMAX-4",  "SIGRTMAX-3",  "SIGRTMAX-2",  "SIGRTMAX-1",  "SIGRTMAX"};

constexpr std::string_view kEnvFromSources[] = {"configMapRef", "secretRef"};
constexpr std::string_view kEnvSources[] = {"fieldRef", "resourceFieldRef", "configMapKeyRef",
                                            "secretKeyRef", "fileKeyRef"};
constexpr std::string_view kProbeHandlers[] = {"exec", "httpGet", "tcpSocket", "grpc"};
constexpr std::string_view kHookHandlers[] = {"exec", "httpGet", "tcpSocket", "sleep"};

constexpr Range kLong = {.min = std::numeric_limits<std::int64_t>::min(),
                         .max = std::numeric_limits<std::int64_t>::max()};
constexpr Range kNotNegativeLong = {.min = 0, .max = kLong.max};

constexpr Field kContainerPort[] = {text("name", Format::PortName),
                                    required(port("containerPort", 1)), port("hostPort", 0),
                                    defaulted("protocol", kProtocols), text("hostIP")};

constexpr Field kEnvFromReference[] = {required(text("name", Format::SubdomainPrefix)),
                                       flag("optional")};
constexpr Field kEnvFrom[] = {text("prefix", Format::EnvName),
                              object("configMapRef", kEnvFromReference),
                              object("secretRef", kEnvFromReference)};
constexpr Field kKeySelector[] = {required(text("name", Format::Subdomain)),
                                  required(text("key", Format::ConfigKey)), flag("optional")};
constexpr Field kEnvFieldRef[] = {defaulted("apiVersion", kApiVersions),
                                  required(text("fieldPath", Format::EnvFieldPath))};
constexpr Field kFileKeyRef[] = {required(text("volumeName", Format::DnsLabel)),
                                 required(text("path", Format::NoBacksteps)),
                                 required(text("key", Format::EnvName)), flag("optional")};
constexpr Field kEnvSource[] = {
    object("fieldRef", kEnvFieldRef), object("resourceFieldRef", kResourceFieldRef),
    object("configMapKeyRef", kKeySelector), object("secretKeyRef", kKeySelector),
    object("fileKeyRef", kFileKeyRef)};
constexpr Field kEnv[] = {required(text("name", Format::EnvName)), text("value"),
                          exactly_one(object("valueFrom", kEnvSource), kEnvSources)};

constexpr Field kResourceClaim[] = {required(text("name", Format::DnsLabel)),
                                    text("request", Format::DnsLabel)};
constexpr Field kResources[] = {{"limits", FieldType::QuantityMap},
                                {"requests", FieldType::QuantityMap},
                                objects("claims", kResourceClaim)};
constexpr Field kResizePolicy[] = {required(one_of("resourceName", kResizable)),
                                   required(one_of("restartPolicy", kResizePolicies))};
constexpr Field kVolumeMount[] = {required(text("name")),
                                  required(text("mountPath")),
                                  text("subPath", Format::RelativePath),
                                  text("subPathExpr", Format::RelativePath),
                                  flag("readOnly"),
                                  one_of("recursiveReadOnly", kRecursiveReadOnly),
                                  one_of("mountPropagation", kPropagations)};
constexpr Field kVolumeDevice[] = {required(text("name")),
                                   required(text("devicePath", Format::NoBacksteps))};

constexpr Field kExec[] = {required(texts("command"))};
constexpr Field kHeader[] = {required(text("name", Format::HeaderName)), text("value")};
constexpr Field kNumberOrName = {
    .name = "port", .type = FieldType::IntOrString, .format = Format::PortName};
constexpr Field kHttpGet[] = {text("path"), required(kNumberOrName), text("host"),
                              defaulted("scheme", kSchemes), objects("httpHeaders", kHeader)};
constexpr Field kTcpSocket[] = {required(kNumberOrName), text("host")};
constexpr Field kGrpc[] = {required(port("port", 1)), text("service")};
constexpr Field kSleep[] = {number("seconds", kNotNegativeLong)};

constexpr Field kReadinessProbe[] = {object("exec", kExec),
                                     object("httpGet", kHttpGet),
                                     object("tcpSocket", kTcpSocket),
                                     object("grpc", kGrpc),
                                     number("initialDelaySeconds", kNotNegative),
                                     number("timeoutSeconds", kNotNegative),
                                     number("periodSeconds", kNotNegative),
                                     number("successThreshold", kNotNegative),
                                     number("failureThreshold", kNotNegative),
                                     number("terminationGracePeriodSeconds", kLong)};
constexpr Field kOtherProbe[] = {object("exec", kExec),
                                 object("httpGet", kHttpGet),
                                 object("tcpSocket", kTcpSocket),
                                 object("grpc", kGrpc),
                                 number("initialDelaySeconds", kNotNegative),
                                 number("timeoutSeconds", kNotNegative),
                                 number("periodSeconds", kNotNegative),
                                 number("successThreshold", {0, 1}),
                                 number("failureThreshold", kNotNegative),
                                 number("terminationGracePeriodSeconds", {1, kLong.max})};
constexpr Field kHandler[] = {object("exec", kExec), object("httpGet", kHttpGet),
                              object("tcpSocket", kTcpSocket), object("sleep", kSleep)};
constexpr Field kLifecycle[] = {exactly_one(object("postStart", kHandler), kHookHandlers),
                                exactly_one(object("preStop", kHandler), kHookHandlers),
                                one_of("stopSignal", kSignals)};

constexpr Field kExitCodeValues = {.name = "values", .type = FieldType::Integer, .is_list = true};
constexpr Field kExitCodes[] = {required(one_of("operator", kExitCodeOperators)), kExitCodeValues};
constexpr Field kRestartRule[] = {required(one_of("action", kRestartActions)),
                                  required(object("exitCodes", kExitCodes))};

constexpr Field kCapabilities[] = {texts("add"), texts("drop")};
constexpr Field kSeccomp[] = {required(one_of("type", kProfileTypes)),
                              text("localhostProfile", Format::RelativePath)};
constexpr Field kAppArmor[] = {required(one_of("type", kProfileTypes)),
                               text("localhostProfile", Format::Unpadded)};
constexpr Field kSeLinux[] = {text("user"), text("role"), text("type"), text("level")};
constexpr Field kWindows[] = {text("gmsaCredentialSpecName", Format::Subdomain),
                              text("gmsaCredentialSpec"), text("runAsUserName"),
                              flag("hostProcess")};
constexpr Field kSecurityContext[] = {object("capabilities", kCapabilities),
                                      flag("privileged"),
                                      object("seLinuxOptions", kSeLinux),
                                      object("windowsOptions", kWindows),
                                      number("runAsUser", kNotNegative),
                                      number("runAsGroup", kNotNegative),
                                      flag("runAsNonRoot"),
                                      flag("readOnlyRootFilesystem"),
                                      flag("allowPrivilegeEscalation"),
                                      one_of("procMount", kProcMounts),
                                      object("seccompProfile", kSeccomp),
                                      object("appArmorProfile", kAppArmor)};

constexpr Field kContainer[] = {
    required(text("name", Format::DnsLabel)),
    required(text("image", Format::Unpadded)),
    texts("command"),
    texts("args"),
    text("workingDir"),
    objects("ports", kContainerPort),
    exactly_one(objects("envFrom", kEnvFrom), kEnvFromSources),
    objects("env", kEnv),
    object("resources", kResources),
    objects("resizePolicy", kResizePolicy),
    one_of("restartPolicy", kRestartPolicies),
    objects("restartPolicyRules", kRestartRule),
    objects("volumeMounts", kVolumeMount),
    objects("volumeDevices", kVolumeDevice),
    exactly_one(object("livenessProbe", kOtherProbe), kProbeHandlers),
    exactly_one(object("readinessProbe", kReadinessProbe), kProbeHandlers),
    exactly_one(object("startupProbe", kOtherProbe), kProbeHandlers),
    object("lifecycle", kLifecycle),
    text("terminationMessagePath"),
    defaulted("terminationMessagePolicy", kMessagePolicies),
    defaulted("imagePullPolicy", kPullPolicies),
    object("securityContext", kSecurityContext),
    flag("stdin"),
    flag("stdinOnce"),
    flag("tty")};

constexpr Field kPullSecret[] = {text("name")};

// NOLINTEND(modernize-avoid-c-arrays)

}  // namespace

Fields container_fields() noexcept {
  return kContainer;
}

Fields local_object_reference_fields() noexcept {
  return kPullSecret;
}

}  // namespace injector::templates
