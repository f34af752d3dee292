// How often one admission asks for memory, counted by this program's own operator new.

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <prometheus/registry.h>

#include "admission/admission.h"
#include "http/conversation.h"
#include "template/store.h"
#include "tests/support/sample_review.h"

namespace {

std::atomic<std::size_t> allocations{0};

void* allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size);
}

void* operator new[](std::size_t size) {
  return allocate(size);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace injector {
namespace {

constexpr std::size_t kOrdinaryReview = 4096;

// The webhook as it serves, without sockets: its log lines are formatted, and go nowhere.
class Webhook {
 public:
  Webhook()
      : templates_(base::Logger::silent()),
        metrics_(registry_),
        log_(base::LogFormat::Json, base::LogLevel::Info, [](std::string_view /*line*/) {}),
        admission_({templates_}, metrics_, log_),
        service_{.routes = admission::webhook_routes(
                     {[this](std::string_view body) { return admission_.answer_at_once(body); },
                      [this](std::string_view body) { return admission_.answer(body); }},
                     [](std::string_view) { return admission::HttpReply(); }),
                 .limits = {},
                 .log = log_,
                 .bodies = http::BodyBudget(1U << 20U)},
        conversation_(service_, engine_) {
    REQUIRE(templates_.update(templates::default_template_text(), "built-in template"));
  }

  // Allocations of the third of three equal requests: by then every buffer has its size.
  std::size_t allocations_for(const std::string& body) {
    const std::string request = fmt::format(
        "POST /mutate?timeout=10s HTTP/1.1\r\nHost: webhook.shop.svc:443\r\n"
        "User-Agent: kube-apiserver-admission\r\nContent-Length: {}\r\n"
        "Accept: application/json, */*\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\n\r\n{}",
        body.size(), body);
    std::size_t count = 0;
    for (int i = 0; i < 3; ++i) {
      out_.clear();
      const std::size_t before = allocations;
      conversation_.take(request, out_);
      count = allocations - before;
      REQUIRE_THAT(out_, Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
    }
    return count;
  }

  [[nodiscard]] const std::string& reply() const { return out_; }

 private:
  templates::TemplateStore templates_;
  prometheus::Registry registry_;
  admission::AdmissionMetrics metrics_;
  base::Logger log_;
  admission::Admission admission_;
  http::Service service_;
  http::Engine engine_;
  http::Conversation conversation_;
  std::string out_;
};

TEST_CASE("cost: an injected Pod of 4 KB takes at most 40 allocations, HTTP and log line included",
          "[cost]") {
  Webhook webhook;
  const std::size_t count =
      webhook.allocations_for(tests::sample_review(kOrdinaryReview, tests::Asks::Yes));
  std::cout << "allocations, injected: " << count << "\n";
  REQUIRE_THAT(webhook.reply(), Catch::Contains("JSONPatch"));
  CHECK(count <= 40);
}

TEST_CASE("cost: a Pod of 4 KB that does not ask takes at most 40 allocations", "[cost]") {
  Webhook webhook;
  const std::size_t count =
      webhook.allocations_for(tests::sample_review(kOrdinaryReview, tests::Asks::No));
  std::cout << "allocations, skipped: " << count << "\n";
  REQUIRE_THAT(webhook.reply(), !Catch::Contains("JSONPatch"));
  CHECK(count <= 40);
}

}  // namespace
}  // namespace injector
