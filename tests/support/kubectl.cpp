#include "tests/support/kubectl.h"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "tests/support/child_process.h"
#include "tests/support/manifests.h"

namespace injector::tests {
namespace {

namespace fs = std::filesystem;

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// kustomize takes no absolute paths.
std::string entries(const std::string& from, const std::vector<std::string>& paths) {
  std::string text = "\n";
  for (const std::string& path : paths) {
    text += "  - " + fs::relative(fs::canonical(manifest_path(path)), from).string() + "\n";
  }
  return text;
}

}  // namespace

KubectlBinaries find_kubectl() {
  if (const char* known = std::getenv("INJ_KUBECTL_BIN"); known != nullptr && *known != '\0') {
    return {.directory = known, .why_not = ""};
  }
  const TempDir dir;
  const std::string log = dir.file("finder.log");
  if (run({.argv = {data_path("../tools/get-kubectl"), "--find-only"}, .log_file = log}) != 0) {
    return {.directory = std::nullopt, .why_not = tail(log)};
  }
  return {.directory = first_line(read_file(log)), .why_not = ""};
}

KubectlResult kubectl(const std::vector<std::string>& arguments) {
  static const KubectlBinaries kBinaries = find_kubectl();
  if (!kBinaries.directory) {
    throw std::runtime_error(kBinaries.why_not);
  }
  const TempDir dir;
  std::vector<std::string> command{*kBinaries.directory + "/kubectl"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const int code = run({.argv = command,
                        .log_file = dir.file("log"),
                        .env = {"HOME=" + dir.file("home"), "KUBECONFIG="}});
  return {code, read_file(dir.file("log"))};
}

std::string write_overlay(const TempDir& dir, const std::vector<std::string>& resources,
                          const std::vector<std::string>& components) {
  const std::string folder = dir.file("overlay");
  fs::create_directories(folder);
  const std::string from = fs::canonical(folder).string();
  std::string text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n";
  text += "resources:" + entries(from, resources);
  if (!components.empty()) {
    text += "components:" + entries(from, components);
  }
  dir.write("overlay/kustomization.yaml", text);
  return folder;
}

std::vector<base::Json> rendered(const std::string& folder) {
  const KubectlResult result = kubectl({"kustomize", folder});
  if (result.code != 0) {
    throw std::runtime_error("kubectl kustomize " + folder + ": " + result.output);
  }
  return objects_of(result.output);
}

}  // namespace injector::tests
