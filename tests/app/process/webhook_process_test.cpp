// The webhook as a process: what its certificates do to its readiness.

#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <httplib.h>

#include "tests/support/child_process.h"
#include "tests/support/eventually.h"
#include "tests/support/files.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"
#include "tls/certificate.h"

namespace injector::tests {
namespace {

using namespace std::chrono_literals;

tls::KeyPair authority(const std::string& name) {
  return tls::make_ca(name, {std::chrono::system_clock::now() - 48h, 1000h}).value();
}

class Webhook {
 public:
  Webhook(const TempDir& dir, std::vector<std::string> flags)
      : log_(dir.file("log")),
        port_(free_port()),
        process_({.argv = command(std::move(flags)), .log_file = log_}) {}

  [[nodiscard]] std::string page(const std::string& path) const {
    httplib::Client client("127.0.0.1", port_);
    const auto answer = client.Get(path.c_str());
    return answer ? std::to_string(answer->status) + " " + answer->body : "";
  }

  [[nodiscard]] bool logged(const std::string& part) const {
    return read_file(log_).find(part) != std::string::npos;
  }

 private:
  [[nodiscard]] std::vector<std::string> command(std::vector<std::string> flags) const {
    flags.insert(flags.begin(), {kProgram, "webhook", "--listen", "127.0.0.1:0", "--admin-listen",
                                 "127.0.0.1:" + std::to_string(port_)});
    return flags;
  }

  std::string log_;
  int port_;
  ChildProcess process_;
};

}  // namespace

TEST_CASE("webhook: with an expired certificate it is not ready, with a new one it is",
          "[process]") {
  const TempDir dir;
  const tls::KeyPair ca = authority("ca");
  const auto now = std::chrono::system_clock::now();
  const auto put = [&](const tls::Validity& validity) {
    const auto pair = tls::make_serving_certificate(ca, {"localhost"}, validity).value();
    dir.replace("tls.crt", pair.certificate.pem());
    dir.replace("tls.key", pair.key.pem());
  };
  put({now - 24h, 2h});
  static_cast<void>(dir.write("t.yaml", "containers: [{name: envoy, image: e}]\n"));
  const Webhook webhook(dir, {"--config", dir.file("t.yaml"), "--tls-cert", dir.file("tls.crt"),
                              "--tls-key", dir.file("tls.key")});
  std::string page;
  REQUIRE(eventually([&] {
    page = webhook.page("/readyz?verbose");
    return !page.empty();
  }));
  INFO(page);
  CHECK(page.rfind("503 ", 0) == 0);
  CHECK(page.find("the certificate has expired on ") != std::string::npos);
  put({now, 24h});
  CHECK(eventually([&] { return webhook.page("/readyz").rfind("200 ", 0) == 0; }));
}

TEST_CASE("webhook: --client-ca is followed also where the certificate is from memory",
          "[process]") {
  const TempDir dir;
  static_cast<void>(dir.write("clients.crt", authority("one").certificate.pem()));
  const Webhook webhook(dir, {"--standalone", "--client-ca", dir.file("clients.crt")});
  REQUIRE(eventually([&] { return webhook.logged("serving "); }));
  CHECK_FALSE(webhook.logged("serving certificate loaded"));
  dir.replace("clients.crt", authority("two").certificate.pem());
  CHECK(eventually([&] { return webhook.logged("serving certificate loaded"); }));
  dir.replace("clients.crt", "nonsense");
  CHECK(eventually([&] { return webhook.logged("serving certificate not replaced"); }));
}

}  // namespace injector::tests
