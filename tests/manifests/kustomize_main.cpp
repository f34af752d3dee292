// The main() of the tests that need a real kubectl and no cluster. Where there is none to be had,
// it says why and ends with 77, which ctest reports as skipped.
#define CATCH_CONFIG_RUNNER
#include <cstdio>
#include <cstdlib>

#include <catch2/catch.hpp>

#include "tests/support/kubectl.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  const auto binaries = injector::tests::find_kubectl();
  if (!binaries.directory) {
    std::fprintf(stderr, "skipped: %s", binaries.why_not.c_str());
    return kSkipped;
  }
  ::setenv("INJ_KUBECTL_BIN", binaries.directory->c_str(), 1);
  return Catch::Session().run(argc, argv);
}
