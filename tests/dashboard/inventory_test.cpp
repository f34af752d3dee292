// The table of Pods: counted, searched, paged, and kept up to date.

#include "dashboard/inventory.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "template/parser.h"

#include "dashboard/webhook_figures.h"

namespace injector::tests {
namespace {

using base::Json;
using dashboard::Inventory;
using dashboard::RowQuery;

Json pod(const std::string& name_space, const std::string& name, const std::string& asks = "true") {
  return base::read_json(R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":")" +
                         name_space + R"(","annotations":{"initializer.kubernetes.io/envoy":")" +
                         asks + R"("}},"spec":{"containers":[{"name":"app"}]}})")
      .value();
}

Inventory fresh() {
  return Inventory({core::TemplateSet::view_of(templates::default_template()), {}, {}});
}

std::size_t total(const Inventory& inventory, const RowQuery& query) {
  return inventory.page(query).at("total").get<std::size_t>();
}

TEST_CASE("inventory: counts by state and namespace, and forgets what goes", "[dashboard]") {
  Inventory inventory = fresh();
  REQUIRE(inventory.put_pod(pod("shop", "a")) == "missing");
  REQUIRE(inventory.put_pod(pod("shop", "b", "false")) == "not-asked");
  REQUIRE(inventory.put_pod(pod("bank", "a")) == "missing");
  const Json summary = inventory.summary();
  REQUIRE(summary.at("totals").at("missing") == 2);
  REQUIRE(summary.at("totals").at("not-asked") == 1);
  REQUIRE(summary.at("namespaces").size() == 2);
  REQUIRE(summary.at("namespaces").at(0).at("name") == "bank");
  REQUIRE(inventory.erase("Pod", "bank", "a") == "missing");
  REQUIRE(inventory.erase("Pod", "bank", "a").empty());
  REQUIRE(inventory.summary().at("namespaces").size() == 1);
}

TEST_CASE("inventory: a Pod that changes changes its row", "[dashboard]") {
  Inventory inventory = fresh();
  inventory.put_pod(pod("shop", "a"));
  inventory.put_pod(pod("shop", "a", "false"));
  REQUIRE(inventory.summary().at("totals").at("missing") == 0);
  REQUIRE(inventory.summary().at("totals").at("not-asked") == 1);
  Json ended = pod("shop", "a");
  ended["status"]["phase"] = "Succeeded";
  REQUIRE(inventory.put_pod(ended).empty());
  REQUIRE(total(inventory, {}) == 0);
}

TEST_CASE("inventory: a Namespace that asks counts for Pods that are put after", "[dashboard]") {
  Inventory inventory = fresh();
  Json silent = pod("shop", "a");
  silent["metadata"].erase("annotations");
  REQUIRE(inventory.put_pod(silent) == "not-asked");
  const core::MetaFacts asks{{{"initializer.kubernetes.io/envoy", "enabled"}}, {}};
  inventory.put_namespace("shop", &asks);
  REQUIRE(inventory.put_pod(silent) == "missing");
  inventory.put_namespace("shop", nullptr);
  REQUIRE(inventory.put_pod(silent) == "not-asked");
}

TEST_CASE("inventory: ten thousand Pods come a page at a time", "[dashboard]") {
  Inventory inventory = fresh();
  for (int i = 0; i < 10'000; ++i) {
    inventory.put_pod(pod("ns-" + std::to_string(i % 7), "pod-" + std::to_string(100'000 + i)));
  }
  RowQuery query;
  query.page = 99;
  const Json last = inventory.page(query);
  REQUIRE(last.at("total") == 10'000);
  REQUIRE(last.at("rows").size() == 100);
  query.page = 100;
  REQUIRE(inventory.page(query).at("rows").empty());
  query.page = static_cast<std::size_t>(-1);
  REQUIRE(inventory.page(query).at("rows").empty());
  query = {};
  query.search = "POD-109999";
  REQUIRE(total(inventory, query) == 1);
  query = {};
  query.name_space = "ns-3";
  query.state = "missing";
  REQUIRE(total(inventory, query) == 1429);
  query.state = "injected";
  REQUIRE(total(inventory, query) == 0);
}

TEST_CASE("inventory: workloads show only where something is wrong with them", "[dashboard]") {
  Inventory inventory = fresh();
  const auto deployment = [](const std::string& annotations) {
    return base::read_json(
               R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","annotations":)" +
               annotations +
               R"(},"spec":{"template":{"metadata":{},"spec":{"containers":[{"name":"app"}]}}}})")
        .value();
  };
  inventory.put_workload(deployment("{}"));
  REQUIRE(inventory.summary().at("warnings").empty());
  inventory.put_workload(deployment(R"({"initializer.kubernetes.io/envoy":"true"})"));
  REQUIRE(inventory.summary().at("warnings").size() == 1);
  REQUIRE(total(inventory, {}) == 0);
  inventory.erase("Deployment", "shop", "web");
  REQUIRE(inventory.summary().at("warnings").empty());
}

TEST_CASE("webhook figures: rate and 99 % between two readings", "[dashboard]") {
  const auto text = [](int requests, int fast, int slow) {
    const std::string name = "envoy_initializer_admission_duration_seconds_bucket{le=\"";
    return "# HELP x\nenvoy_initializer_admission_requests_total{outcome=\"inject\"} " +
           std::to_string(requests) + "\n" + name + "0.001\"} " + std::to_string(fast) + "\n" +
           name + "0.01\"} " + std::to_string(slow) + "\n" + name + "+Inf\"} " +
           std::to_string(slow) + "\nother 3\ngarbage\n";
  };
  const auto before = dashboard::read_admission_counts(text(100, 100, 100));
  REQUIRE(before.admissions == Approx(100));
  REQUIRE(before.buckets.size() == 3);
  const auto now = dashboard::read_admission_counts(text(200, 150, 200));
  const auto figures = dashboard::figures_between(before, now, std::chrono::seconds(10));
  REQUIRE(figures.per_second == Approx(10));
  REQUIRE(*figures.p99_seconds == Approx(0.01));
  const auto quiet = dashboard::figures_between(now, now, std::chrono::seconds(10));
  REQUIRE(quiet.per_second == Approx(0));
  REQUIRE(*quiet.p99_seconds == Approx(0.01));
  REQUIRE_FALSE(dashboard::figures_between({}, {}, std::chrono::seconds(1)).p99_seconds);
}

}  // namespace
}  // namespace injector::tests
