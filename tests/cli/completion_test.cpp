// What the shells are offered for half a line.

#include "cli/completion.h"

#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "cli/cluster_names.h"
#include "tests/support/fake_api.h"
#include "tests/support/temp_dir.h"

namespace injector::cli {
namespace {

using injector::tests::FakeApi;
using injector::tests::TempDir;
using Words = std::vector<std::string>;

CommandSpec small_tree() {
  const FlagSpec context{{"--context"}, "The context", ValueKind::Context, {}};
  const FlagSpec name_space{{"--namespace", "-n"}, "Where", ValueKind::Namespace, {}};
  const FlagSpec output{
      {"--output", "-o"}, "How\nat length", ValueKind::Choice, {"json", "yaml", "jsonpath="}};
  const FlagSpec file{{"--filename", "-f"}, "What", ValueKind::File, {}};
  const FlagSpec out{{"--out"}, "Folder", ValueKind::Directory, {}};
  const FlagSpec map{{"--configmap"}, "Template", ValueKind::ConfigMap, {}};
  const FlagSpec quiet{{"--quiet", "-q"}, "Say less", ValueKind::None, {}};
  const FlagSpec object{{}, "Objects", ValueKind::Object, {}};
  const CommandSpec status{"status", {}, "List Pods", {context, name_space, output}, {}, {}};
  const CommandSpec explain{"explain", {}, "Say why", {name_space, file, map, quiet}, {object}, {}};
  const CommandSpec diff{"diff", {}, "Compare", {}, {}, {}};
  const CommandSpec patch{"patch", {"p"}, "Patches", {}, {}, {diff}};
  const CommandSpec certs{"certs", {}, "Certificates", {out}, {}, {}};
  return {"envoy-initializer", {}, "", {}, {}, {status, explain, patch, certs}};
}

class FakeNames final : public NameSource {
 public:
  std::vector<std::string> contexts(const ClusterWords& words) override {
    seen = words;
    return {"dev", "prod"};
  }

  std::vector<std::string> namespaces(const ClusterWords& words) override {
    seen = words;
    return {"default", "shop"};
  }

  std::vector<std::string> objects(const std::string& kind, const ClusterWords& words) override {
    seen = words;
    return {kind + "-a", kind + "-b"};
  }

