// An API server for tests that are not written in C++: starts one, says on one line of JSON how to
// reach it, and keeps it until standard input ends. Exit code 77: there is none to be had.

#include <cstdio>
#include <exception>
#include <iostream>
#include <string>

#include "base/json_text.h"
#include "tests/support/api_server.h"

int main() {
  using namespace injector;
  if (!tests::find_api_server_binaries().directory) {
    std::cerr << tests::find_api_server_binaries().why_not << "\n";
    return 77;
  }
  try {
    const tests::ApiServer server;
    std::cout << base::write_json(base::Json({{"url", server.url()},
                                              {"token", server.token()},
                                              {"ca", server.ca_file()},
                                              {"kubeconfig", server.kubeconfig_path()}}))
              << std::endl;
    while (std::getchar() != EOF) {
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
