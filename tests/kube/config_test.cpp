#include "kube/config.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"

namespace injector::kube {
namespace {

using tests::TempDir;

Environment environment_of(std::map<std::string, std::string> variables,
                           std::string service_account_dir = "/does/not/exist") {
  Environment environment;
  environment.variable =
      [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  environment.service_account_dir = std::move(service_account_dir);
  return environment;
}

/// A kubeconfig with one context of all the same name.
std::string simple(const std::string& name, const std::string& server,
                   const std::string& user = "{}") {
  return "apiVersion: v1\nkind: Config\ncurrent-context: " + name + "\nclusters:\n- name: " + name +
         "\n  cluster: {server: \"" + server + "\"}\nusers:\n- name: " + name +
         "\n  user: " + user + "\ncontexts:\n- name: " + name + "\n  context: {cluster: " + name +
         ", user: " + name + ", namespace: ns-" + name + "}\n";
}

ClientConfig good(const base::Result<ClientConfig>& config) {
  if (!config) {
    FAIL(config.error().message);
  }
  return config.value();
}

std::string failure(const base::Result<ClientConfig>& config) {
  REQUIRE_FALSE(config.has_value());
  return config.error().message;
}

bool mentions(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

base::Result<ClientConfig> with_user(const std::string& user) {
  return read_kubeconfig(simple("a", "https://a:6443", user), "/home/me/config", {});
}

base::Result<ClientConfig> with_cluster(const std::string& fields) {
  return read_kubeconfig(
      "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
      "clusters:\n- name: c\n  cluster: {server: https://c, " +
          fields + "}\n",
      "/home/me/config", {});
}

}  // namespace

TEST_CASE("kubeconfig: the file that --kubeconfig names is used alone", "[kube]") {
  const TempDir dir;
  const std::string file = dir.write("a", simple("a", "https://a:6443"));
  const std::string other = dir.write("b", simple("b", "https://b:6443"));
  const auto environment = environment_of({{"KUBECONFIG", other}, {"HOME", dir.path().string()}});
  const ClientConfig config = good(load_config({.kubeconfig = file}, environment));
  CHECK(config.server == "https://a:6443");
  CHECK(config.context == "a");
  CHECK(config.name_space == "ns-a");
  CHECK(mentions(failure(load_config({.kubeconfig = file, .context = "b"}, environment)),
                 "no context \"b\" (there are: a)"));
  CHECK(mentions(failure(load_config({.kubeconfig = dir.file("missing")}, environment)),
                 dir.file("missing")));
}

TEST_CASE("kubeconfig: KUBECONFIG's files are merged and the first wins", "[kube]") {
  const TempDir dir;
  const std::string first = dir.write("first", simple("a", "https://first"));
  const std::string second = dir.write("second", simple("a", "https://second", "{token: second}") +
                                                     "- name: b\n  context: {cluster: b}\n"
                                                     "extensions: []\n");
  const std::string third = dir.write("third", simple("b", "https://third"));
  const std::string list =
      dir.file("missing") + ":" + first + "::" + first + ":" + second + ":" + third;
  const auto environment = environment_of({{"KUBECONFIG", list}});
  const ClientConfig a = good(load_config({}, environment));
  CHECK(a.server == "https://first:443");
  CHECK(a.auth.token.empty());  // Whole entries: the second file's user does not fill in.
  const ClientConfig b = good(load_config({.context = "b"}, environment));
  CHECK(b.server == "https://third:443");
  CHECK(b.name_space == "default");  // The second file's context b, which has none.
}

TEST_CASE("kubeconfig: without KUBECONFIG the home directory's is read", "[kube]") {
  const TempDir dir;
  std::filesystem::create_directory(dir.path() / ".kube");
  static_cast<void>(dir.write(".kube/config", simple("home", "https://home")));
  const auto environment = environment_of({{"KUBECONFIG", ""}, {"HOME", dir.path().string()}});
  CHECK(good(load_config({}, environment)).context == "home");
  CHECK(good(load_config({.name_space = "flag"}, environment)).name_space == "flag");
}

TEST_CASE("kubeconfig: a JSON file is as good as a YAML one", "[kube]") {
  const auto config = read_kubeconfig(
      R"({"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],
          "clusters":[{"name":"c","cluster":{"server":"https://c/prefix/"}}],
          "users":[{"name":"u","user":{"token":"t"}}]})",
      "x", {});
  CHECK(good(config).server == "https://c:443/prefix");
  CHECK(good(config).auth.token == "t");
}

