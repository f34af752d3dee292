// The control loop as a process on a real API server, and what its tests look at. No controller
// manager runs, so a workload's generation is 1 when it was created and one more for every change
// of its spec: 2 means patched exactly once.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <httplib.h>

#include "base/json.h"
#include "base/json_text.h"
#include "tests/support/api_server.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {

/// One for all cases of the program.
inline ApiServer& server() {
  static ApiServer instance;
  return instance;
}

inline base::Json json(const std::string& text) {
  auto parsed = base::read_json(text);
  if (!parsed) {
    FAIL(parsed.error().message << ": " << text);
  }
  return std::move(parsed).value();
}

inline std::string template_text(const std::string& image) {
  return "containers: [{name: envoy, image: '" + image + "'}]\n";
}

/// Whether a replica is told where its template is.
enum class Template { File, None };

/// One replica. It dies with the case.
class Replica {
 public:
  explicit Replica(const std::vector<std::string>& flags, const std::string& mode = "workloads",
                   Template given = Template::File)
      : config_(dir_.write("template.yaml", template_text("envoy:1"))),
        log_(dir_.file("log")),
        port_(free_port()),
        process_({command(flags, mode, given), log_, {}}) {}

  [[nodiscard]] ChildProcess& process() { return process_; }

  void set_template(const std::string& image) {
    static_cast<void>(dir_.write("template.yaml", template_text(image)));
  }

  [[nodiscard]] std::string log() const { return tail(log_, 200); }

  [[nodiscard]] std::string page(const std::string& path) const {
    httplib::Client client("127.0.0.1", port_);
    const auto answer = client.Get(path.c_str());
    return answer ? answer->body : "";
  }

  [[nodiscard]] bool shows(const std::string& line) const {
    return page("/metrics").find(line + "\n") != std::string::npos;
  }

  /// The value of a metric given by name and labels; 0 where it is not shown.
  [[nodiscard]] double metric(const std::string& name) const {
    const std::string text = page("/metrics");
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size() + 2));
  }

 private:
  std::vector<std::string> command(const std::vector<std::string>& flags, const std::string& mode,
                                   Template given) const {
    std::vector<std::string> all{kProgram,         "controller",
                                 "--kubeconfig",   server().kubeconfig_path(),
                                 "--admin-listen", "127.0.0.1:" + std::to_string(port_),
                                 "--mode",         mode};
    if (given == Template::File &&
        std::find(flags.begin(), flags.end(), "--configmap") == flags.end()) {
      all.insert(all.end(), {"--config", config_});
    }
    all.insert(all.end(), flags.begin(), flags.end());
    return all;
  }

  TempDir dir_;
  std::string config_;
  std::string log_;
  int port_;
  ChildProcess process_;
};

/// A namespace of its own for each case.
class Space {
 public:
  explicit Space(std::string name)
      : name_(std::move(name)) {
    const base::Json object = {
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name_}}}};
    REQUIRE(server().request("POST", "/api/v1/namespaces", base::to_text(object)).status == 201);
  }

  [[nodiscard]] std::vector<std::string> flags(std::vector<std::string> more) const {
    more.insert(more.end(), {"-n", name_});
    return more;
  }

  [[nodiscard]] std::string path(const std::string& name = "",
                                 const std::string& plural = "deployments") const {
    const std::string group = plural == "pods"       ? "/api/v1"
                              : plural == "jobs"     ? "/apis/batch/v1"
                              : plural == "cronjobs" ? "/apis/batch/v1beta1"
                                                     : "/apis/apps/v1";
    return group + "/namespaces/" + name_ + "/" + plural + (name.empty() ? "" : "/" + name);
  }

  void create(const std::string& name) const { post("deployments", deployment(name)); }

  void post(const std::string& plural, const base::Json& object) const {
    const auto answer = server().request("POST", path("", plural), base::to_text(object));
    INFO(answer.body);
    REQUIRE(answer.status == 201);
  }

  void patch(const std::string& path, const std::string& change) const {
    const auto answer =
        server().request("PATCH", path, change, "application/strategic-merge-patch+json");
    INFO(answer.body);
    REQUIRE(answer.status == 200);
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  [[nodiscard]] base::Json get(const std::string& name) const {
    return json(server().request("GET", path(name)).body);
  }

  [[nodiscard]] std::size_t containers(const std::string& name) const {
    const base::Json object = get(name);
    const base::Json* list = base::find(object, "spec", "template", "spec", "containers");
    return list == nullptr ? 0 : list->size();
  }

  [[nodiscard]] bool injected(const std::string& name) const { return containers(name) == 2; }

  [[nodiscard]] std::int64_t generation(const std::string& name) const {
    const base::Json object = get(name);
    const base::Json* value = base::find(object, "metadata", "generation");
    return value == nullptr ? 0 : value->get<std::int64_t>();
  }

  [[nodiscard]] std::string version(const std::string& name) const {
    return std::string(base::text_of(base::find(get(name), "metadata", "resourceVersion")));
  }

  /// Takes the sidecar out as somebody would who applies the whole manifest again.
  void take_out(const std::string& name) const {
    REQUIRE(server().request("PUT", path(name), base::to_text(deployment(name))).status == 200);
  }

  [[nodiscard]] bool has_event(const std::string& reason, const std::string& name) const {
    const base::Json list =
        json(server().request("GET", "/api/v1/namespaces/" + name_ + "/events").body);
    for (const base::Json& event : *base::find(list, "items")) {
      if (base::text_of(base::find(event, "reason")) == reason &&
          base::text_of(base::find(event, "involvedObject", "name")) == name) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] static base::Json deployment(const std::string& name) {
    base::Json object = json(R"({"apiVersion":"apps/v1","kind":"Deployment",
      "spec":{"selector":{"matchLabels":{"app":"web"}}}})");
    object["metadata"] = {{"name", name}};
    object["spec"]["template"] = pod_template();
    return object;
  }

  [[nodiscard]] static base::Json pod_template() {
    return json(R"({"metadata":{"labels":{"app":"web"},
      "annotations":{"initializer.kubernetes.io/envoy":"true"}},
      "spec":{"containers":[{"name":"app","image":"app:1"}]}})");
  }

 private:
  std::string name_;
};

inline std::vector<std::string> names(const std::string& prefix, int count) {
  std::vector<std::string> all;
  for (int number = 0; number < count; ++number) {
    all.push_back(prefix + std::to_string(number));
  }
  return all;
}

}  // namespace injector::tests
