// The program as a user runs it: what it answers to words and flags, and with which exit code.

#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/child_process.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

struct Answer {
  int code = 0;
  std::string text;  // Both streams.

  [[nodiscard]] bool has(const std::string& part) const {
    return text.find(part) != std::string::npos;
  }
};

Answer ask(std::vector<std::string> words) {
  const TempDir dir;
  words.insert(words.begin(), kProgram);
  const int code = run({.argv = words, .log_file = dir.file("log")});
  return {code, read_file(dir.file("log"))};
}

TEST_CASE("command line: a mistyped command gets the one that was meant", "[cli]") {
  const Answer answer = ask({"injct", "-f", "a.yaml"});
  INFO(answer.text);
  CHECK(answer.code == 2);
  CHECK(answer.has("there is no command envoy-initializer injct"));
  CHECK(answer.has("did you mean inject?"));
  const Answer nested = ask({"patch", "dif", "a", "b"});
  CHECK(nested.code == 2);
  CHECK(nested.has("did you mean diff?"));
  const Answer strange = ask({"xyzzy"});
  CHECK(strange.code == 2);
  CHECK_FALSE(strange.has("did you mean"));
  CHECK(strange.has("uninject"));
}

TEST_CASE("command line: no command at all is bad usage, and lists the commands", "[cli]") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, std::vector<std::string>{"patch"}}) {
    const Answer answer = ask(words);
    INFO(answer.text);
    CHECK(answer.code == 2);
    CHECK(answer.has("commands: "));
  }
}

TEST_CASE("command line: help, help COMMAND and --help say the same", "[cli]") {
  const Answer all = ask({"help"});
  CHECK(all.code == 0);
  CHECK(all.text == ask({"--help"}).text);
  CHECK(all.has("uninject"));
  const Answer inject = ask({"help", "inject"});
  CHECK(inject.code == 0);
  CHECK(inject.text == ask({"inject", "--help"}).text);
  CHECK(ask({"help", "patch", "diff"}).text == ask({"patch", "diff", "--help"}).text);
  CHECK(ask({"help", "injct"}).code == 2);
}

TEST_CASE("command line: initializer still means controller", "[cli]") {
  const Answer answer = ask({"initializer", "--mode", "maybe"});
  CHECK(answer.code == 2);
  CHECK(answer.text == ask({"controller", "--mode", "maybe"}).text);
}

TEST_CASE("command line: --version and version say the same", "[cli]") {
  const Answer answer = ask({"--version"});
  CHECK(answer.code == 0);
  CHECK(answer.text.starts_with("envoy-initializer "));
  CHECK(answer.text == ask({"version"}).text);
}

TEST_CASE("command line: bad flags are exit code 2 and change nothing", "[cli]") {
  const TempDir dir;
  const std::string pod = dir.write("pod.yaml", "kind: Pod\n");
  const std::vector<std::vector<std::string>> bad = {
      {"inject"},
      {"inject", "-f"},
      {"inject", "-f", pod, "--no-such-flag"},
      {"inject", "-f", pod, "-o", "xml"},
      {"inject", "-f", pod, "--on-conflict", "maybe"},
      {"inject", "-f", pod, "--in-place", "-o", "diff"},
      {"inject", "-f", "-", "--in-place"},
      {"inject", "-f", "-", "-f", "-"},
      {"inject", "-f", pod, "--allow-reformat"},
      {"inject", "-f", pod, "--annotation", ""},
      {"inject", "-f", pod, "--annotation", "not a key"},
      {"uninject", "-f", pod, "--annotation", "/"},
      {"inject", "-f", pod, "--config", "a", "--configmap", "b"},
      {"lint"},
      {"certs", "--dns", "", "--out", dir.file("certs")},
      {"certs", "--dns", "a b", "--out", dir.file("certs")},
      {"certs", "--dns", "a.b", "--out", ""},
      {"certs", "--dns", "a.b", "--out", dir.file("certs"), "--days", "0"},
      {"certs", "--out", dir.file("certs")},
      {"completion", "tcsh"},
      {"webhook", "--standalone", "--listen", "127.0.0.1:99999"},
      {"webhook", "--standalone", "--admin-listen", "8080"},
      {"webhook"},
      {"webhook", "--configmap", "a/b/c"},
      {"controller", "--configmap", "a/b/c"},
      {"status", "--configmap", "a/b/c"},
      {"explain", "-f", pod, "--configmap", "a/b/c"},
  };
  for (const auto& words : bad) {
    const Answer answer = ask(words);
    INFO(words.front() << " " << words.back() << ": " << answer.text);
    CHECK(answer.code == 2);
    CHECK_FALSE(answer.text.empty());
  }
  CHECK_FALSE(std::filesystem::exists(dir.file("certs")));
}

