#include "tests/support/initializer_server.h"

#include <chrono>
#include <sstream>
#include <utility>

#include "base/json_text.h"

namespace injector::tests {
namespace {

using base::Json;
using runtime::WatchEventType;
using Answer = InitializerModel::Answer;

constexpr const char* kToken = "the-loop";
constexpr const char* kLeases = "/apis/coordination.k8s.io/v1beta1";
constexpr const char* kConfigurations =
    "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations";

void respond(FakeApi::Peer& peer, const Answer& answer) {
  peer.respond(answer.code, base::write_json(answer.body), "Content-Type: application/json\r\n");
}

const char* name_of(WatchEventType type) {
  switch (type) {
    case WatchEventType::Added:
      return "ADDED";
    case WatchEventType::Modified:
      return "MODIFIED";
    case WatchEventType::Deleted:
      return "DELETED";
    case WatchEventType::Bookmark:
    case WatchEventType::Error:
      break;
  }
  return "ERROR";
}

Json discovery() {
  return {{"kind", "APIResourceList"},
          {"groupVersion", "admissionregistration.k8s.io/v1alpha1"},
          {"resources", Json::array({{{"name", "initializerconfigurations"},
                                      {"kind", "InitializerConfiguration"},
                                      {"namespaced", false}}})}};
}

Json lease_discovery() {
  return {
      {"kind", "APIResourceList"},
      {"groupVersion", "coordination.k8s.io/v1beta1"},
      {"resources", Json::array({{{"name", "leases"}, {"kind", "Lease"}, {"namespaced", true}}})}};
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) {
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

/// A request of core/v1: /api/v1/[namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]]?QUERY
struct InitializerServer::Call {
  explicit Call(const FakeApi::Request& given)
      : request(given),
        path(given.target.substr(0, given.target.find('?'))) {
    read_path(split(path, '/'));
    if (path.size() < given.target.size()) {
      for (const std::string& pair : split(given.target.substr(path.size() + 1), '&')) {
        const std::size_t equals = pair.find('=');
        query[pair.substr(0, equals)] = equals == std::string::npos ? "" : pair.substr(equals + 1);
      }
    }
  }

  // parts: "", "api", "v1", ...
  void read_path(const std::vector<std::string>& parts) {
    std::size_t at = 3;
    if (parts.size() > 5 && parts[3] == "namespaces") {
      name_space = parts[4];
      at = 5;
    }
    plural = parts.size() > at ? parts[at] : "";
    name = parts.size() > at + 1 ? parts[at + 1] : "";
    subresource = parts.size() > at + 2 ? parts[at + 2] : "";
  }

  [[nodiscard]] std::string get(const std::string& parameter) const {
    const auto found = query.find(parameter);
    return found == query.end() ? "" : found->second;
  }

  // 1.13: anything but false and 0.
  [[nodiscard]] bool includes() const {
    const std::string value = get("includeUninitialized");
    return query.contains("includeUninitialized") && value != "false" && value != "0";
  }

  [[nodiscard]] InitializerModel::Cursor cursor() const {
    const std::string version = get("resourceVersion");
    return {plural, name_space, includes(), version.empty() ? 0 : std::stoul(version)};
  }

  [[nodiscard]] bool from_loop() const {
    return request.header("authorization") == std::string("Bearer ") + kToken;
  }

  const FakeApi::Request& request;
  std::string path;
  std::string name_space;
  std::string plural;
  std::string name;
  std::string subresource;
  std::map<std::string, std::string> query;
};

InitializerServer::InitializerServer()
    : loop_verbs_(InitializerModel::Caller{}) {
  api_ = std::make_unique<FakeApi>(
      [this](const FakeApi::Request& request, FakeApi::Peer& peer) { serve(request, peer); });
  kubeconfig_ =
      dir_.write("kubeconfig",
                 "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                 "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                 "clusters: [{name: c, cluster: {server: '" +
                     api_->url() + "', certificate-authority: '" + TestCertificates::authority() +
                     "'}}]\n"
                     "users: [{name: u, user: {token: " +
                     kToken + "}}]\n");
}

InitializerServer::~InitializerServer() {
  stop_.request_stop();
}

std::vector<Json> InitializerServer::events() const {
  const base::MutexLock lock(mutex_);
  return events_;
}

void InitializerServer::serve(const FakeApi::Request& request, FakeApi::Peer& peer) {
  const Call call(request);
  if (call.path == kConfigurations && request.method == "POST") {
    return respond(peer, model_.create_configuration(base::read_json(request.body).value()));
  }
  if (call.path == "/apis/admissionregistration.k8s.io/v1alpha1") {
    return respond(peer, {200, discovery()});
  }
  if (call.path == kLeases) {
    return respond(peer, {200, lease_discovery()});
  }
  if (call.path.rfind(std::string(kLeases) + "/", 0) == 0) {
    return serve_lease(call, peer);
  }
  if (call.path == "/version") {
    return respond(peer, {200, {{"major", "1"}, {"minor", std::to_string(minor_)}}});
  }
  if (call.plural == "pods" && call.name.empty()) {
    return serve_pods(call, peer);
  }
  if (call.plural == "pods") {
    return serve_pod(call, peer);
  }
  if (call.plural == "namespaces" && request.method == "GET") {
    return call.get("watch").empty() ? respond(peer, model_.list(call.cursor()))
                                     : serve_watch(call, peer);
  }
  if (call.plural == "events") {
    return take_event(call, peer);
  }
  peer.refuse(404, "NotFound");
}

void InitializerServer::serve_pods(const Call& call, FakeApi::Peer& peer) {
  if (call.request.method == "GET") {
    return call.get("watch").empty() ? respond(peer, model_.list(call.cursor()))
                                     : serve_watch(call, peer);
  }
  const auto pod = base::read_json(call.request.body);
  if (call.request.method != "POST" || !pod) {
    return peer.refuse(400, "BadRequest");
  }
  InitializerModel::CreateOptions options;
  options.include_uninitialized = call.includes();
  if (const std::string timeout = call.get("timeout"); !timeout.empty()) {
    options.timeout = std::chrono::seconds(std::stoi(timeout));  // "2s".
  }
  const auto caller = call.from_loop() ? loop_verbs_.load() : InitializerModel::Caller{};
  respond(peer, model_.create(call.name_space, pod.value(), options, caller, stop_.get_token()));
}

void InitializerServer::serve_pod(const Call& call, FakeApi::Peer& peer) {
  if (call.request.method == "PATCH") {
    return serve_patch(call, peer);
  }
  if (call.request.method == "DELETE") {
    return respond(peer, model_.remove(call.name_space, call.name));
  }
  respond(peer, model_.get(call.name_space, call.name));
}

void InitializerServer::serve_patch(const Call& call, FakeApi::Peer& peer) {
  if (call.subresource == "status") {
    return respond(peer, model_.patch_status(call.name_space, call.name));
  }
  const auto caller = call.from_loop() ? loop_verbs_.load() : InitializerModel::Caller{};
  const Answer answer = model_.patch(
      call.name_space, call.name, call.request.header("content-type"), call.request.body, caller);
  const int every = lose_every_;
  if (answer.code == 200 && every > 0 && ++patches_ % every == 0) {
    return peer.reset();
  }
  respond(peer, answer);
}

void InitializerServer::serve_watch(const Call& call, FakeApi::Peer& peer) {
  const std::string seconds = call.get("timeoutSeconds");
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::seconds(seconds.empty() ? 300 : std::stoi(seconds));
  peer.start_chunked();
  InitializerModel::Cursor cursor = call.cursor();
  while (auto event = model_.next(cursor, deadline, stop_.get_token())) {
    const Json line = {{"type", name_of(event->type)}, {"object", std::move(event->object)}};
    if (!peer.send_chunk(base::write_json(line) + "\n")) {
      return peer.cut();
    }
  }
  peer.send("0\r\n\r\n");
}

// One Lease, under whatever name.
void InitializerServer::serve_lease(const Call& call, FakeApi::Peer& peer) {
  if (leases_forbidden_) {
    return peer.refuse(403, "Forbidden");
  }
  const base::MutexLock lock(mutex_);
  if (call.request.method == "POST") {
    lease_ = base::read_json(call.request.body).value();
    lease_["metadata"]["resourceVersion"] = "1";
    return respond(peer, {201, lease_});
  }
  if (lease_.is_null()) {
    return peer.refuse(404, "NotFound");
  }
  if (call.request.method == "PATCH") {
    const std::string version(
        base::text_of(base::find(std::as_const(lease_), "metadata", "resourceVersion")));
    const Json patch = base::read_json(call.request.body).value();
    if (base::text_of(base::find(patch, "metadata", "resourceVersion")) != version) {
      return peer.refuse(409, "Conflict");
    }
    lease_["spec"] = patch.at("spec");
    lease_["metadata"]["resourceVersion"] = std::to_string(std::stoi(version) + 1);
  }
  respond(peer, {200, lease_});
}

void InitializerServer::take_event(const Call& call, FakeApi::Peer& peer) {
  auto event = base::read_json(call.request.body);
  if (!event) {
    return peer.refuse(400, "BadRequest");
  }
  {
    const base::MutexLock lock(mutex_);
    events_.push_back(event.value());
  }
  respond(peer, {201, std::move(event).value()});
}

}  // namespace injector::tests
