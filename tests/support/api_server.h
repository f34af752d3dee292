// A real Kubernetes API server for tests: etcd and kube-apiserver, and kube-controller-manager on
// demand, as child processes on 127.0.0.1, with certificates of their own. No nodes, no kubectl.
//
// Programs that use it are declared with inj_apiserver_tests() in tests/CMakeLists.txt, whose
// main() reports the program as skipped where the binaries cannot be had. The cases of a program
// share a server, as starting one takes seconds; it goes away when the program ends, however it
// does:
//
//   ApiServer& server() {
//     static ApiServer instance{{.users = {{.name = "nobody"}}}};
//     return instance;
//   }

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/certificates.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {

/// Where etcd, kube-apiserver and kube-controller-manager are: in INJ_APISERVER_BIN, else where
/// `tools/get-apiserver --find-only` finds them.
struct ApiServerBinaries {
  std::optional<std::string> directory;
  std::string why_not;  ///< If there is no directory.
};

ApiServerBinaries find_api_server_binaries();

/// Listens with TLS only; authenticates certificates and tokens; authorizes by RBAC; the admission
/// plugin ServiceAccount is off, so that Pods can be created without one. What cannot be started
/// throws std::runtime_error with the end of its log. Only the const functions may be called from
/// several threads, and the processes must be started by a thread that outlives them (see
/// ChildProcess).
class ApiServer {
 public:
  /// Someone who can authenticate with a token, and may do only what RBAC rules made later allow.
  struct User {
    std::string name;  ///< Such as system:serviceaccount:default:injector.
    std::vector<std::string> groups = {};
  };

  struct Options {
    std::vector<User> users = {};
    std::vector<std::string> flags = {};  ///< Of kube-apiserver; they win over ours.
  };

  struct Response {
    int status = 0;    ///< 0 if there was no answer.
    std::string body;  ///< Without an answer: why.
  };

  ApiServer();  ///< With no users and no flags.
  explicit ApiServer(const Options& options);

  [[nodiscard]] const std::string& url() const noexcept { return url_; }

  [[nodiscard]] int port() const noexcept { return port_; }

  [[nodiscard]] const std::string& ca_file() const noexcept { return ca_.cert_file(); }

  /// The administrator (group system:masters) has a certificate, a token, and a kubeconfig that
  /// uses the certificate.
  [[nodiscard]] const KeyPair& client_certificate() const noexcept { return admin_; }

  [[nodiscard]] const std::string& token() const noexcept { return tokens_.front(); }

  [[nodiscard]] const std::string& kubeconfig_path() const noexcept { return kubeconfig_; }

  /// The token of a user named in the options.
  [[nodiscard]] const std::string& token_of(std::string_view user) const;

  /// Writes a kubeconfig that authenticates with that user's token, and returns its path.
  [[nodiscard]] std::string kubeconfig_of(const std::string& user) const;

  /// One request as the administrator, on a connection of its own. Give a body to send it.
  [[nodiscard]] Response request(const std::string& method, const std::string& path,
                                 const std::string& body = "",
                                 const std::string& content_type = "application/json") const;

  /// The same with a token; as nobody in particular if it is empty.
  [[nodiscard]] Response request_as(const std::string& token, const std::string& method,
                                    const std::string& path, const std::string& body = "") const;

  /// Ready means that /readyz says so and the namespace default is there. All that was stored is
  /// kept over a stop or a kill; port and certificates stay the same. stop is SIGTERM, kill is
  /// SIGKILL.
  void start_api_server();
  void stop_api_server();
  void kill_api_server();

  /// While etcd is away, kube-apiserver runs on and fails requests. start_etcd() waits until it is
  /// ready again, if it runs.
  void start_etcd();
  void stop_etcd();
  void kill_etcd();

  /// Makes Deployments, Jobs and the like into Pods (which stay Pending: there are no nodes),
  /// removes what belongs to nobody, and empties deleted namespaces. Kubernetes 1.20 to 1.23.
  void start_controller_manager();
  void stop_controller_manager();

  /// Forgets all history up to now: what asks for an older resourceVersion gets 410 from etcd.
  /// Returns the newest revision. (kube-apiserver may still know more in its watch cache; to turn
  /// that off for a resource: --watch-cache-sizes=secrets#0.)
  std::int64_t compact_etcd();

  /// All that this server has on disk, logs included.
  [[nodiscard]] const TempDir& directory() const noexcept { return dir_; }

  /// Of the processes that run: etcd, kube-apiserver, kube-controller-manager.
  [[nodiscard]] std::vector<pid_t> pids() const;

 private:
  [[nodiscard]] std::string binary(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> api_server_command() const;
  [[nodiscard]] std::string write_tokens() const;
  [[nodiscard]] std::string write_kubeconfig(const std::string& file,
                                             const std::string& credentials) const;
  [[nodiscard]] bool etcd_healthy() const;
  [[nodiscard]] bool ready() const;
  void wait_until_ready();
  void spawn(std::optional<ChildProcess>& process, std::vector<std::string> command);

  std::string binaries_;
  TempDir dir_;
  CertificateAuthority ca_;
  KeyPair serving_;
  KeyPair admin_;
  std::string service_account_key_;
  std::vector<User> users_;          // The administrator first;
  std::vector<std::string> tokens_;  // in the same order.
  std::vector<std::string> flags_;
  int port_;
  int etcd_port_;
  int etcd_peer_port_;
  std::string url_;
  std::string kubeconfig_;
  std::optional<ChildProcess> etcd_;
  std::optional<ChildProcess> api_server_;
  std::optional<ChildProcess> controller_manager_;
};

}  // namespace injector::tests