TEST_CASE("command line: failures that are not about flags are exit code 1", "[cli]") {
  const TempDir dir;
  CHECK(ask({"inject", "-f", dir.file("missing.yaml")}).code == 1);
  CHECK(ask({"inject", "-f", dir.write("bad.yaml", "a: [\n")}).code == 1);
  CHECK(ask({"lint", dir.file("missing.yaml")}).code == 1);
}

// The kubectl that `make test` fetched comes first.
const std::string kFindKubectl = "PATH=\"$INJ_KUBECTL_BIN:$PATH\"; ";

// The names that kubectl finds in what inject prints for the files; needs no cluster.
std::string names_by_kubectl(const TempDir& dir, const std::vector<std::string>& files) {
  std::string command = std::string(kProgram) + " inject --force -q";
  for (const std::string& file : files) {
    command += " -f " + dir.file(file);
  }
  const int code = run(
      {.argv = {"sh", "-c", kFindKubectl + command + " | kubectl label --local -f - x=y -o name"},
       .log_file = dir.file("log")});
  const std::string names = read_file(dir.file("log"));
  std::filesystem::remove(dir.file("log"));
  return std::to_string(code) + "\n" + names;
}

TEST_CASE("command line: a real kubectl reads the objects of every file", "[cli]") {
  const TempDir dir;
  if (run({.argv = {"sh", "-c", kFindKubectl + "command -v kubectl"},
           .log_file = dir.file("which")}) != 0) {
    WARN("no kubectl in INJ_KUBECTL_BIN or PATH: not checked");
    return;
  }
  const std::string spec = "spec: {containers: [{name: app}]}";
  const auto pod = [&](const std::string& name) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\n" + spec;
  };
  static_cast<void>(dir.write("a.yaml", pod("a")));
  static_cast<void>(dir.write("b.json",
                              R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, )"
                              R"("spec": {"containers": [{"name": "app"}]}})"));
  static_cast<void>(dir.write("c.yaml", "\xEF\xBB\xBF# c\n---\n" + pod("c") + "\n...\n"));
  static_cast<void>(
      dir.write("d.yaml", "--- {apiVersion: v1, kind: Pod, metadata: {name: d}, " + spec + "}\n"));
  static_cast<void>(dir.write("e.yaml", "%YAML 1.1\n---\n" + pod("e") + "\n"));
  static_cast<void>(dir.write("f.yaml", "# nothing"));
  CHECK(names_by_kubectl(dir, {"a.yaml", "b.json", "c.yaml", "d.yaml", "f.yaml"}) ==
        "0\npod/a\npod/b\npod/c\npod/d\n");
  CHECK(names_by_kubectl(dir, {"b.json", "f.yaml", "a.yaml", "b.json", "d.yaml"}) ==
        "0\npod/b\npod/a\npod/b\npod/d\n");
  CHECK(names_by_kubectl(dir, {"b.json", "b.json"}) == "0\npod/b\npod/b\n");
  CHECK(names_by_kubectl(dir, {"d.yaml", "e.yaml", "c.yaml", "b.json", "a.yaml"}) ==
        "0\npod/d\npod/e\npod/c\npod/b\npod/a\n");
}

TEST_CASE("command line: -R injects below a directory in place", "[cli]") {
  const TempDir dir;
  std::filesystem::create_directories(dir.file("a/b"));
  const std::string file = dir.write(
      "a/b/pod.yaml",
      "kind: Pod\nmetadata:\n  name: web\n  labels: {initializer.kubernetes.io/envoy: 'true'}\n"
      "spec:\n  containers:\n  - name: app\n");
  CHECK(ask({"inject", "-f", dir.path().string(), "--in-place"}).code == 1);
  CHECK(ask({"inject", "-R", "-f", dir.path().string(), "--in-place"}).code == 0);
  CHECK(read_file(file).find("envoy-status") != std::string::npos);
}

}  // namespace
}  // namespace injector::tests
