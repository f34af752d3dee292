// What manifests/ and the program say about each other; no cluster needed.

#include "tests/support/manifests.h"

#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "template/parser.h"
#include "tests/support/child_process.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

using base::Json;

std::string output_of(std::vector<std::string> arguments) {
  const TempDir dir;
  arguments.insert(arguments.begin(), kProgram);
  return run({.argv = std::move(arguments), .log_file = dir.file("log")}) == 0
             ? tail(dir.file("log"), 10'000)
             : std::string();
}

// The line of the help that explains a flag; empty if none does.
std::string help_line(const std::string& help, const std::string& flag) {
  for (std::size_t at = help.find(flag); at != std::string::npos; at = help.find(flag, at + 1)) {
    const char next = at + flag.size() < help.size() ? help[at + flag.size()] : ' ';
    const bool option = at > 0 && (help[at - 1] == ' ' || help[at - 1] == ',');
    if (option && (next == ' ' || next == '\n' || next == ',' || next == ':')) {
      return help.substr(at, help.find('\n', at) - at);
    }
  }
  return {};
}

// Where the help lists the values of a flag ({a,b}), the given one must be among them.
bool takes(const std::string& line, const std::string& value) {
  const std::size_t begin = line.find('{');
  if (value.empty() || begin == std::string::npos) {
    return true;
  }
  std::string list = line.substr(begin, line.find('}', begin) - begin + 1);
  list.front() = list.back() = ',';
  return list.find("," + value + ",") != std::string::npos;
}

// What of a command line the program does not know: "command", or "command --flag[=value]".
std::set<std::string> unknown(const std::vector<std::string>& arguments) {
  const std::string& command = arguments.front();
  const std::string help = output_of({command, "--help"});
  if (help.find("envoy-initializer " + command) == std::string::npos) {
    return {command};  // The help of the whole program, or none.
  }
  std::set<std::string> result;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::size_t equals = arguments[i].find('=');
    const std::string flag = arguments[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : arguments[i].substr(equals + 1);
    const std::string line = help_line(help, flag);
    if (line.empty() || !takes(line, value)) {
      const bool listed = flag == "--mode" || flag == "--repair";
      result.insert(command + " " + (listed ? arguments[i] : flag));
    }
  }
  return result;
}

std::set<std::string> unknown_in_manifests(std::size_t& command_lines) {
  std::set<std::string> result;
  for (const std::string& file : manifest_files()) {
    for (const Json& object : objects_of(read_file(file))) {
      if (const auto arguments = arguments_of(object); !arguments.empty()) {
        ++command_lines;
        result.merge(unknown(arguments));
      }
    }
  }
  return result;
}

TEST_CASE("manifests: every argument of our containers is one that --help names", "[manifests]") {
  std::size_t command_lines = 0;
  const std::set<std::string> missing = unknown_in_manifests(command_lines);
  CHECK(command_lines >= 5);
  CHECK(missing == std::set<std::string>());
}

TEST_CASE("manifests: an argument that --help does not name is noticed", "[manifests]") {
  CHECK(unknown({"webhook", "--listen=:1", "--lis", "--log-format=xml", "--log-format=json"}) ==
        std::set<std::string>{"webhook --lis", "webhook --log-format"});
  CHECK(unknown({"no-such-command", "--x"}) == std::set<std::string>{"no-such-command"});
}

TEST_CASE("manifests: the example template is the built-in one", "[manifests]") {
  const Json map = manifest("examples/template.yaml", "ConfigMap");
  CHECK(base::text_of(base::find(map, "metadata", "name")) == "envoy-initializer");
  CHECK(base::text_of(base::find(map, "metadata", "namespace")) == "envoy-initializer");
  CHECK(base::text_of(base::find(map, "data", "config")) == templates::default_template_text());
}

TEST_CASE("manifests: the original example is the tutorial's template", "[manifests]") {
  const Json map = manifest("examples/original/template.yaml", "ConfigMap");
  const Json tutorial = objects_of(read_file(data_path("fixtures/envoy/configmap.yaml"))).front();
  CHECK(map.at("data") == tutorial.at("data"));
  CHECK(output_of({"lint", manifest_path("examples/original/template.yaml")}) != "");
}

TEST_CASE("manifests: the original Envoy's configuration is JSON with the v1 sections",
          "[manifests]") {
  const Json map = manifest("examples/original/envoy.yaml", "ConfigMap");
  CHECK(base::text_of(base::find(map, "metadata", "name")) == "envoy");
  const auto config = base::read_json(base::text_of(base::find(map, "data", "envoy.json")));
  REQUIRE(config.has_value());
  for (const char* section : {"listeners", "admin", "cluster_manager"}) {
    CHECK(base::find(config.value(), section) != nullptr);
  }
  // The port that the template opens is the one that Envoy listens on.
  const Json& listener = config.value().at("listeners").at(0);
  CHECK(base::text_of(base::find(listener, "address")) == "tcp://0.0.0.0:80");
}

TEST_CASE("manifests: images and labels carry the program's version", "[manifests]") {
  std::string version = output_of({"version"});
  REQUIRE(version.rfind("envoy-initializer ", 0) == 0);
  version = version.substr(18, version.find('\n') - 18);
  std::size_t seen = 0;
  for (const std::string& file : manifest_files()) {
    const std::string text = read_file(file);
    for (std::size_t at = text.find("image: envoy-initializer:"); at != std::string::npos;
         at = text.find("image: envoy-initializer:", at + 1)) {
      INFO(file);
      CHECK(text.compare(at + 25, version.size(), version) == 0);
      ++seen;
    }
  }
  CHECK(seen >= 4);
  CHECK(read_file(data_path("../Dockerfile")).find("version=\"" + version + "\"") !=
        std::string::npos);
}

TEST_CASE("manifests: the initializer has its verb, its name, and a Pod that waits for nobody",
          "[manifests]") {
  const Json role = manifest("initializer/rbac.yaml", "ClusterRole");
  bool has_verb = false;
  for (const Json& rule : role.at("rules")) {
    if (rule.at("resources") == Json::array({"pods"})) {
      has_verb = rule.at("verbs") == Json::array({"get", "list", "watch", "patch", "initialize"});
    }
  }
  CHECK(has_verb);
  const Json configuration =
      manifest("initializer/initializerconfiguration.yaml", "InitializerConfiguration");
  const Json& initializer = configuration.at("initializers").at(0);
  CHECK(output_of({"controller", "--help"}).find("=" + initializer.at("name").get<std::string>()) !=
        std::string::npos);
  CHECK(initializer.at("rules").size() == 1);  // All of them would have to match.
  const Json nobody = Json::array();
  const Json deployment = manifest("initializer/deployment.yaml", "Deployment");
  // The server would store an empty list as null, and every apply would find a difference.
  CHECK(base::find(deployment, "spec", "template", "metadata", "initializers") == nullptr);
  const Json bootstrap = manifest("initializer/bootstrap.yaml", "Pod");
  CHECK(*base::find(bootstrap, "metadata", "initializers", "pending") == nobody);
  CHECK(bootstrap.at("spec").at("containers").at(0).at("args") ==
        deployment.at("spec").at("template").at("spec").at("containers").at(0).at("args"));
}

TEST_CASE("manifests: every component says for whom it is and what it changes", "[manifests]") {
  std::size_t seen = 0;
  const std::string table = read_file(manifest_path("README.md"));
  for (const auto& entry : std::filesystem::directory_iterator(manifest_path("components"))) {
    const std::string text = read_file((entry.path() / "README.md").string());
    CHECK(text.rfind("**For whom:**", 0) == 0);
    CHECK(text.find("**What changes:**") != std::string::npos);
    const std::string name = entry.path().filename().string();
    INFO(name);
    CHECK(table.find("[" + name + "](components/" + name + ")") != std::string::npos);
    CHECK(manifest("components/" + name + "/kustomization.yaml", "Component").is_object());
    ++seen;
  }
  CHECK(seen >= 9);
}

}  // namespace
}  // namespace injector::tests
