// What holds for every pair of documents, on generated ones; and what hostile ones may cost.

#include <algorithm>
#include <ctime>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "patch/json_patch.h"
#include "patch/merge_patch.h"
#include "patch/strategic_merge.h"
#include "tests/patch/json.h"
#include "tests/support/json_generator.h"

namespace injector::patch {
namespace {

using base::Json;
using base::Result;
using tests::JsonGenerator;

const Schema& pod_schema() {
  return *schema_for_kind("Pod");
}

void check_same(const Result<Json>& got, const Json& expected) {
  if (!got || !base::same(got.value(), expected)) {
    FAIL_CHECK("got      " << shown(got) << "\nexpected " << shown(expected));
  }
}

// Writes the documents out only when something is wrong: that costs more than the check.
void check_round_trip(const Json& original, const Result<Json>& patch, const Result<Json>& got,
                      const Json& modified) {
  if (!patch || !got || !base::same(got.value(), modified)) {
    FAIL_CHECK("original " << shown(original) << "\npatch    " << shown(patch) << "\ngot      "
                           << shown(got) << "\nexpected " << shown(modified));
  }
}

TEST_CASE("strategic merge: applying the diff of two pods to the first gives the second",
          "[patch]") {
  JsonGenerator generate(1);
  for (int round = 0; round < 2000; ++round) {
    const Json original = generate.pod();
    const Json modified = generate.pod();
    const Result<Json> patch = two_way_merge_patch(original, modified, pod_schema());
    REQUIRE(patch.has_value());
    check_round_trip(original, patch, apply_strategic(original, patch.value(), pod_schema()),
                     modified);
  }
}

TEST_CASE("strategic merge: the diff of a pod with itself is empty", "[patch]") {
  JsonGenerator generate(2);
  for (int round = 0; round < 500; ++round) {
    const Json pod = generate.pod();
    check_same(two_way_merge_patch(pod, pod, pod_schema()), Json::object());
  }
}

TEST_CASE("strategic merge: arbitrary documents give a value or an error, never a crash",
          "[patch]") {
  JsonGenerator generate(3);
  int diffs = 0;
  int applies = 0;
  for (int round = 0; round < 3000; ++round) {
    const Json original = generate.changed(generate.pod());
    const Json modified = generate.changed(original);
    const Result<Json> patch = two_way_merge_patch(original, modified, pod_schema());
    diffs += patch ? 1 : 0;
    applies += apply_strategic(original, modified, pod_schema()) ? 1 : 0;
    if (patch) {
      static_cast<void>(apply_strategic(generate.changed(original), patch.value(), pod_schema()));
    }
  }
  CHECK(diffs > 300);
  CHECK(applies > 300);
}

TEST_CASE("json patch: applying the diff of any two documents gives the second", "[patch]") {
  JsonGenerator generate(4);
  for (int round = 0; round < 5000; ++round) {
    const Json original = generate.value(5);
    const Json modified = generate.chance(70) ? generate.changed(original) : generate.value(5);
    const Result<Json> patch = diff_json_patch(original, modified);
    REQUIRE(patch.has_value());
    check_round_trip(original, patch, apply_json_patch(original, patch.value()), modified);
  }
}

TEST_CASE("json patch: applying the keyed diff of two pods gives the second", "[patch]") {
  JsonGenerator generate(5);
  for (int round = 0; round < 3000; ++round) {
    const Json original = generate.pod();
    const Json modified = generate.chance(50) ? generate.pod() : generate.changed(original);
    const Result<Json> patch = diff_json_patch(original, modified, &pod_schema());
    REQUIRE(patch.has_value());
    check_round_trip(original, patch, apply_json_patch(original, patch.value()), modified);
  }
}

// --- Hostile documents

Json nested(std::size_t depth, bool lists) {
  Json value = 1;
  for (std::size_t level = 0; level < depth; ++level) {
    Json outer = lists ? Json::array() : Json::object();
    if (lists) {
      outer.push_back(std::move(value));
    } else {
      outer["spec"] = std::move(value);
    }
    value = std::move(outer);
  }
  return value;
}

TEST_CASE("patch: documents nested 100000 deep are errors", "[patch]") {
  for (const bool lists : {false, true}) {
    Json deep = Json::object();
    deep["spec"] = nested(100'000, lists);
    const Json flat = Json::object();
    CHECK_FALSE(two_way_merge_patch(deep, flat, pod_schema()));
    CHECK_FALSE(two_way_merge_patch(flat, deep, pod_schema()));
    CHECK_FALSE(apply_strategic(deep, flat, pod_schema()));
    CHECK_FALSE(apply_strategic(flat, deep, pod_schema()));
    CHECK_FALSE(diff_json_patch(flat, deep));
    CHECK_FALSE(diff_json_patch(deep, flat));
    CHECK_FALSE(apply_json_patch(deep, Json::array()));
    CHECK_FALSE(apply_merge_patch(flat, deep));
    CHECK_FALSE(apply_merge_patch(deep, flat));
  }
}

TEST_CASE("patch: documents as deep as allowed work", "[patch]") {
  const Json deep = nested(base::kMaxJsonDepth, false);
  const Json flat = Json::object();
  CHECK(two_way_merge_patch(flat, deep, pod_schema()));
  CHECK(apply_strategic(flat, deep, pod_schema()));
  CHECK(apply_merge_patch(flat, deep));
  const Result<Json> patch = diff_json_patch(nested(base::kMaxJsonDepth - 1, false), deep);
  REQUIRE(patch.has_value());
}

TEST_CASE("patch: huge numbers are kept", "[patch]") {
  const Json original = R"({"a":9223372036854775807,"b":1e308})"_j;
  const Json modified = R"({"a":18446744073709551615,"b":-9223372036854775808})"_j;
  const Result<Json> patch = two_way_merge_patch(original, modified, pod_schema());
  REQUIRE(patch.has_value());
  check_same(apply_strategic(original, patch.value(), pod_schema()), modified);
}

// CPU time of this thread, so that other work on the machine does not count; the best of several
// runs, because caches do.
double cpu_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    REQUIRE(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  double best = 1e9;
  for (int run = 0; run < 3; ++run) {
    const double start = now();
    work();
    best = std::min(best, now() - start);
  }
  return best;
}

// Linear work takes ten times as long for ten times the input; quadratic work a hundred times.
void check_near_linear(const std::string& what,
                       const std::function<std::function<void()>(std::size_t)>& prepare) {
  const double small = cpu_seconds(prepare(2'000));
  const double large = cpu_seconds(prepare(20'000));
  INFO(what << ": " << small << " s and " << large << " s");
  CHECK(large / small < 40);
}

Json spec_with(std::string_view member, Json value) {
  Json document = Json::object();
  document["spec"][member] = std::move(value);
  return document;
}

// Every third element differs from `variant` to `variant`, and the order too.
Json environment(std::size_t size, std::size_t variant) {
  Json list = Json::array();
  for (std::size_t index = 0; index < size; ++index) {
    const std::size_t number = variant == 0 ? index : size - index + size / 3;
    Json element = Json::object();
    element["name"] = "VARIABLE_" + std::to_string(number);
    element["value"] = number % 3 == 0 ? variant : 0;
    list.push_back(std::move(element));
  }
  return list;
}

Json scalars(std::size_t size, std::size_t variant) {
  Json list = Json::array();
  for (std::size_t index = 0; index < size; ++index) {
    list.push_back("f" + std::to_string((index * 7919) % (size - variant * (size / 3))));
  }
  return list;
}

Json labels(std::size_t size, std::size_t variant) {
  Json map = Json::object();
  for (std::size_t index = 0; index < size; ++index) {
    base::append_member(map, "label" + std::to_string(index + variant * size / 2),
                        std::to_string(index));
  }
  return map;
}

std::function<void()> strategic_diff_work(const Json& original, const Json& modified) {
  return [=] { REQUIRE(two_way_merge_patch(original, modified, pod_schema())); };
}

std::function<void()> strategic_apply_work(const Json& original, const Json& modified) {
  const Json patch = two_way_merge_patch(original, modified, pod_schema()).value();
  return [=] { REQUIRE(apply_strategic(original, patch, pod_schema())); };
}

std::function<void()> json_diff_work(const Json& original, const Json& modified) {
  return [=] { REQUIRE(diff_json_patch(original, modified, &pod_schema())); };
}

TEST_CASE("patch: ten times the list takes about ten times as long", "[patch]") {
  const auto make_keyed = [](std::size_t size, std::size_t variant) {
    return spec_with("containers", environment(size, variant));
  };
  const auto make_atomic = [](std::size_t size, std::size_t variant) {
    return spec_with("tolerations", environment(size, variant));
  };
  const auto make_set = [](std::size_t size, std::size_t variant) {
    Json document = Json::object();
    document["metadata"]["finalizers"] = scalars(size, variant);
    return document;
  };
  const auto make_map = [](std::size_t size, std::size_t variant) {
    return spec_with("nodeSelector", labels(size, variant));
  };

  struct Input {
    const char* name;
    std::function<Json(std::size_t size, std::size_t variant)> make;
  };

  struct Work {
    const char* name;
    std::function<void()> (*prepare)(const Json&, const Json&);
  };

  for (const Input& input : {Input{"merge list", make_keyed}, Input{"atomic list", make_atomic},
                             Input{"set", make_set}, Input{"map", make_map}}) {
    for (const Work& work : {Work{"strategic diff", &strategic_diff_work},
                             Work{"strategic apply", &strategic_apply_work},
                             Work{"json patch diff", &json_diff_work}}) {
      check_near_linear(std::string(work.name) + " of a " + input.name, [&](std::size_t size) {
        return work.prepare(input.make(size, 0), input.make(size, 1));
      });
    }
  }
}

TEST_CASE("patch: ten times the duplicates take about ten times as long", "[patch]") {
  const auto make = [](std::size_t size, std::size_t variant) {
    Json list = Json::array();
    for (std::size_t index = 0; index < size; ++index) {
      list.push_back(index % 2 == variant ? "a" : "b" + std::to_string(index % 97));
    }
    Json document = Json::object();
    document["metadata"]["finalizers"] = std::move(list);
    return document;
  };
  check_near_linear(
      "diff", [&](std::size_t size) { return strategic_diff_work(make(size, 0), make(size, 1)); });
  check_near_linear("apply", [&](std::size_t size) {
    return strategic_apply_work(make(size, 0), make(size, 1));
  });
}

TEST_CASE("merge patch: ten times the members take about ten times as long", "[patch]") {
  check_near_linear("merge patch", [](std::size_t size) -> std::function<void()> {
    const Json original = labels(size, 0);
    Json patch = labels(size, 1);
    for (const auto& item : original.items()) {
      base::append_member(patch, item.key() + "x", nullptr);
    }
    return [=] { REQUIRE(apply_merge_patch(original, patch)); };
  });
}

}  // namespace
}  // namespace injector::patch
