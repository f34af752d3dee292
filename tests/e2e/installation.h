// manifests/ on a real API server with a real kubectl: what the tests of installing share.
//
// The server is 1.20, so everything is installed with the components for servers of that age. It
// stores no field that it does not know, matchConditions among them.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/support/api_server.h"
#include "tests/support/child_process.h"
#include "tests/support/kubectl.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {

inline constexpr const char* kConfigurations =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
inline constexpr const char* kOurConfigMaps = "/api/v1/namespaces/envoy-initializer/configmaps";
inline constexpr const char* kAccount = "system:serviceaccount:envoy-initializer:envoy-initializer";
inline constexpr const char* kWorkloadsAccount =
    "system:serviceaccount:envoy-initializer:envoy-initializer-workloads";
inline constexpr const char* kRepairAccount =
    "system:serviceaccount:envoy-initializer:envoy-initializer-repair";

/// One for all cases of a program. Services get addresses of this machine: who listens there stands
/// for kube-proxy and the Pods.
ApiServer& server();

std::string api_version(const base::Json& object);
std::string name_of(const base::Json& object);

/// Where objects of this kind are created. Throws std::out_of_range for a kind it does not know.
std::string collection(const base::Json& object);
std::string path_of(const base::Json& object);

void must_create(const base::Json& object);
void must_create_all(const std::string& file);  ///< Of a file below manifests/.

/// The object there; the test fails if there is none.
base::Json get(const std::string& path);

/// Whether it is there.
bool exists(const std::string& path);

/// As the administrator.
KubectlResult kubectl_here(std::vector<std::string> arguments);

/// The same, and the test fails if it does.
std::string must_kubectl(const std::vector<std::string>& arguments);

/// An overlay with the components that this server needs, and more of them.
std::string overlay_here(const TempDir& dir, const std::vector<std::string>& resources,
                         std::vector<std::string> components = {});

/// kubectl apply -k manifests/, as an install and as an upgrade.
void apply_manifests(const std::vector<std::string>& components = {});

/// kubectl delete -k manifests/base/.
void delete_manifests(const std::vector<std::string>& components = {});

/// The arguments of a Deployment, for a process of this machine.
std::vector<std::string> local_command(const base::Json& deployment,
                                       const std::map<std::string, std::string>& changes);

/// The base's Deployment as a process that stands where its Service points to: as root only.
ChildProcess start_webhook(const TempDir& dir);

/// Port 443 of any address.
bool may_listen();

/// A Pod of one container, "app".
base::Json plain_pod(const std::string& name_space = "default");

struct Created {
  int status = 0;
  std::string message;                  ///< The answer's body.
  std::vector<std::string> containers;  ///< Of the Pod as it would be stored.
};

/// In a dry run.
Created create(const base::Json& pod);

}  // namespace injector::tests
