// Reviews of somebody who may create Pods, and means harm.

#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "admission/admission.h"
#include "admission/byte_budget.h"
#include "base/json_text.h"

namespace injector::admission {
namespace {

using namespace std::chrono_literals;
using base::Json;

class Bench {
 public:
  explicit Bench(NamespaceLookup namespaces = {}, OwnerNotice tell_owner = {})
      : templates(base::Logger::silent()),
        metrics(*registry),
        admission({templates, {}, std::move(namespaces), std::move(tell_owner)}, metrics,
                  base::Logger(base::LogFormat::Json, base::LogLevel::Debug,
                               [this](std::string_view line) { lines.emplace_back(line); })) {
    REQUIRE(templates.update(templates::default_template_text(), "built-in").has_value());
  }

  [[nodiscard]] std::string scrape() const {
    return prometheus::TextSerializer().Serialize(registry->Collect());
  }

  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  templates::TemplateStore templates;
  AdmissionMetrics metrics;
  std::vector<std::string> lines;
  Admission admission;
};

Json review_of(Json pod) {
  return {{"kind", "AdmissionReview"},
          {"apiVersion", "admission.k8s.io/v1"},
          {"request",
           {{"uid", "u"},
            {"operation", "CREATE"},
            {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
            {"namespace", "shop"},
            {"object", std::move(pod)}}}};
}

Json quiet_pod() {
  return {{"metadata", {{"name", "p"}}}, {"spec", {{"containers", Json::array()}}}};
}

TEST_CASE("admission: megabytes in a Pod are a short line, warning and Event", "[webhook]") {
  const std::string big(2'600'000, 'x');
  std::vector<std::string> told;
  Bench bench({}, [&](const AdmissionRequest&, const core::Decision& decision) {
    told.push_back(decision.detail + core::joined(decision.warnings));
  });
  Json pod = quiet_pod();
  pod["metadata"] = {{"name", big},
                     {"annotations", {{"initializer.kubernetes.io/envoy", big}}},
                     {"ownerReferences", Json::array({Json{{"apiVersion", "apps/v1"},
                                                           {"kind", big},
                                                           {"name", big},
                                                           {"uid", "1"},
                                                           {"controller", true}}})}};
  Json review = review_of(std::move(pod));
  review["request"]["namespace"] = big;
  const HttpReply reply = bench.admission.answer(base::write_json(review));
  CHECK(reply.status == 200);
  CHECK(reply.body.size() < 2000);
  REQUIRE(bench.lines.size() == 1);
  CHECK(bench.lines.front().size() < 3000);
  REQUIRE(told.size() == 1);
  CHECK(told.front().size() < 1000);
}

TEST_CASE("admission: a long apiVersion is not sent back whole", "[webhook]") {
  Bench bench;
  Json review = review_of(quiet_pod());
  review["apiVersion"] = std::string(2'600'000, 'x');
  const HttpReply reply = bench.admission.answer(base::write_json(review));
  CHECK(reply.status == 400);
  CHECK(reply.body.size() < 500);
}

TEST_CASE("admission: running out of memory is a 503 for that request", "[webhook]") {
  Bench bench([](const std::string& name) -> std::shared_ptr<const core::MetaFacts> {
    if (name == "shop") {
      throw std::bad_alloc();
    }
    return nullptr;
  });
  Json review = review_of(quiet_pod());
  CHECK(bench.admission.answer(base::write_json(review)).status == 503);
  CHECK_THAT(bench.scrape(), Catch::Contains(R"(outcome="error",reason="OutOfMemory"} 1)"));
  review["request"]["namespace"] = "another";
  CHECK(bench.admission.answer(base::write_json(review)).status == 200);
}

TEST_CASE("byte budget: who finds no room waits, and gives up in the end", "[webhook]") {
  ByteBudget budget(10);
  {
    const auto first = budget.take(6, 0ms);
    REQUIRE(first.has_value());
    CHECK_FALSE(budget.take(6, 0ms).has_value());
    CHECK(budget.take(4, 0ms).has_value());
    CHECK_FALSE(budget.take(100, 0ms).has_value());
  }
  CHECK(budget.take(100, 0ms).has_value());
}

TEST_CASE("byte budget: what is given back wakes who waits", "[webhook][threads]") {
  ByteBudget budget(10);
  auto first = budget.take(10, 0ms);
  bool got = false;
  std::jthread other([&] { got = budget.take(10, 60s).has_value(); });
  first.reset();
  other.join();
  CHECK(got);
}

}  // namespace
}  // namespace injector::admission