  ClusterWords seen;
};

Words texts(const Completion& completion) {
  Words result;
  for (const Candidate& candidate : completion.candidates) {
    result.push_back(candidate.text);
  }
  return result;
}

Words offered(const Words& words) {
  FakeNames names;
  return texts(complete(small_tree(), words, names));
}

TEST_CASE("completion: commands, and those below them", "[cli]") {
  CHECK(offered({""}) == Words{"status", "explain", "patch", "certs"});
  CHECK(offered({"st"}) == Words{"status"});
  CHECK(offered({"patch", ""}) == Words{"diff"});
  CHECK(offered({"p", "d"}) == Words{"diff"});
  CHECK(offered({"xyzzy"}).empty());
}

TEST_CASE("completion: flags of the command, with their descriptions", "[cli]") {
  FakeNames names;
  const Completion found = complete(small_tree(), {"status", "--o"}, names);
  REQUIRE(found.candidates.size() == 1);
  CHECK(found.candidates[0].text == "--output");
  CHECK(found.candidates[0].description == "How");
  CHECK(offered({"status", "-"}) == Words{"--context", "--namespace", "--output"});
  CHECK(offered({"certs", "--output"}).empty());
}

TEST_CASE("completion: values of flags, behind a space or an equals sign", "[cli]") {
  CHECK(offered({"status", "-o", "j"}) == Words{"json", "jsonpath="});
  CHECK(offered({"status", "--output=y"}) == Words{"yaml"});
  CHECK(offered({"status", "--context", "p"}) == Words{"prod"});
  CHECK(offered({"status", "-n", ""}) == Words{"default", "shop"});
  CHECK(offered({"explain", "-q", "pod/"}) == Words{"pod/pod-a", "pod/pod-b"});
  FakeNames names;
  CHECK(complete(small_tree(), {"status", "-o", "jsonp"}, names).directive ==
        (kNoFiles | kNoSpace));
}

TEST_CASE("completion: files and directories are the shell's business", "[cli]") {
  FakeNames names;
  CHECK(complete(small_tree(), {"explain", "-f", "a"}, names).directive == kFilesAsWell);
  CHECK(complete(small_tree(), {"certs", "--out", "a"}, names).directive == kOnlyDirectories);
  CHECK(complete(small_tree(), {"status", ""}, names).directive == kNoFiles);
}

TEST_CASE("completion: objects are asked of the cluster that the line names", "[cli]") {
  FakeNames names;
  const Completion kinds = complete(small_tree(), {"explain", "d"}, names);
  CHECK(texts(kinds) == Words{"deployment/", "daemonset/"});
  CHECK((kinds.directive & kNoSpace) != 0);
  CHECK(texts(complete(small_tree(), {"explain", "-n", "shop", "pod/x", "deploy/deploy-b"},
                       names)) == Words{"deploy/deploy-b"});
  CHECK(names.seen.name_space == "shop");
  CHECK(texts(complete(small_tree(), {"explain", "--configmap", "mesh/c"}, names)) ==
        Words{"mesh/configmap-a", "mesh/configmap-b"});
  CHECK(names.seen.name_space == "mesh");
}

TEST_CASE("completion: the answer ends with cobra's directive", "[cli]") {
  std::ostringstream out;
  write_completion({{{"status", "List Pods"}, {"x", ""}}, kNoFiles}, out);
  CHECK(out.str() == "status\tList Pods\nx\n:4\n");
}

TEST_CASE("completion: a script is for the program that it names", "[cli]") {
  for (const Shell shell : {Shell::Bash, Shell::Zsh, Shell::Fish}) {
    const std::string script = completion_script(shell, "my-tool");
    CHECK_THAT(script, Catch::Contains("my-tool") && Catch::Contains("_my_tool") &&
                           Catch::Contains("__complete"));
    CHECK(script.find("PROGRAM") == std::string::npos);
    CHECK(script.find("FUNCTION") == std::string::npos);
  }
}

TEST_CASE("completion: contexts come from the kubeconfig files that kubectl reads", "[cli]") {
  const TempDir dir;
  const std::string one = dir.write("one", "contexts:\n- name: dev\n- name: prod\n");
  const std::string two = dir.write("two", "contexts: [{name: dev}, {name: stage}]\n");
  kube::Environment environment;
  environment.variable = [&](const std::string& name) {
    return name == "KUBECONFIG" ? std::optional(one + ":" + two + ":" + dir.file("missing"))
                                : std::nullopt;
  };
  ClusterNames names({}, environment);
  CHECK(names.contexts({}) == Words{"dev", "prod", "stage"});
  CHECK(names.contexts({two, "", "", ""}) == Words{"dev", "stage"});
}

TEST_CASE("completion: names come from the cluster; where it does not answer, there are none",
          "[cli]") {
  const FakeApi api(
      [](const FakeApi::Request& request, FakeApi::Peer& peer) {
        if (request.target.starts_with("/apis/apps/v1/namespaces/shop/deployments")) {
          peer.respond(200, R"({"kind":"DeploymentList","metadata":{},"items":[
            {"metadata":{"name":"web"}},{"metadata":{"name":"db"}}]})");
          return;
        }
        peer.refuse(403, "Forbidden");
      },
      FakeApi::Security::Plain);
  const auto connect = [&](const ClusterWords&) {
    kube::ClientConfig config;
    config.server = api.url();
    return kube::RestClient::create(config, {});
  };
  ClusterNames names(connect, {});
  CHECK(names.objects("deploy", {"", "", "", "shop"}) == Words{"web", "db"});
  CHECK(names.objects("thing", {"", "", "", "shop"}).empty());
  CHECK(names.namespaces({}).empty());
}

TEST_CASE("command tree: a mistake is told, with what was probably meant", "[cli]") {
  const CommandSpec tree = small_tree();
  CHECK_THAT(find_mistake(tree, {"statsu"}), Catch::Contains("did you mean status?"));
  CHECK_THAT(find_mistake(tree, {"patch", "dif"}), Catch::Contains("did you mean diff?"));
  CHECK_THAT(find_mistake(tree, {}), Catch::Contains("which command?"));
  CHECK_THAT(
      find_mistake(tree, {"status", "--contxt", "x"}),
      Catch::Contains("status has no flag --contxt") && Catch::Contains("did you mean --context?"));
  CHECK_THAT(find_mistake(tree, {"status", "--quiet"}),
             Catch::Contains("has no flag --quiet") && !Catch::Contains("did you mean"));
  CHECK(find_mistake(tree, {"status", "--context", "--namespace"}).empty());
  CHECK(find_mistake(tree, {"status", "--output=--x"}).empty());
  CHECK(find_mistake(tree, {"explain", "--", "--x"}).empty());
}

}  // namespace
}  // namespace injector::cli
