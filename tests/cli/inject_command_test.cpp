// What inject makes of single objects, and what it says about them.

#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "tests/cli/run_commands.h"
#include "tests/support/temp_dir.h"

namespace injector::cli::tests {
namespace {

using base::Json;
using injector::tests::TempDir;

const std::string kMeta = "metadata:\n  name: web\n";
const std::string kAsk = "metadata: {annotations: {initializer.kubernetes.io/envoy: 'true'}}";
const std::string kClash =
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: db\n  annotations:\n"
    "    initializer.kubernetes.io/envoy: 'true'\nspec:\n  containers:\n  - name: app\n"
    "  volumes:\n  - name: conf\n    emptyDir: {}\n";

std::string template_in(const std::string& indent, const std::string& list_mark = "") {
  return indent + "template:\n" + indent + "  " + kAsk + "\n" + indent + "  spec:\n" + indent +
         "    containers:\n" + indent + "    - name: app" + list_mark + "\n";
}

TEST_CASE("inject: a refused object fails the run and nothing is written", "[cli]") {
  const Output output = inject_text(asking_pod("web") + "---\n" + kClash);
  CHECK(output.code == kFailed);
  CHECK(output.out.empty());
  CHECK(output.says("pod/db: refused: VolumeConflict"));
  CHECK(output.says("--on-conflict=skip"));
  CHECK_FALSE(output.says("injected"));
}

TEST_CASE("inject: every refused object is named, not only the first", "[cli]") {
  std::string second = kClash;
  second.replace(second.find("name: db"), 8, "name: d2");
  const Output output = inject_text(kClash + "---\n" + second);
  CHECK(output.says("pod/db: refused"));
  CHECK(output.says("pod/d2: refused"));
  CHECK(output.says("error: 2 objects were refused"));
}

TEST_CASE("inject: with on-conflict skip the refused object is passed on as it was", "[cli]") {
  DecisionContext context = context_with(kTemplate);
  context.policy.on_conflict = core::OnConflict::Skip;
  const Output output = run_inject_on(options_for({"-"}), context, kClash);
  CHECK(output.code == kDone);
  CHECK(output.out == kClash);
}

TEST_CASE("inject: a refused object leaves files edited in place as they were", "[cli]") {
  const TempDir dir;
  RewriteOptions options =
      options_for({dir.write("a.yaml", asking_pod("web")), dir.write("b.yaml", kClash)});
  options.in_place = true;
  const Output output = run_inject_on(options, context_with(kTemplate));
  CHECK(output.code == kFailed);
  CHECK(output.says("no file was changed"));
  CHECK_FALSE(output.says("injected"));
}

TEST_CASE("inject: kinds that we do not know are workloads by their structure", "[cli]") {
  for (const std::string head : {"apiVersion: argoproj.io/v1alpha1\nkind: Rollout\n",
                                 "apiVersion: apps.openshift.io/v1\nkind: DeploymentConfig\n",
                                 "apiVersion: serving.knative.dev/v1\nkind: Service\n",
                                 "apiVersion: apps.kruise.io/v1alpha1\nkind: CloneSet\n",
                                 "apiVersion: apps.kruise.io/v1beta1\nkind: StatefulSet\n"}) {
    const Output output = inject_text(head + kMeta + "spec:\n" + template_in("  "));
    INFO(head << output.err);
    CHECK(output.code == kDone);
    CHECK(output.says("/web: injected (proxy)"));
    CHECK(output.out.find("image: proxy:1") != std::string::npos);
    const Output back = run_uninject_on(options_for({"-"}), output.out);
    CHECK(back.out == head + kMeta + "spec:\n" + template_in("  "));
  }
}

TEST_CASE("inject: a PodTemplate and a ScaledJob have their template elsewhere", "[cli]") {
  const Output pod_template =
      inject_text("apiVersion: v1\nkind: PodTemplate\n" + kMeta + template_in(""));
  CHECK(pod_template.says("podtemplate/web: injected (proxy)"));
  const Output scaled = inject_text("apiVersion: keda.sh/v1alpha1\nkind: ScaledJob\n" + kMeta +
                                    "spec:\n  jobTargetRef:\n" + template_in("    "));
  CHECK(scaled.says("scaledjob/web: injected (proxy)"));
  CHECK(scaled.says("NeverCompletes"));
}

TEST_CASE("inject: a pod template that is not handled is named, and --strict counts it", "[cli]") {
  const std::string text = "apiVersion: argoproj.io/v1alpha1\nkind: Experiment\n" + kMeta +
                           "spec:\n  templates:\n  - name: a\n" + template_in("    ");
  RewriteOptions options = options_for({"-"});
  options.strict = true;
  const Output output = run_inject_on(options, context_with(kTemplate), text);
  CHECK(output.code == kUnmet);
  CHECK(output.out == text);
  CHECK(
      output.says("experiment/web: skipped: NotAPod (there is a pod template at "
                  "spec.templates[0].template"));
}

TEST_CASE("inject: objects without a Pod pass without a line", "[cli]") {
  const std::string crd =
      "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  versions:\n"
      "  - schema: {properties: {spec: {properties: {containers: {type: array}}}}}\n";
  const Output output = inject_text(crd);
  CHECK(output.out == crd);
  CHECK(output.err.empty());
}

TEST_CASE("inject: a patch of a kind that is not built in replaces its lists", "[cli]") {
  RewriteOptions options = options_for({"-"});
  options.output = OutputFormat::Strategic;
  const Output output = run_inject_on(
      options, context_with(kTemplate),
      "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\n" + kMeta + "spec:\n" + template_in("  "));
  REQUIRE(output.code == kDone);
  const Json patch = base::read_json(output.out).value();
  const Json& containers = patch.at("spec").at("template").at("spec").at("containers");
  REQUIRE(containers.size() == 2);
  CHECK(containers.at(0).at("name") == "app");
}

TEST_CASE("inject: partial objects pass with a note", "[cli]") {
  const std::string head = "apiVersion: apps/v1\nkind: Deployment\n" + kMeta;
  for (const std::string rest : {"", "spec:\n  replicas: 3\n", "spec:\n  template:\n",
                                 "spec:\n  template:\n    metadata: {labels: {a: b}}\n",
                                 "spec:\n  template:\n    spec:\n      hostNetwork: true\n"}) {
    const std::string text = head + rest + "---\n" + asking_pod("whole");
    RewriteOptions options = options_for({"-"});
    options.strict = true;
    const Output output = run_inject_on(options, context_with(kTemplate), text);
    INFO(rest << output.err);
    CHECK(output.code == kDone);
    CHECK(output.out.starts_with(head + rest));
    CHECK(output.says("deployment/web: skipped: NotAPod (a partial object: no spec.template"));
    CHECK(output.says("pod/whole: injected (proxy)"));
  }
}

TEST_CASE("inject: a partial object that asks does not end the run, but --strict counts it",
          "[cli]") {
  const std::string text = "kind: Deployment\n" + kMeta + "spec:\n  template:\n    " + kAsk + "\n";
  RewriteOptions options = options_for({"-"});
  CHECK(run_inject_on(options, context_with(kTemplate), text).code == kDone);
  options.strict = true;
  CHECK(run_inject_on(options, context_with(kTemplate), text).code == kUnmet);
}

TEST_CASE("inject: a malformed workload is still an error that names the field", "[cli]") {
  const Output output =
      inject_text("kind: Deployment\n" + kMeta + "spec:\n  template:\n    spec: {containers: 5}\n");
  CHECK(output.code == kFailed);
  CHECK(output.says("spec.template.spec.containers: not a list"));
}

TEST_CASE("inject: report lines name the namespace, and the file where there are several",
          "[cli]") {
  const TempDir dir;
  std::string shop = asking_pod("web");
  shop.replace(shop.find("  name: web\n"), 12, "  name: web\n  namespace: shop\n");
  const std::string a = dir.write("a.yaml", shop);
  const std::string b = dir.write("b.yaml", asking_pod("web"));
  const DecisionContext context = context_with(kTemplate);
  CHECK(run_inject_on(options_for({b}), context).err == "pod/web: injected (proxy)\n");
  CHECK(run_inject_on(options_for({a}), context).err ==
        "pod/web (namespace shop): injected (proxy)\n");
  CHECK(run_inject_on(options_for({a, b}), context).err ==
        a + ": pod/web (namespace shop): injected (proxy)\n" + b + ": pod/web: injected (proxy)\n");
}

TEST_CASE("inject: a failed run does not say that it injected", "[cli]") {
  const Output output = inject_text(asking_pod("web") + "---\na: [\n");
  CHECK(output.code == kFailed);
  CHECK(output.out.empty());
  CHECK_FALSE(output.says("injected"));
}

const std::string kNewTemplate =
    "containers:\n- name: proxy\n  image: proxy:2\n  env:\n  - name: LEVEL\n    value: info\n"
    "volumes:\n- name: cache\n  emptyDir: {}\n";

TEST_CASE("inject: an outdated sidecar is named together with the flag that replaces it", "[cli]") {
  const std::string injected = inject_text(asking_pod("web")).out;
  const Output again = inject_text(injected);
  CHECK_FALSE(again.says("--update"));
  const Output newer = run_inject_on(options_for({"-"}), context_with(kNewTemplate), injected);
  CHECK(newer.code == kDone);
  CHECK(newer.out == injected);
  CHECK(newer.says("AlreadyInitialized"));
  CHECK(newer.says("--update"));
}

TEST_CASE("inject: update gives the text that injecting the original gives", "[cli]") {
  const DecisionContext newer = context_with(kNewTemplate);
  const std::string original =
      "# head\n" + asking_pod("web") + "  # below the app\n---\n" + asking_pod("db");
  const std::string injected = inject_text(original).out;
  const Output updated = run_inject_on(options_for({"-"}), newer, injected, Outdated::Replace);
  CHECK(updated.code == kDone);
  CHECK(updated.says("pod/web: updated (proxy)"));
  CHECK(updated.out == run_inject_on(options_for({"-"}), newer, original).out);
  CHECK(run_uninject_on(options_for({"-"}), updated.out).out == original);
  const Output again = run_inject_on(options_for({"-"}), newer, updated.out, Outdated::Replace);
  CHECK(again.out == updated.out);
  CHECK_FALSE(again.says("updated"));
}

TEST_CASE("inject: update keeps to an explicit no, and works on the items of a List", "[cli]") {
  const DecisionContext newer = context_with(kNewTemplate);
  std::string refusing = inject_text(asking_pod("web")).out;
  refusing.replace(refusing.find("'true'"), 6, "'false'");
  const Output no = run_inject_on(options_for({"-"}), newer, refusing, Outdated::Replace);
  CHECK(no.out == refusing);
  CHECK(no.says("OptedOut"));
  const std::string list =
      "kind: List\nitems:\n- kind: Pod\n  metadata:\n    name: a\n    annotations:\n"
      "      initializer.kubernetes.io/envoy: 'true'\n  spec:\n    containers:\n    - name: app\n";
  const Output items =
      run_inject_on(options_for({"-"}), newer, inject_text(list).out, Outdated::Replace);
  CHECK(items.says("pod/a: updated (proxy)"));
  CHECK(items.out == run_inject_on(options_for({"-"}), newer, list).out);
}

TEST_CASE("inject: a Helm template gets a hint how to render it", "[cli]") {
  for (const std::string text : {"kind: Pod\nmetadata:\n  name: {{ .Values.name }}\n",
                                 "{{- if .Values.on }}\nkind: Pod\n", "{{ include \"a\" . }}\n"}) {
    const Output output = inject_text(text);
    INFO(text << output.err);
    CHECK(output.code == kFailed);
    CHECK(output.says("looks like a Helm template"));
    CHECK(output.says("helm template . | envoy-initializer inject -f -"));
  }
  CHECK_FALSE(inject_text("a: [\n").says("Helm"));
}

}  // namespace
}  // namespace injector::cli::tests
