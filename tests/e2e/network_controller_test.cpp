// examples/network-controller as a process on a real API server: what it keeps in its folder is
// what the server has, whatever happens to it.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "base/json_text.h"
#include "tests/support/api_server.h"
#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/manifests.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;
using Networks = std::map<std::string, Json>;  // Specs by name.

constexpr const char* kGroup = "/apis/samplecrd.k8s.io/v1";

Json json(const std::string& text) {
  auto parsed = base::read_json(text);
  if (!parsed) {
    FAIL(parsed.error().message << ": " << text);
  }
  return std::move(parsed).value();
}

Json spec(const std::string& cidr, const std::string& gateway) {
  return {{"cidr", cidr}, {"gateway", gateway}};
}

void install_definition(const ApiServer& api) {
  const std::string file =
      std::string(kSourceDir) + "/examples/network-controller/network-crd.yaml";
  const auto made = api.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                                base::to_text(objects_of(read_file(file)).front()));
  const std::string networks = std::string(kGroup) + "/networks";
  if (made.status != 201 ||
      !eventually([&] { return api.request("GET", networks).status == 200; })) {
    throw std::runtime_error("the definition was not taken: " + made.body);
  }
}

/// With the example's own definition of what a Network is. Any thread.
ApiServer& server() {
  static ApiServer instance;
  static const bool installed = (install_definition(instance), true);
  static_cast<void>(installed);
  return instance;
}

/// A namespace of its own for each case.
class Space {
 public:
  explicit Space(std::string name)
      : name_(std::move(name)) {
    const Json object = {
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name_}}}};
    REQUIRE(server().request("POST", "/api/v1/namespaces", base::to_text(object)).status == 201);
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Any thread.
  [[nodiscard]] bool create(const std::string& name, const Json& wanted) const {
    Json object = {{"apiVersion", "samplecrd.k8s.io/v1"}, {"kind", "Network"}};
    object["metadata"] = {{"name", name}};
    object["spec"] = wanted;
    return server().request("POST", path(), base::to_text(object)).status == 201;
  }

  [[nodiscard]] bool update(const std::string& name, const Json& wanted) const {
    const std::string body = base::to_text({{"spec", wanted}});
    return server().request("PATCH", path(name), body, "application/merge-patch+json").status ==
           200;
  }

  [[nodiscard]] bool remove(const std::string& name) const {
    return server().request("DELETE", path(name)).status == 200;
  }

  [[nodiscard]] Json get(const std::string& name) const {
    return json(server().request("GET", path(name)).body);
  }

  /// "Ready 1 ...": phase, observed generation and message.
  [[nodiscard]] std::string status(const std::string& name) const {
    const Json object = get(name);
    const Json* generation = base::find(object, "status", "observedGeneration");
    return std::string(base::text_of(base::find(object, "status", "phase"))) + " " +
           (generation == nullptr ? "" : base::to_text(*generation)) + " " +
           std::string(base::text_of(base::find(object, "status", "message")));
  }

  [[nodiscard]] bool says(const std::string& name, const std::string& beginning) const {
    return eventually([&] { return status(name).rfind(beginning, 0) == 0; });
  }

  [[nodiscard]] bool has_event(const std::string& name, const std::string& type,
                               const std::string& message) const {
    return eventually([&] {
      const std::string events = "/api/v1/namespaces/" + name_ + "/events";
      const Json list = json(server().request("GET", events).body);
      for (const Json& event : *base::find(list, "items")) {
        if (base::text_of(base::find(event, "involvedObject", "name")) == name &&
            base::text_of(base::find(event, "type")) == type &&
            base::text_of(base::find(event, "message")) == message) {
          return true;
        }
      }
      return false;
    });
  }

  [[nodiscard]] Networks all() const {
    Networks found;
    const Json list = json(server().request("GET", path()).body);
    for (const Json& object : *base::find(list, "items")) {
      found.emplace(base::text_of(base::find(object, "metadata", "name")),
                    *base::find(object, "spec"));
    }
    return found;
  }

 private:
  [[nodiscard]] std::string path(const std::string& name = "") const {
    return std::string(kGroup) + "/namespaces/" + name_ + "/networks" +
           (name.empty() ? "" : "/" + name);
  }

  std::string name_;
};

