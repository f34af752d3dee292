#include "tests/support/api_server.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <httplib.h>

#include "base/json.h"
#include "base/json_text.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"

namespace injector::tests {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr std::chrono::seconds kStartDeadline{120};
constexpr std::chrono::seconds kRequestTimeout{30};

std::string random_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::string first_line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::vector<ApiServer::User> with_administrator(const std::vector<ApiServer::User>& users) {
  std::vector<ApiServer::User> all = {{.name = "admin", .groups = {"system:masters"}}};
  all.insert(all.end(), users.begin(), users.end());
  return all;
}

std::string existing_binaries() {
  ApiServerBinaries found = find_api_server_binaries();
  if (!found.directory) {
    throw std::runtime_error(found.why_not);
  }
  return *std::move(found.directory);
}

void stop(std::optional<ChildProcess>& process) {
  if (process) {
    process->stop();
    process.reset();
  }
}

/// Asks until the answer is yes. The child's end cuts the wait short.
void wait_for(ChildProcess& child, const std::string& log, const std::function<bool()>& ready) {
  constexpr std::chrono::milliseconds kPause{100};
  const auto until = std::chrono::steady_clock::now() + kStartDeadline;
  while (!ready()) {
    if (const auto code = child.wait(kPause)) {
      throw std::runtime_error(
          fmt::format("ended with {} instead of starting; {}:\n{}", *code, log, tail(log)));
    }
    if (std::chrono::steady_clock::now() >= until) {
      throw std::runtime_error(
          fmt::format("not ready after {} s; {}:\n{}", kStartDeadline.count(), log, tail(log)));
    }
  }
}

ApiServer::Response send(httplib::ClientImpl& client, httplib::Request request) {
  client.set_connection_timeout(kRequestTimeout);
  client.set_read_timeout(kRequestTimeout);
  const httplib::Result result = client.send(request);
  if (!result) {
    return {.status = 0, .body = "no answer: " + httplib::to_string(result.error())};
  }
  return {.status = result->status, .body = result->body};
}

httplib::Request make_request(const std::string& method, const std::string& path,
                              const std::string& body, const std::string& content_type) {
  httplib::Request request;
  request.method = method;
  request.path = path;
  if (!body.empty()) {
    request.body = body;
    request.set_header("Content-Type", content_type);
  }
  return request;
}

/// etcd's JSON gateway writes 64-bit numbers as text.
std::int64_t revision_in(const std::string& body) {
  const auto answer = base::read_json(body);
  const std::string_view text =
      answer ? base::text_of(base::find(answer.value(), "header", "revision")) : std::string_view{};
  if (text.empty()) {
    throw std::runtime_error("no revision in etcd's answer: " + body);
  }
  return std::stoll(std::string(text));
}

}  // namespace

ApiServerBinaries find_api_server_binaries() {
  if (const char* known = std::getenv("INJ_APISERVER_BIN"); known != nullptr && *known != '\0') {
    return {.directory = known, .why_not = ""};
  }
  const TempDir dir;
  const std::string log = dir.file("finder.log");
  if (run({.argv = {std::string(kSourceDir) + "/tools/get-apiserver", "--find-only"},
           .log_file = log}) != 0) {
    return {.directory = std::nullopt, .why_not = tail(log)};
  }
  return {.directory = first_line_of(log), .why_not = ""};
}

ApiServer::ApiServer()
    : ApiServer(Options{}) {}

ApiServer::ApiServer(const Options& options)
    : binaries_(existing_binaries()),
      ca_(dir_),
      serving_(ca_.issue_server("kube-apiserver")),
      admin_(ca_.issue_client("admin", "system:masters")),
      service_account_key_(make_private_key(dir_, "service-account")),
      users_(with_administrator(options.users)),
      flags_(options.flags),
      port_(free_port()),
      etcd_port_(free_port()),
      etcd_peer_port_(free_port()),
      url_(fmt::format("https://{}:{}", kHost, port_)) {
  std::generate_n(std::back_inserter(tokens_), users_.size(), random_token);
  kubeconfig_ = write_kubeconfig("kubeconfig",
                                 fmt::format("{{client-certificate: \"{}\", client-key: \"{}\"}}",
                                             admin_.cert_file, admin_.key_file));
  start_etcd();
  start_api_server();
}

const std::string& ApiServer::token_of(std::string_view user) const {
  const auto found = std::find_if(users_.begin(), users_.end(),
                                  [&](const User& other) { return other.name == user; });
  if (found == users_.end()) {
    throw std::runtime_error(fmt::format("no user {} in the options", user));
  }
  return tokens_[static_cast<std::size_t>(found - users_.begin())];
}

std::string ApiServer::kubeconfig_of(const std::string& user) const {
  return write_kubeconfig("kubeconfig-" + token_of(user),
                          fmt::format("{{token: \"{}\"}}", token_of(user)));
}

std::string ApiServer::write_kubeconfig(const std::string& file,
                                        const std::string& credentials) const {
  constexpr const char* kText = R"(apiVersion: v1
kind: Config
clusters:
- name: test
  cluster: {{server: "{}", certificate-authority: "{}"}}
users:
- name: test
  user: {}
contexts:
- name: test
  context: {{cluster: test, user: test}}
current-context: test
)";
  return dir_.write(file, fmt::format(kText, url_, ca_file(), credentials));
}

std::string ApiServer::write_tokens() const {
  std::string text;
  for (std::size_t i = 0; i < users_.size(); ++i) {
    text += fmt::format("{0},{1},{1},\"{2}\"\n", tokens_[i], users_[i].name,
                        fmt::join(users_[i].groups, ","));
  }
  return dir_.write("tokens.csv", text);
}

