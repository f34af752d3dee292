// On generated Pods: the three renderings agree, injecting twice changes nothing, undoing gives the
// original back.

#include <cstdint>

#include <catch2/catch.hpp>

#include "admission/review.h"
#include "base/json_text.h"
#include "core/inject.h"
#include "core/remove.h"
#include "core/render.h"
#include "patch/json_patch.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"
#include "template/parser.h"
#include "tests/support/json_generator.h"

namespace injector::core {
namespace {

using base::Json;

Template rich_template() {
  return templates::parse_template(R"(
containers:
- {name: side-a, image: a}
- {name: side-b, image: b, ports: [{containerPort: 9090}]}
initContainers:
- {name: side-init, image: c, restartPolicy: Always}
volumes:
- {name: side-conf, configMap: {name: envoy}}
- {name: side-tmp, emptyDir: {}}
imagePullSecrets:
- {name: side-secret}
labels: {side: "yes"}
annotations: {side/note: text}
)",
                                   "rich.yaml")
      .value();
}

std::string review_of(const Json& pod) {
  return R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u",)"
         R"("operation":"CREATE","resource":{"resource":"pods"},"object":)" +
         base::write_json(pod) + "}}";
}

TEST_CASE("render: all forms agree on generated Pods, and removal undoes them", "[core]") {
  Policy policy;
  policy.inject_by_default = true;
  const Template templates[] = {templates::default_template(), rich_template()};
  const patch::Schema& schema = *patch::schema_for_kind("Pod");
  tests::JsonGenerator generator(20'240'607);
  int injected = 0;
  for (int i = 0; i < 400; ++i) {
    const Json pod = generator.pod();
    const Template& tpl = templates[i % 2];
    const auto facts = pod_facts(pod);
    if (!facts) {
      continue;
    }
    const Decision decision = inject(facts.value(), nullptr, tpl, policy);
    if (decision.outcome != Outcome::Inject) {
      continue;
    }
    ++injected;
    INFO(base::write_json(pod));
    const Json patched = patched_object(pod, decision.plan);

    const Json operations = base::read_json(json_patch(facts.value(), decision.plan)).value();
    CHECK(base::same(patch::apply_json_patch(pod, operations).value(), patched));

    const Json merge = strategic_patch(pod, patched, "Pod").value();
    CHECK(base::same(patch::apply_strategic(pod, merge, schema).value(), patched));

    CHECK(inject(pod_facts(patched).value(), nullptr, tpl, policy).reason ==
          Reason::AlreadyInitialized);

    const auto status = injection_status(patched, policy).value();
    REQUIRE(status.has_value());
    CHECK(base::same(without_injection(patched, *status, policy), pod));

    PodFacts from_tape = admission::read_review(review_of(pod)).value().pod.value();
    CHECK(from_tape == facts.value());
  }
  CHECK(injected > 100);
}

}  // namespace
}  // namespace injector::core
