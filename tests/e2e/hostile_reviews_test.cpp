// The real program under reviews of a tenant who may create Pods and means harm: its memory and its
// log stay small.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/child_process.h"
#include "tests/support/files.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tls_client.h"

namespace injector::tests {
namespace {

constexpr std::size_t kReviewSize = 2'000'000;
constexpr int kReviews = 200;
constexpr int kClients = 8;
constexpr long kMaxMemory = 64'000'000;
constexpr std::uintmax_t kMaxLog = 1'000'000;

std::string review_of(const std::string& metadata, const std::string& spec) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",)"
         R"("operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},)"
         R"("namespace":"tenant","object":{"metadata":{)" +
         metadata + R"(},"spec":{"containers":[{"name":"app"}])" + spec + "}}}}";
}

std::string long_value(const std::string& owner) {
  return review_of(R"("name":"p","annotations":{"initializer.kubernetes.io/envoy":")" +
                       std::string(kReviewSize, 'x') + R"("},"ownerReferences":[{"apiVersion":)" +
                       R"("apps/v1","kind":"ReplicaSet","name":")" + owner +
                       R"(","uid":"1","controller":true}])",
                   "");
}

std::string many_volumes() {
  std::string volumes;
  for (int count = 0; count < 73'000; ++count) {
    volumes +=
        (volumes.empty() ? "" : ",") + (R"({"name":"volume-)" + std::to_string(count)) + R"("})";
  }
  return review_of(R"("name":"p","annotations":{"initializer.kubernetes.io/envoy":"true"})",
                   R"(,"volumes":[)" + volumes + "]");
}

class Webhook {
 public:
  Webhook() {
    REQUIRE(eventually([this] { return port() != 0; }));
  }

  [[nodiscard]] std::uint16_t port() const {
    constexpr std::string_view kBefore = R"("msg":"serving","port":)";
    const std::string text = read_file(log);
    const std::size_t at = text.find(kBefore);
    return at == std::string::npos
               ? std::uint16_t{0}
               : static_cast<std::uint16_t>(std::atoi(text.c_str() + at + kBefore.size()));
  }

  /// The most memory it ever had, in bytes.
  [[nodiscard]] long peak_memory() const {
    const std::string status = read_file("/proc/" + std::to_string(program.pid()) + "/status");
    return 1024 * std::atol(status.c_str() + status.find("VmHWM:") + 6);
  }

  TempDir dir;
  std::string log = dir.write("log", "");
  ChildProcess program{{.argv = {kProgram, "webhook", "--standalone", "--listen", "127.0.0.1:0",
                                 "--admin-listen", "127.0.0.1:0", "--ca-out", dir.file("ca.crt"),
                                 "--log-format", "json", "--shutdown-delay", "0s"},
                        .log_file = log}};
};

// Too many large ones at once is an answer, too: who gets it comes again.
int ask_until_served(std::uint16_t port, const std::string& request) {
  int status = 429;
  while (status == 429) {
    TlsClient connection(port);
    const auto answer = connection.ask(request);
    status = answer ? answer->status : 0;
  }
  return status;
}

TEST_CASE("webhook: 200 hostile reviews of 2 MB cost less than 64 MB and 1 MB of log",
          "[hostile]") {
  const std::array<std::string, 3> kinds = {post(long_value("web-5d4f")),
                                            post(long_value(std::string(100'000, 'o'))),
                                            post(many_volumes())};
  Webhook webhook;
  const std::uint16_t port = webhook.port();
  std::atomic<int> next = 0;
  std::atomic<int> answered = 0;
  std::vector<std::jthread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&] {
      for (int number = next++; number < kReviews; number = next++) {
        const std::string& request = kinds[static_cast<std::size_t>(number) % kinds.size()];
        answered += ask_until_served(port, request) == 200 ? 1 : 0;
      }
    });
  }
  clients.clear();
  INFO(tail(webhook.log, 5));
  CHECK(answered == kReviews);
  CHECK(webhook.peak_memory() < kMaxMemory);
  CHECK(std::filesystem::file_size(webhook.log) < kMaxLog);
  CHECK(webhook.program.stop() == 0);
}

}  // namespace
}  // namespace injector::tests
