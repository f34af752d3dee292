// Where the API server is and who we are to it: kubectl's kubeconfig rules, or the Pod's own
// service account.
//
//   --kubeconfig FILE     that file alone; missing is an error
//   KUBECONFIG=A:B        each file once, missing ones skipped; the first file wins for an entry of
//                         a name (whole entries, never mixed) and for current-context
//   ~/.kube/config        otherwise
//   nothing in any        in-cluster: KUBERNETES_SERVICE_HOST and the service account's files
//
// Relative paths belong to the folder of the file they stand in; "...-data" beats a file. What we
// do not support (auth-provider, impersonation) is an error that names its place, because leaving
// it out would mean talking to the server as somebody else.
//
// A cluster's proxy-url is the proxy; otherwise HTTPS_PROXY and the like are (http/proxy.h).
//
// Pure but for reading files; may be called from any thread.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "http/proxy.h"
#include "tls/client_context.h"

namespace injector::kube {

/// The command line's part. Empty: not given.
struct ConfigOptions {
  std::string kubeconfig{};
  std::string context{};
  std::string master{};      // Overrides the server, nothing else.
  std::string name_space{};  // Overrides the context's.
};

/// What load_config() asks of the process, so that tests can answer.
struct Environment {
  std::function<std::optional<std::string>(const std::string& name)> variable;
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";

  /// The real one.
  [[nodiscard]] static Environment of_process();
};

enum class InteractiveMode { Never, IfAvailable, Always };

/// A client.authentication.k8s.io credential plugin.
struct ExecSettings {
  std::string api_version;
  std::string command;  // Absolute, or a bare name to be found in PATH.
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // Added to ours.
  std::string install_hint;
  InteractiveMode interactive = InteractiveMode::IfAvailable;
  base::Json cluster;  // spec.cluster of KUBERNETES_EXEC_INFO; null unless provideClusterInfo.
};

/// At most one of token (with or without its file), basic and exec is set.
struct AuthSettings {
  std::string token;       // Serves until token_file can be read.
  std::string token_file;  // Read again about every minute and after a 401.
  std::string username;
  std::string password;
  std::optional<ExecSettings> exec;
};

/// The context of a client that has no kubeconfig but the Pod's service account.
inline constexpr const char* kInCluster = "in-cluster";

struct ClientConfig {
  std::string server;  // https://host:port/prefix
  tls::ClientSettings tls;
  std::optional<http::Proxy> proxy;
  AuthSettings auth;
  std::string name_space = "default";
  std::string context;  // The kubeconfig's; kInCluster; empty with --master alone.
};

[[nodiscard]] base::Result<ClientConfig> load_config(const ConfigOptions& options,
                                                     const Environment& environment);

/// The selected context of one kubeconfig text, for fuzzing and tests: `path` stands in messages,
/// and relative paths resolve against its folder.
[[nodiscard]] base::Result<ClientConfig> read_kubeconfig(std::string_view text,
                                                         const std::string& path,
                                                         const ConfigOptions& options);

}  // namespace injector::kube