ApiServer::Response ApiServer::request(const std::string& method, const std::string& path,
                                       const std::string& body,
                                       const std::string& content_type) const {
  httplib::SSLClient client(kHost, port_, admin_.cert_file, admin_.key_file);
  client.set_ca_cert_path(ca_file());
  return send(client, make_request(method, path, body, content_type));
}

ApiServer::Response ApiServer::request_as(const std::string& token, const std::string& method,
                                          const std::string& path, const std::string& body) const {
  httplib::SSLClient client(kHost, port_);
  client.set_ca_cert_path(ca_file());
  if (!token.empty()) {
    client.set_bearer_token_auth(token);
  }
  return send(client, make_request(method, path, body, "application/json"));
}

std::string ApiServer::binary(std::string_view name) const {
  return fmt::format("{}/{}", binaries_, name);
}

void ApiServer::spawn(std::optional<ChildProcess>& process, std::vector<std::string> command) {
  if (process && process->running()) {
    throw std::logic_error(command.front() + " runs already");
  }
  const std::string log = command.front().substr(command.front().rfind('/') + 1) + ".log";
  process.emplace(ChildProcess::Command{.argv = std::move(command), .log_file = dir_.file(log)});
}

void ApiServer::start_etcd() {
  const std::string client = fmt::format("http://{}:{}", kHost, etcd_port_);
  const std::string peer = fmt::format("http://{}:{}", kHost, etcd_peer_port_);
  spawn(etcd_, {binary("etcd"), "--name=test", "--data-dir=" + dir_.file("etcd"),
                "--listen-client-urls=" + client, "--advertise-client-urls=" + client,
                "--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
                "--initial-cluster=test=" + peer, "--logger=zap", "--log-level=warn"});
  wait_for(*etcd_, dir_.file("etcd.log"), [this] { return etcd_healthy(); });
  if (api_server_ && api_server_->running()) {
    wait_until_ready();
  }
}

bool ApiServer::etcd_healthy() const {
  httplib::ClientImpl client(kHost, etcd_port_);
  const httplib::Result result = client.Get("/health");
  return result && result->status == 200;
}

void ApiServer::stop_etcd() {
  stop(etcd_);
}

void ApiServer::kill_etcd() {
  etcd_.reset();
}

std::vector<std::string> ApiServer::api_server_command() const {
  return {binary("kube-apiserver"),
          fmt::format("--etcd-servers=http://{}:{}", kHost, etcd_port_),
          fmt::format("--bind-address={}", kHost),
          fmt::format("--secure-port={}", port_),
          "--tls-cert-file=" + serving_.cert_file,
          "--tls-private-key-file=" + serving_.key_file,
          "--client-ca-file=" + ca_file(),
          "--token-auth-file=" + write_tokens(),
          "--authorization-mode=RBAC",
          "--disable-admission-plugins=ServiceAccount",
          "--service-account-issuer=https://kubernetes.default.svc",
          "--service-account-key-file=" + service_account_key_,
          "--service-account-signing-key-file=" + service_account_key_,
          "--service-cluster-ip-range=10.0.0.0/24",
          "--endpoint-reconciler-type=none",  // It would not publish a loopback address.
          "--allow-privileged=true"};
}

void ApiServer::start_api_server() {
  std::vector<std::string> command = api_server_command();
  command.insert(command.end(), flags_.begin(), flags_.end());
  spawn(api_server_, std::move(command));
  wait_until_ready();
}

bool ApiServer::ready() const {
  return request("GET", "/readyz").status == 200 &&
         request("GET", "/api/v1/namespaces/default").status == 200;
}

void ApiServer::wait_until_ready() {
  wait_for(*api_server_, dir_.file("kube-apiserver.log"), [this] { return ready(); });
}

void ApiServer::stop_api_server() {
  stop(api_server_);
}

void ApiServer::kill_api_server() {
  api_server_.reset();
}

void ApiServer::start_controller_manager() {
  const int port = free_port();
  spawn(controller_manager_,
        {binary("kube-controller-manager"), "--kubeconfig=" + kubeconfig_, "--leader-elect=false",
         fmt::format("--bind-address={}", kHost), fmt::format("--secure-port={}", port),
         "--port=0",  // Without it, an unprotected port is open to the world.
         "--tls-cert-file=" + serving_.cert_file, "--tls-private-key-file=" + serving_.key_file,
         "--controllers=deployment,replicaset,replicationcontroller,statefulset,daemonset,job,"
         "cronjob,"
         "disruption,serviceaccount,namespace,garbagecollector"});
  wait_for(*controller_manager_, dir_.file("kube-controller-manager.log"), [&] {
    httplib::SSLClient client(kHost, port);
    client.set_ca_cert_path(ca_file());
    return send(client, make_request("GET", "/healthz", "", "")).status == 200;
  });
}

void ApiServer::stop_controller_manager() {
  stop(controller_manager_);
}

std::int64_t ApiServer::compact_etcd() {
  httplib::ClientImpl client(kHost, etcd_port_);
  const Response now =
      send(client, make_request("POST", "/v3/kv/range", R"({"key":"AA=="})", "application/json"));
  const std::int64_t revision = revision_in(now.body);
  const std::string wish = fmt::format(R"({{"revision":"{}","physical":true}})", revision);
  const Response done =
      send(client, make_request("POST", "/v3/kv/compaction", wish, "application/json"));
  if (done.status != 200) {
    throw std::runtime_error("compaction: " + done.body);
  }
  return revision;
}

std::vector<pid_t> ApiServer::pids() const {
  std::vector<pid_t> pids;
  for (const auto* process : {&etcd_, &api_server_, &controller_manager_}) {
    if (*process) {
      pids.push_back((*process)->pid());
    }
  }
  return pids;
}

}  // namespace injector::tests