/// The controller of one namespace, and the folder that outlives its processes.
class Controller {
 public:
  explicit Controller(const Space& space, std::string resync = "0")
      : space_(space),
        resync_(std::move(resync)) {
    std::filesystem::create_directory(state());
  }

  void start() {
    process_.emplace(ChildProcess::Command{
        {kNetworkController, "--kubeconfig", server().kubeconfig_path(), "-n", space_.name(),
         "--state", state(), "--resync", resync_, "--workers", "4"},
        dir_.file("log")});
  }

  [[nodiscard]] int stop() { return process_->stop(); }

  void kill() { process_->kill(); }

  [[nodiscard]] std::string log() const { return tail(dir_.file("log"), 200); }

  [[nodiscard]] std::string state() const { return dir_.file("state"); }

  [[nodiscard]] std::string file(const std::string& network) const {
    return state() + "/" + space_.name() + "_" + network + ".json";
  }

  /// Null: there is none. Half a file fails the test.
  [[nodiscard]] Json made(const std::string& network) const {
    std::ifstream text(file(network));
    std::string line;
    return std::getline(text, line) ? *base::find(json(line), "spec") : Json();
  }

  [[nodiscard]] bool makes(const std::string& network, const Json& wanted) const {
    return eventually([&] { return base::same(made(network), wanted); });
  }

  [[nodiscard]] Networks all() const {
    const std::string prefix = space_.name() + "_";
    Networks found;
    for (const auto& entry : std::filesystem::directory_iterator(state())) {
      const std::string name = entry.path().stem().string();
      if (entry.path().extension() == ".json" && name.rfind(prefix, 0) == 0) {
        found.emplace(name.substr(prefix.size()), made(name.substr(prefix.size())));
      }
    }
    return found;
  }

 private:
  const Space& space_;
  const std::string resync_;
  TempDir dir_;
  std::optional<ChildProcess> process_;
};

}  // namespace

TEST_CASE("network controller: a network comes, changes and goes with its object", "[apiserver]") {
  const Space space("follow");
  Controller controller(space);
  controller.start();
  REQUIRE(space.create("web", spec("10.1.0.0/16", "10.1.0.1")));
  CHECK(controller.makes("web", spec("10.1.0.0/16", "10.1.0.1")));
  CHECK(space.says("web", "Ready 1 "));
  CHECK(space.has_event("web", "Normal", "The network is there."));

  REQUIRE(space.update("web", spec("10.2.0.0/16", "10.2.0.1")));
  CHECK(controller.makes("web", spec("10.2.0.0/16", "10.2.0.1")));
  CHECK(space.says("web", "Ready 2 "));

  REQUIRE(space.remove("web"));
  CHECK(eventually([&] { return controller.all().empty(); }));
  INFO(controller.log());
  CHECK(controller.stop() == 0);
}

TEST_CASE("network controller: a spec that makes no sense is said to, and changes nothing",
          "[apiserver]") {
  const Space space("senseless");
  const std::string message = R"(spec.gateway: "10.2.0.1" is not in 10.1.0.0/16)";
  Controller controller(space);
  controller.start();
  REQUIRE(space.create("web", spec("10.1.0.0/16", "10.2.0.1")));
  CHECK(space.says("web", "Failed 1 " + message));
  CHECK(space.has_event("web", "Warning", message));
  CHECK(controller.all().empty());

  REQUIRE(space.update("web", spec("10.1.0.0/16", "10.1.0.1")));
  CHECK(space.says("web", "Ready 2 "));
  REQUIRE(space.update("web", spec("10.1.0.0/99", "10.1.0.1")));
  CHECK(space.says("web", R"(Failed 3 spec.cidr: "10.1.0.0/99" is not an IPv4 network)"));
  CHECK(base::same(controller.made("web"), spec("10.1.0.0/16", "10.1.0.1")));
  CHECK(controller.stop() == 0);
  CHECK(controller.log().find("spec.") == std::string::npos);  // A retry would say why.
}