TEST_CASE("kubeconfig: --master replaces the server and keeps the credentials", "[kube]") {
  const TempDir dir;
  const std::string file = dir.write("a", simple("a", "https://a", "{token: t}"));
  const ClientConfig config =
      good(load_config({.kubeconfig = file, .master = "https://[::1]:8443"}, environment_of({})));
  CHECK(config.server == "https://[::1]:8443");
  CHECK(config.auth.token == "t");
  const ClientConfig alone = good(load_config({.master = "127.0.0.1:8080"}, environment_of({})));
  CHECK(alone.server == "http://127.0.0.1:8080");
}

TEST_CASE("kubeconfig: data beats a file, and files are relative to their kubeconfig", "[kube]") {
  const ClientConfig files =
      good(with_user("{client-certificate: certs/a.crt, client-key: /abs/a.key}"));
  CHECK(files.tls.certificate.file == "/home/me/certs/a.crt");
  CHECK(files.tls.key.file == "/abs/a.key");
  const ClientConfig data = good(with_user(
      "{client-certificate: a.crt, client-certificate-data: Y2VydA==, client-key-data: a2V5}"));
  CHECK(data.tls.certificate.data == "cert");
  CHECK(data.tls.certificate.file.empty());
  CHECK(data.tls.key.data == "key");
  CHECK(good(with_user("{tokenFile: token}")).auth.token_file == "/home/me/token");
  const ClientConfig cluster = good(with_cluster(
      "certificate-authority-data: Y2E=, certificate-authority: ca.crt, tls-server-name: api"));
  CHECK(cluster.tls.authority.data == "ca");
  CHECK(cluster.tls.server_name == "api");
  CHECK(good(with_cluster("certificate-authority: ca.crt")).tls.authority.file ==
        "/home/me/ca.crt");
  CHECK(good(with_cluster("insecure-skip-tls-verify: true")).tls.skip_verify);
}

TEST_CASE("kubeconfig: what is not supported or contradicts itself is named with its place",
          "[kube]") {
  const auto in_user = [](const std::string& fields, const std::string& word) {
    CAPTURE(fields);
    const std::string message = failure(with_user(fields));
    CHECK(mentions(message, "/home/me/config: user \"a\""));
    CHECK(mentions(message, word));
  };
  in_user("{auth-provider: {name: gcp}}", "auth-provider is not supported");
  in_user("{as: admin}", "as is not supported");
  in_user("{as-groups: [admin]}", "as-groups is not supported");
  in_user("{token: t, username: u, password: p}", "token and username exclude");
  in_user("{token: 5}", "token must be a string");
  in_user("{client-certificate-data: '%%'}", "client-certificate-data must be base64");
  in_user("{client-certificate: a}", "client-key need each other");
  in_user("{exec: {command: x}}", "exec: apiVersion");
  in_user("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1alpha1}}", "apiVersion");
  in_user("{exec: {command: x, apiVersion: client.authentication.k8s.io/v1}}", "interactiveMode");
  in_user("{exec: {apiVersion: client.authentication.k8s.io/v1beta1}}", "command is missing");
  in_user("{exec: {command: x, args: [1], apiVersion: client.authentication.k8s.io/v1beta1}}",
          "args must be a list of strings");
  CHECK(mentions(failure(with_cluster("proxy-url: socks5://p")),
                 "/home/me/config: cluster \"c\": proxy-url: the proxy's scheme must be http"));
  CHECK(mentions(failure(with_cluster("insecure-skip-tls-verify: true, certificate-authority: a")),
                 "exclude each other"));
  CHECK(mentions(failure(with_cluster("insecure-skip-tls-verify: 'yes'")), "true or false"));
}

TEST_CASE("kubeconfig: proxy-url is the proxy, else the environment says", "[kube]") {
  const tests::TempDir dir;
  const auto proxy = [&](const std::string& cluster, std::map<std::string, std::string> variables) {
    const std::string file = dir.file("config");
    std::ofstream(file) << "clusters: [{name: c, cluster: {server: 'https://api.example', " +
                               cluster +
                               "}}]\ncontexts: [{name: x, context: {cluster: c}}]\n"
                               "current-context: x\n";
    const auto config =
        good(load_config({.kubeconfig = file}, environment_of(std::move(variables))));
    return config.proxy ? config.proxy->url.text() : "none";
  };
  CHECK(proxy("", {}) == "none");
  CHECK(proxy("proxy-url: 'http://p:1'", {{"HTTPS_PROXY", "q:2"}}) == "http://p:1");
  CHECK(proxy("proxy-url: 'http://p:1'", {{"NO_PROXY", "*"}}) == "http://p:1");
  CHECK(proxy("", {{"HTTPS_PROXY", "q:2"}}) == "http://q:2");
  CHECK(proxy("", {{"HTTPS_PROXY", "q:2"}, {"NO_PROXY", ".example"}}) == "none");
}

