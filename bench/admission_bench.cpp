// What one admission costs, without sockets, and how that grows with the Pod.

#include <string>

#include <benchmark/benchmark.h>
#include <prometheus/registry.h>

#include "admission/admission.h"
#include "admission/review.h"
#include "base/json_text.h"
#include "core/inject.h"
#include "core/render.h"
#include "template/store.h"

namespace injector {
namespace {

using base::Json;

Json pod_of(std::int64_t containers) {
  Json pod =
      Json::parse(R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop",
    "labels":{"app":"web","version":"v1"},
    "annotations":{"initializer.kubernetes.io/envoy":"true","team":"shop"}},"spec":{"containers":[]}})");
  for (std::int64_t i = 0; i < containers; ++i) {
    Json container = Json::parse(R"({"image":"nginx:1.25","ports":[{"containerPort":8080}],
      "env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}],
      "resources":{"limits":{"cpu":"1","memory":"512Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},
      "volumeMounts":[{"name":"data","mountPath":"/data"}],"imagePullPolicy":"IfNotPresent",
      "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"})");
    container["name"] = "c" + std::to_string(i);
    pod["spec"]["containers"].push_back(container);
  }
  return pod;
}

std::string review_of(const Json& pod) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",)"
         R"("operation":"CREATE","resource":{"group":"","version":"v1","resource":"pods"},)"
         R"("namespace":"shop","object":)" +
         base::write_json(pod) + "}}";
}

void report_size(benchmark::State& state, const std::string& body) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(body.size()));
  state.counters["review_bytes"] = static_cast<double>(body.size());
}

// The whole answer: read, decide, patch, write.
void admission(benchmark::State& state) {
  const base::Logger log = base::Logger::silent();
  templates::TemplateStore templates(log);
  static_cast<void>(templates.update(templates::default_template_text(), "built-in template"));
  prometheus::Registry registry;
  admission::AdmissionMetrics metrics(registry);
  const admission::Admission handler({templates}, metrics, log);
  const std::string body = review_of(pod_of(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(handler.answer(body));
  }
  report_size(state, body);
}

// Only reading it, the way the webhook does.
void read_review(benchmark::State& state) {
  const std::string body = review_of(pod_of(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(admission::read_review(body));
  }
  report_size(state, body);
}

// Only reading it into a document tree, for comparison.
void read_tree(benchmark::State& state) {
  const std::string body = review_of(pod_of(state.range(0)));
  for (auto _ : state) {
    benchmark::DoNotOptimize(base::read_json(body));
  }
  report_size(state, body);
}

// The control loop's way: two-way strategic merge patch on trees.
void strategic(benchmark::State& state) {
  const Json pod = pod_of(state.range(0));
  const core::Template& tpl = templates::default_template();
  for (auto _ : state) {
    const auto facts = core::pod_facts(pod).value();
    const core::Decision decision = core::inject(facts, nullptr, tpl, {});
    benchmark::DoNotOptimize(
        core::strategic_patch(pod, core::patched_object(pod, decision.plan), "Pod"));
  }
}

BENCHMARK(admission)->Arg(1)->Arg(3)->Arg(10)->Arg(100)->Arg(300);
BENCHMARK(read_review)->Arg(3)->Arg(100);
BENCHMARK(read_tree)->Arg(3)->Arg(100);
BENCHMARK(strategic)->Arg(1)->Arg(10)->Arg(100);

}  // namespace
}  // namespace injector

BENCHMARK_MAIN();