TEST_CASE("network controller: what the driver could not do is tried again", "[apiserver]") {
  const Space space("retry");
  Controller controller(space);
  const std::string obstacle = controller.file("web") + ".new";
  std::filesystem::create_directory(obstacle);
  controller.start();
  REQUIRE(space.create("web", spec("10.1.0.0/16", "10.1.0.1")));
  CHECK(space.says("web", "Failed 1 " + controller.file("web") + ": "));
  std::filesystem::remove(obstacle);
  CHECK(space.says("web", "Ready 1 "));
  CHECK(controller.makes("web", spec("10.1.0.0/16", "10.1.0.1")));
}

TEST_CASE("network controller: a resync repairs the driver and leaves the object alone",
          "[apiserver]") {
  const Space space("resync");
  Controller controller(space, "1");
  controller.start();
  REQUIRE(space.create("web", spec("10.1.0.0/16", "10.1.0.1")));
  REQUIRE(space.says("web", "Ready 1 "));
  const Json before = space.get("web");
  for (int time = 0; time < 2; ++time) {
    REQUIRE(std::filesystem::remove(controller.file("web")));
    CHECK(controller.makes("web", spec("10.1.0.0/16", "10.1.0.1")));
  }
  CHECK(base::same(space.get("web"), before));
}

TEST_CASE("network controller: what changed while it was away is made up for", "[apiserver]") {
  const Space space("away");
  Controller controller(space);
  controller.start();
  for (const char* name : {"stays", "changes", "goes"}) {
    REQUIRE(space.create(name, spec("10.1.0.0/16", "10.1.0.1")));
    REQUIRE(space.says(name, "Ready 1 "));
  }
  REQUIRE(controller.stop() == 0);
  const std::string foreign = controller.state() + "/elsewhere_web.json";
  std::filesystem::copy(controller.file("stays"), foreign);
  REQUIRE(space.remove("goes"));
  REQUIRE(space.update("changes", spec("10.2.0.0/16", "10.2.0.1")));
  REQUIRE(space.create("comes", spec("10.3.0.0/16", "10.3.0.1")));

  controller.start();
  CHECK(eventually([&] { return controller.all() == space.all(); }));
  CHECK(controller.all().size() == 3);
  CHECK(std::filesystem::exists(foreign));  // Of a namespace that it does not look at.
  CHECK(controller.stop() == 0);
}

TEST_CASE("network controller: killed among many creations, it ends up with what the server has",
          "[apiserver]") {
  constexpr int kWriters = 4;
  constexpr int kEach = 25;
  const Space space("killed");
  Controller controller(space);
  controller.start();
  const auto name = [](int writer, int number) {
    return "n" + std::to_string(writer) + "-" + std::to_string(number);
  };
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      const std::string prefix = "10." + std::to_string(writer) + ".";
      for (int number = 0; number < kEach; ++number) {
        const std::string net = prefix + std::to_string(number) + ".";
        static_cast<void>(space.create(name(writer, number), spec(net + "0/24", net + "1")));
      }
    });
  }
  CHECK(eventually([&] { return controller.all().size() >= 20; }));
  controller.kill();
  writers.clear();  // Joins.
  for (int writer = 0; writer < kWriters; ++writer) {
    REQUIRE(space.remove(name(writer, 0)));
    REQUIRE(space.update(name(writer, 1), spec("172.16.0.0/12", "172.16.0.1")));
  }
  controller.start();
  REQUIRE(space.all().size() == kWriters * (kEach - 1));
  CHECK(eventually([&] { return controller.all() == space.all(); }));
  for (const auto& [each, wanted] : space.all()) {
    INFO(each << "\n" << controller.log());
    REQUIRE(space.says(each, "Ready "));
  }
  CHECK(controller.stop() == 0);
}

}  // namespace injector::tests
