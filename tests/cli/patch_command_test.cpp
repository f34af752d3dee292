#include "cli/patch_command.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace injector::cli {
namespace {

// A directory that goes away with the test.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "patch-command-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }

  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = path_ / name;
    std::ofstream(path) << text;
    return path.string();
  }

 private:
  std::filesystem::path path_;
};

struct Run {
  int code = 0;
  std::string out;
  std::string err;
};

template <class Command, class Options>
Run run(Command command, const Options& options, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int code = command(options, PatchStreams{in, out, err});
  return Run{code, out.str(), err.str()};
}

constexpr const char* kPod = R"(kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: app
    image: nginx
)";

constexpr const char* kInjected = R"(kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: app
    image: nginx
  - name: envoy
    image: envoy
)";

constexpr const char* kPatch = R"({
  "spec": {
    "$setElementOrder/containers": [
      {
        "name": "app"
      },
      {
        "name": "envoy"
      }
    ],
    "containers": [
      {
        "name": "envoy",
        "image": "envoy"
      }
    ]
  }
}
)";

TEST_CASE("patch command: diff prints the patch as JSON", "[cli]") {
  const TemporaryFolder folder;
  const Run result = run(run_patch_diff,
                         PatchDiffOptions{folder.file("a", kPod), folder.file("b", kInjected), ""});
  CHECK(result.code == 0);
  CHECK(result.out == kPatch);
  CHECK(result.err.empty());
}

TEST_CASE("patch command: apply prints YAML for YAML and keeps its order", "[cli]") {
  const TemporaryFolder folder;
  const Run result =
      run(run_patch_apply, PatchApplyOptions{folder.file("a", kPod), "-", "", {}}, kPatch);
  CHECK(result.code == 0);
  CHECK(result.out == kInjected);
}

TEST_CASE("patch command: apply prints JSON for JSON", "[cli]") {
  const TemporaryFolder folder;
  const Run result = run(
      run_patch_apply,
      PatchApplyOptions{"-", folder.file("p", "metadata: {name: b}"), "Pod", PatchType::Strategic},
      R"({"metadata":{"name":"a"}})");
  CHECK(result.code == 0);
  CHECK(result.out == "{\n  \"metadata\": {\n    \"name\": \"b\"\n  }\n}\n");
}

TEST_CASE("patch command: merge and json patches need no kind", "[cli]") {
  const TemporaryFolder folder;
  const std::string original = folder.file("a", R"({"a":[1]})");
  CHECK(
      run(run_patch_apply, PatchApplyOptions{original, "-", "", PatchType::Merge}, R"({"a":null})")
          .out == "{}\n");
  CHECK(run(run_patch_apply, PatchApplyOptions{original, "-", "", PatchType::Json},
            R"([{"op":"remove","path":"/a"}])")
            .out == "{}\n");
}

TEST_CASE("patch command: an unknown kind is an error that shows the way out", "[cli]") {
  const TemporaryFolder folder;
  const std::string service = folder.file("a", "kind: Service");
  for (const Run& result :
       {run(run_patch_diff, PatchDiffOptions{service, service, ""}),
        run(run_patch_apply, PatchApplyOptions{service, service, "", PatchType::Strategic})}) {
    CHECK(result.code == 1);
    CHECK(result.out.empty());
    CHECK(result.err.find("unknown kind Service") != std::string::npos);
    CHECK(result.err.find("CronJob") != std::string::npos);
    CHECK(result.err.find("--type=merge|json") != std::string::npos);
  }
}

TEST_CASE("patch command: --kind wins over the document's kind", "[cli]") {
  const TemporaryFolder folder;
  const std::string service = folder.file("a", "kind: Service");
  CHECK(run(run_patch_diff, PatchDiffOptions{service, service, "Pod"}).out == "{}\n");
  CHECK(run(run_patch_diff, PatchDiffOptions{service, service, "Nothing"}).code == 1);
}

TEST_CASE("patch command: what cannot be read or applied is exit 1 and no output", "[cli]") {
  const TemporaryFolder folder;
  const std::string pod = folder.file("pod", kPod);
  const std::string broken = folder.file("broken", "a: [1");
  for (const Run& result :
       {run(run_patch_diff, PatchDiffOptions{pod, pod + ".missing", ""}),
        run(run_patch_diff, PatchDiffOptions{pod, broken, ""}),
        run(run_patch_diff, PatchDiffOptions{"-", "-", ""}, kPod),
        run(run_patch_apply, PatchApplyOptions{pod, "-", "", PatchType::Strategic}, "[]"),
        run(run_patch_apply, PatchApplyOptions{pod, "-", "", PatchType::Json},
            R"([{"op":"add","path":"/x","value":1},{"op":"remove","path":"/y"}])")}) {
    CHECK(result.code == 1);
    CHECK(result.out.empty());
    CHECK_FALSE(result.err.empty());
  }
}

TEST_CASE("patch command: an error names the file", "[cli]") {
  const TemporaryFolder folder;
  const std::string broken = folder.file("broken.yaml", "a: [1");
  const Run result = run(run_patch_diff, PatchDiffOptions{broken, broken, ""});
  CHECK(result.err.find("broken.yaml: ") != std::string::npos);
}

TEST_CASE("patch command: a warning of the reader goes to the error stream", "[cli]") {
  const TemporaryFolder folder;
  const std::string twice = folder.file("a", "kind: Pod\nkind: Pod\n");
  const Run result = run(run_patch_diff, PatchDiffOptions{twice, twice, ""});
  CHECK(result.code == 0);
  CHECK(result.out == "{}\n");
  CHECK(result.err.find("line 2: duplicate key") != std::string::npos);
}

TEST_CASE("patch command: a full disk is exit 1", "[cli]") {
  const TemporaryFolder folder;
  const std::string pod = folder.file("pod", kPod);
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  CHECK(run_patch_diff(PatchDiffOptions{pod, pod, ""}, PatchStreams{in, out, err}) == 1);
  CHECK_FALSE(err.str().empty());
}

}  // namespace
}  // namespace injector::cli
