#include "tests/e2e/installation.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/json_text.h"
#include "tests/support/free_port.h"
#include "tests/support/manifests.h"
#include "tests/support/paths.h"

namespace injector::tests {
namespace {

using base::Json;

const std::map<std::string, std::string> kNamespaced = {
    {"ServiceAccount", "serviceaccounts"},
    {"Role", "roles"},
    {"RoleBinding", "rolebindings"},
    {"ConfigMap", "configmaps"},
    {"Service", "services"},
    {"Endpoints", "endpoints"},
    {"NetworkPolicy", "networkpolicies"},
    {"PodDisruptionBudget", "poddisruptionbudgets"},
    {"Deployment", "deployments"},
    {"Pod", "pods"},
    {"Issuer", "issuers"},
    {"Certificate", "certificates"},
    {"ServiceMonitor", "servicemonitors"},
    {"PrometheusRule", "prometheusrules"}};

const std::map<std::string, std::string> kClusterWide = {
    {"Namespace", "namespaces"},
    {"ClusterRole", "clusterroles"},
    {"ClusterRoleBinding", "clusterrolebindings"},
    {"PriorityClass", "priorityclasses"},
    {"InitializerConfiguration", "initializerconfigurations"},
    {"MutatingWebhookConfiguration", "mutatingwebhookconfigurations"},
    {"ValidatingWebhookConfiguration", "validatingwebhookconfigurations"}};

}  // namespace

ApiServer& server() {
  static ApiServer instance{
      {.users = {{.name = kAccount, .groups = {"system:serviceaccounts"}},
                 {.name = kWorkloadsAccount, .groups = {"system:serviceaccounts"}},
                 {.name = kRepairAccount, .groups = {"system:serviceaccounts"}}},
       .flags = {"--service-cluster-ip-range=127.96.0.0/16"}}};
  return instance;
}

std::string api_version(const Json& object) {
  return std::string(base::text_of(base::find(object, "apiVersion")));
}

std::string name_of(const Json& object) {
  return std::string(base::text_of(base::find(object, "metadata", "name")));
}

std::string collection(const Json& object) {
  const std::string version = api_version(object);
  const std::string root = version == "v1" ? "/api/v1" : "/apis/" + version;
  const std::string kind = kind_of(object);
  if (const auto found = kClusterWide.find(kind); found != kClusterWide.end()) {
    return root + "/" + found->second;
  }
  const std::string_view space = base::text_of(base::find(object, "metadata", "namespace"));
  return fmt::format("{}/namespaces/{}/{}", root, space.empty() ? "default" : space,
                     kNamespaced.at(kind));
}

std::string path_of(const Json& object) {
  return collection(object) + "/" + name_of(object);
}

void must_create(const Json& object) {
  const auto response = server().request("POST", collection(object), base::write_json(object));
  INFO(kind_of(object) << " " << name_of(object) << ": " << response.body);
  REQUIRE(response.status == 201);
}

void must_create_all(const std::string& file) {
  for (const Json& object : objects_of(read_file(manifest_path(file)))) {
    must_create(object);
  }
}

Json get(const std::string& path) {
  const auto response = server().request("GET", path);
  INFO(path << ": " << response.body);
  REQUIRE(response.status == 200);
  return base::read_json(response.body).value();
}

bool exists(const std::string& path) {
  return server().request("GET", path).status == 200;
}

KubectlResult kubectl_here(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--kubeconfig", server().kubeconfig_path()});
  return kubectl(arguments);
}

std::string must_kubectl(const std::vector<std::string>& arguments) {
  KubectlResult result = kubectl_here(arguments);
  INFO(fmt::format("{}", fmt::join(arguments, " ")) << ": " << result.output);
  REQUIRE(result.code == 0);
  return std::move(result.output);
}

std::string overlay_here(const TempDir& dir, const std::vector<std::string>& resources,
                         std::vector<std::string> components) {
  components.insert(components.begin(), {"components/before-1.30", "components/before-1.21"});
  return write_overlay(dir, resources, components);
}

void apply_manifests(const std::vector<std::string>& components) {
  const TempDir dir;
  must_kubectl({"apply", "-k", overlay_here(dir, {"."}, components)});
}

void delete_manifests(const std::vector<std::string>& components) {
  const TempDir dir;
  must_kubectl({"delete", "--ignore-not-found", "--wait=false", "-k",
                overlay_here(dir, {"base"}, components)});
}

std::vector<std::string> local_command(const Json& deployment,
                                       const std::map<std::string, std::string>& changes) {
  std::vector<std::string> command{kProgram};
  for (const std::string& argument : arguments_of(deployment)) {
    const auto change = changes.find(argument.substr(0, argument.find('=')));
    command.push_back(change == changes.end() ? argument : change->first + "=" + change->second);
  }
  return command;
}

ChildProcess start_webhook(const TempDir& dir) {
  const Json service = get("/api/v1/namespaces/envoy-initializer/services/envoy-initializer");
  const auto address = service.at("spec").at("clusterIP").get<std::string>();
  std::vector<std::string> command =
      local_command(manifest("base/deployment.yaml", "Deployment"),
                    {{"--listen", address + ":443"},
                     {"--admin-listen", fmt::format("127.0.0.1:{}", free_port())},
                     {"--namespace", "envoy-initializer"},  // What the kubelet makes of it.
                     {"--shutdown-delay", "0s"}});
  command.push_back("--kubeconfig=" + server().kubeconfig_of(kAccount));
  command.push_back("--force-manage-certs");  // This is no Pod.
  return ChildProcess{{.argv = command, .log_file = dir.file("log")}};
}

bool may_listen() {
  return ::geteuid() == 0;
}

Json plain_pod(const std::string& name_space) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", "web"}, {"namespace", name_space}}},
          {"spec", {{"containers", Json::array({{{"name", "app"}, {"image", "app:1"}}})}}}};
}

Created create(const Json& pod) {
  const auto response =
      server().request("POST", collection(pod) + "?dryRun=All", base::write_json(pod));
  Created created{.status = response.status, .message = response.body, .containers = {}};
  if (response.status != 201) {
    return created;
  }
  const Json stored = base::read_json(response.body).value();
  for (const Json& container : stored.at("spec").at("containers")) {
    created.containers.emplace_back(base::text_of(base::find(container, "name")));
  }
  return created;
}

}  // namespace injector::tests