TEST_CASE("kubeconfig: broken structures are errors, not guesses", "[kube]") {
  const auto read = [](const std::string& text) { return failure(read_kubeconfig(text, "f", {})); };
  CHECK(mentions(read("a: [b"), "f: "));
  CHECK(mentions(read("[1, 2]"), "not a kubeconfig"));
  CHECK(mentions(read("kind: Deployment"), "not a kubeconfig"));
  CHECK(mentions(read("clusters: 5"), "clusters must be a list"));
  CHECK(mentions(read("clusters: [7]"), "must be an object"));
  CHECK(mentions(read("users: [{name: a}, {name: a}]"), "user \"a\" is there twice"));
  CHECK(mentions(read("contexts: [{name: a}]"), "no current-context"));
  CHECK(mentions(read("current-context: a"), "no context \"a\" (there are: none)"));
  CHECK(mentions(read("current-context: a\ncontexts: [{name: a, context: {cluster: x}}]"),
                 "no cluster \"x\""));
  CHECK(
      mentions(read("current-context: a\ncontexts: [{name: a, context: {cluster: x, user: who}}]\n"
                    "clusters: [{name: x, cluster: {server: https://x}}]"),
               "no user \"who\""));
  CHECK(mentions(read("current-context: a\ncontexts: [{name: a, context: {cluster: x}}]\n"
                      "clusters: [{name: x}]"),
                 "no server"));
}

TEST_CASE("kubeconfig: an exec plugin is read whole, and skipped where a token is given",
          "[kube]") {
  const std::string exec =
      "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [a, b], "
      "env: [{name: E, value: v}], installHint: install it, interactiveMode: Never, "
      "provideClusterInfo: true}";
  const auto config = good(with_user("{" + exec + "}"));
  REQUIRE(config.auth.exec.has_value());
  CHECK(config.auth.exec->command == "/home/me/./plugin");
  CHECK(config.auth.exec->args == std::vector<std::string>{"a", "b"});
  CHECK(config.auth.exec->env.front() == std::pair<std::string, std::string>("E", "v"));
  CHECK(config.auth.exec->install_hint == "install it");
  CHECK(config.auth.exec->interactive == InteractiveMode::Never);
  CHECK(base::text_of(base::find(config.auth.exec->cluster, "server")) == "https://a:6443");
  CHECK_FALSE(good(with_user("{token: t, " + exec + "}")).auth.exec.has_value());
}

TEST_CASE("in-cluster config: the service account is used where nothing else is there", "[kube]") {
  const TempDir dir;
  static_cast<void>(dir.write("token", "t"));
  static_cast<void>(dir.write("ca.crt", "ca"));
  static_cast<void>(dir.write("namespace", "pod-ns\n"));
  std::map<std::string, std::string> variables{{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                               {"KUBERNETES_SERVICE_PORT", "443"},
                                               {"HOME", dir.path().string()}};
  const ClientConfig config = good(load_config({}, environment_of(variables, dir.path().string())));
  CHECK(config.server == "https://[fd00::1]:443");
  CHECK(config.auth.token_file == dir.file("token"));
  CHECK(config.tls.authority.file == dir.file("ca.crt"));
  CHECK(config.name_space == "pod-ns");
  CHECK(config.context == "in-cluster");
  variables["POD_NAMESPACE"] = "from-variable";
  const auto environment = environment_of(variables, dir.path().string());
  CHECK(good(load_config({}, environment)).name_space == "from-variable");
  CHECK(good(load_config({.name_space = "flag"}, environment)).name_space == "flag");
}

TEST_CASE("in-cluster config: with nothing at all the message says where it looked", "[kube]") {
  const std::string message = failure(load_config({}, environment_of({{"HOME", "/nowhere"}})));
  CHECK(mentions(message, "/nowhere/.kube/config"));
  CHECK(mentions(message, "KUBERNETES_SERVICE_HOST"));
  CHECK(mentions(message, "--kubeconfig"));
}

}  // namespace injector::kube
