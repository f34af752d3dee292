// The main() of the programs that install manifests/: they need a real API server and a real
// kubectl. Where one of them is not to be had, it says why and ends with 77, which ctest reports as
// skipped.
#define CATCH_CONFIG_RUNNER
#include <cstdio>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "tests/support/api_server.h"
#include "tests/support/kubectl.h"
#include "tests/support/supervisor.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const auto servers = injector::tests::find_api_server_binaries();
  const auto kubectl = injector::tests::find_kubectl();
  if (!servers.directory || !kubectl.directory) {
    std::fprintf(stderr, "skipped: %s%s", servers.why_not.c_str(), kubectl.why_not.c_str());
    return kSkipped;
  }
  ::setenv("INJ_APISERVER_BIN", servers.directory->c_str(), 1);
  ::setenv("INJ_KUBECTL_BIN", kubectl.directory->c_str(), 1);
  return injector::tests::supervise([&] { return Catch::Session().run(argc, argv); });
}
