// An admission that has to ask the cluster waits on a thread of its own; nobody waits for it.

#include <atomic>
#include <latch>
#include <memory>
#include <string>

#include <catch2/catch.hpp>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "admission/admission.h"
#include "admission/routes.h"
#include "cluster/fresh_namespaces.h"
#include "http/server.h"
#include "template/store.h"
#include "tests/support/fake_clock.h"
#include "tests/support/tls_client.h"

namespace injector::admission {
namespace {

using Facts = std::shared_ptr<const core::MetaFacts>;

std::string review(const std::string& metadata) {
  return R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
         R"("resource":{"group":"","version":"v1","resource":"pods"},"namespace":"shop",)"
         R"("operation":"CREATE","object":{"metadata":{)" +
         metadata + R"(},"spec":{"containers":[]}}}})";
}

const std::string kSilent = review("");
const std::string kAsking = review(R"("annotations":{"initializer.kubernetes.io/envoy":"true"})");

Facts asking() {
  return std::make_shared<const core::MetaFacts>(
      core::MetaFacts{{{core::Policy{}.key, "true"}}, {}});
}

struct Bench {
  explicit Bench(NamespaceLookup lookup, NamespacePeek peek = {})
      : metrics(*registry),
        templates(base::Logger::silent()),
        admission({templates, {}, std::move(lookup), {}, std::move(peek)}, metrics,
                  base::Logger::silent()) {
    REQUIRE(templates.update(templates::default_template_text(), "built-in").has_value());
  }

  [[nodiscard]] std::string scrape() const {
    return prometheus::TextSerializer().Serialize(registry->Collect());
  }

  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  AdmissionMetrics metrics;
  templates::TemplateStore templates;
  Admission admission;
};

TEST_CASE("admission: what needs no Namespace is answered at once", "[webhook]") {
  std::atomic<int> looks{0};
  const Bench bench([&looks](const std::string&) {
    ++looks;
    return asking();
  });
  CHECK(bench.admission.answer_at_once(kAsking).value().status == 200);
  CHECK(bench.admission.answer_at_once("nonsense").value().status == 400);
  CHECK(looks == 0);
}

TEST_CASE("admission: what needs a look at the cluster has no answer at once, and counts once",
          "[webhook]") {
  const Bench bench([](const std::string&) { return asking(); });
  const std::string before = bench.scrape();
  CHECK_FALSE(bench.admission.answer_at_once(kSilent));
  CHECK(bench.scrape() == before);
  CHECK(bench.admission.answer(kSilent).body.find(R"("patch")") != std::string::npos);
}

TEST_CASE("admission: a Namespace that is known is not looked up", "[webhook]") {
  std::atomic<int> looks{0};
  const Bench bench(
      [&looks](const std::string&) {
        ++looks;
        return Facts();
      },
      [](const std::string&) { return std::optional(asking()); });
  const auto reply = bench.admission.answer_at_once(kSilent);
  REQUIRE(reply);
  CHECK(reply->body.find(R"("patch")") != std::string::npos);
  CHECK(looks == 0);
}

TEST_CASE("namespaces: what the server has to be asked is not known at once", "[webhook]") {
  const tests::FakeClock clock;
  Facts cached;
  base::Duration out_of_touch{0};
  int asked = 0;
  cluster::FreshNamespaces namespaces(
      {[&cached](const std::string&) { return cached; }, [&out_of_touch] { return out_of_touch; },
       [&asked](const std::string&, base::Duration) {
         ++asked;
         return base::Result<core::MetaFacts>(
             base::Error{base::ErrorCode::NotFound, "no such Namespace"});
       }},
      {}, clock, base::Logger::silent());
  CHECK_FALSE(namespaces.find_at_once("shop"));
  cached = asking();
  CHECK(namespaces.find_at_once("shop"));
  out_of_touch = std::chrono::seconds(1);
  CHECK_FALSE(namespaces.find_at_once("shop"));
  CHECK(asked == 0);
  CHECK_FALSE(namespaces.find("shop"));
  CHECK(asked == 1);
  // Remembered for a moment.
  CHECK(namespaces.find_at_once("shop"));
}

TEST_CASE("webhook: while a Namespace is looked up the same loop answers others", "[webhook]") {
  std::latch looking(1);
  std::latch found(1);
  const Bench bench([&](const std::string&) {
    looking.count_down();
    found.wait();
    return asking();
  });
  const Admission& admission = bench.admission;
  http::Server server({.listen = "127.0.0.1:0", .threads = 1},
                      admission::webhook_routes(
                          {[&](std::string_view body) { return admission.answer_at_once(body); },
                           [&](std::string_view body) { return admission.answer(body); }},
                          [](std::string_view) { return HttpReply{}; }),
                      nullptr, base::Logger::silent());
  REQUIRE(server.start());
  tests::TlsClient waiting(server.port(), {.tls = false});
  REQUIRE(waiting.send(tests::post(kSilent)));
  looking.wait();
  tests::TlsClient other(server.port(), {.tls = false});
  CHECK(other.ask(tests::post(kAsking)).value().status == 200);
  found.count_down();
  CHECK(waiting.receive().value().body.find(R"("patch")") != std::string::npos);
}

}  // namespace
}  // namespace injector::admission
