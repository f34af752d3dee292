// One folder a case: tests/golden/<case>/input.yaml (or .json) through the CLI and the webhook
// alike.
//   template.yaml    the template; absent: the tutorial's, tests/fixtures/envoy/configmap.yaml
//   namespaces.yaml  Namespace objects
//   args             force, strict, on-conflict=skip, built-in (the built-in template): one a line
// and what comes out of it:
//   output           standard output of inject
//   report           standard error of inject, then the exit code
//   strategic.json   inject -o strategic
// GOLDEN_UPDATE=1 (make golden) writes those anew; look at the diff before you commit it.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <prometheus/registry.h>

#include "admission/admission.h"
#include "base/base64.h"
#include "base/json_text.h"
#include "cli/explain_command.h"
#include "cli/inject_command.h"
#include "core/workload.h"
#include "patch/json_patch.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"
#include "template/files.h"
#include "template/store.h"
#include "tests/support/files.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

namespace fs = std::filesystem;
using base::Json;

struct Output {
  int code = 0;
  std::string out;
  std::string err;
};

struct Case {
  fs::path folder;
  std::string input;  // The file's name.
  std::string text;
  std::string template_text;
  DecisionContext context;
  bool strict = false;
};

std::string optional_file(const fs::path& path) {
  return fs::exists(path) ? tests::read_file(path.string()) : std::string();
}

void read_args(Case& golden) {
  std::istringstream args(optional_file(golden.folder / "args"));
  for (std::string arg; std::getline(args, arg);) {
    if (arg == "force") {
      golden.context.policy.inject_by_default = true;
    } else if (arg == "strict") {
      golden.strict = true;
    } else if (arg == "on-conflict=skip") {
      golden.context.policy.on_conflict = core::OnConflict::Skip;
    } else if (arg == "built-in") {
      golden.template_text = templates::default_template_text();
    } else {
      FAIL("unknown argument " << arg);
    }
  }
}

Case read_case(const fs::path& folder) {
  Case golden;
  golden.folder = folder;
  golden.input = fs::exists(folder / "input.json") ? "input.json" : "input.yaml";
  golden.text = tests::read_file((folder / golden.input).string());
  golden.template_text = optional_file(folder / "template.yaml");
  if (golden.template_text.empty()) {
    golden.template_text = tests::read_file(tests::data_path("fixtures/envoy/configmap.yaml"));
  }
  read_args(golden);
  golden.context.templates = templates::load_templates({{golden.template_text, "template.yaml"}},
                                                       {}, core::NativeSidecars::Yes)
                                 .value();
  golden.context.policy.read_overrides = templates::read_overrides;
  if (fs::exists(folder / "namespaces.yaml")) {
    std::istringstream in;
    std::ostringstream sink;
    golden.context.namespaces =
        read_namespaces({(folder / "namespaces.yaml").string()}, {in, sink, sink}).value();
  }
  return golden;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : fs::directory_iterator(tests::data_path("golden"))) {
    cases.push_back(read_case(entry.path()));
  }
  REQUIRE(cases.size() >= 55);  // Or these tests could pass over a folder that is not there.
  std::sort(cases.begin(), cases.end(),
            [](const Case& left, const Case& right) { return left.folder < right.folder; });
  return cases;
}

Output inject(const Case& golden, OutputFormat format) {
  std::istringstream in(golden.text);
  std::ostringstream out;
  std::ostringstream err;
  RewriteOptions options;
  options.files = {"-"};
  options.output = format;
  options.strict = golden.strict;
  const int code = run_inject(options, golden.context, {in, out, err});
  return {code, out.str(), err.str()};
}

Output uninject(const std::string& text, const core::Policy& policy) {
  std::istringstream in(text);
  std::ostringstream out;
  std::ostringstream err;
  RewriteOptions options;
  options.files = {"-"};
  const int code = run_uninject(options, policy, {in, out, err});
  return {code, out.str(), err.str()};
}

std::vector<Json> objects_of(const std::string& text) {
  std::istringstream in(text);
  std::ostringstream sink;
  std::vector<Json> objects;
  const auto take = [&](const Json& object) -> base::Result<void> {
    objects.push_back(object);
    return {};
  };
  REQUIRE(visit_objects({"-"}, take, {in, sink, sink}).has_value());
  return objects;
}

void compare(const Case& golden, const std::string& name, const std::string& got) {
  const fs::path path = golden.folder / name;
  if (std::getenv("GOLDEN_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << got;
  }
  CHECK(optional_file(path) == got);
}

// The Pod as the API server would send it: made from the template, named, in its namespace.
Json review_of(const Json& workload, const Json& pod) {
  Json object = pod;
  object["kind"] = "Pod";
  const std::string name_space(base::text_of(base::find(workload, "metadata", "namespace")));
  return Json({{"kind", "AdmissionReview"},
               {"apiVersion", "admission.k8s.io/v1"},
               {"request",
                {{"uid", "u"},
                 {"operation", "CREATE"},
                 {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                 {"namespace", name_space.empty() ? "default" : name_space},
                 {"object", object}}}});
}

struct Answered {
  bool allowed = false;
  Json pod;
};

class Webhook {
 public:
  explicit Webhook(const Case& golden)
      : templates_(base::Logger::silent()),
        metrics_(registry_),
        admission_({templates_, golden.context.policy,
                    [&golden](const std::string& name) {
                      const auto found = golden.context.namespaces.find(name);
                      return found == golden.context.namespaces.end()
                                 ? nullptr
                                 : std::make_shared<const core::MetaFacts>(found->second);
                    }},
                   metrics_, base::Logger::silent()) {
    REQUIRE(templates_.update(golden.template_text, "template.yaml").has_value());
  }

  Answered answer(const Json& workload, const Json& pod) const {
    const admission::HttpReply reply =
        admission_.answer(base::write_json(review_of(workload, pod)));
    REQUIRE(reply.status == 200);
    const Json response = base::read_json(reply.body).value().at("response");
    Answered answered{response.at("allowed").get<bool>(), pod};
    if (const Json* patch = base::find(response, "patch")) {
      const std::string text = base::base64_decode(patch->get<std::string>()).value();
      answered.pod = patch::apply_json_patch(pod, base::read_json(text).value()).value();
    }
    return answered;
  }

 private:
  prometheus::Registry registry_;
  templates::TemplateStore templates_;
  admission::AdmissionMetrics metrics_;
  admission::Admission admission_;
};

TEST_CASE("golden: inject prints what the case says", "[cli]") {
  for (const Case& golden : all_cases()) {
    INFO(golden.folder.filename().string());
    const Output plain = inject(golden, OutputFormat::AsInput);
    compare(golden, "output", plain.out);
    compare(golden, "report", plain.err + "exit " + std::to_string(plain.code) + "\n");
    compare(golden, "strategic.json", inject(golden, OutputFormat::Strategic).out);
  }
}

TEST_CASE("golden: the webhook's patch gives the Pod that the CLI prints", "[cli]") {
  for (const Case& golden : all_cases()) {
    INFO(golden.folder.filename().string());
    const std::vector<Json> before = objects_of(golden.text);
    const Output printed = inject(golden, OutputFormat::AsInput);
    const Webhook webhook(golden);
    if (printed.code == kFailed) {
      CHECK(printed.out.empty());
      CHECK_FALSE(webhook.answer(before.at(0), before.at(0)).allowed);
      continue;
    }
    const std::vector<Json> after = objects_of(printed.out);
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto path = core::pod_path(before[i]);
      if (!path) {
        CHECK(base::same(before[i], after[i]));
        continue;
      }
      const Answered answered = webhook.answer(before[i], *core::pod_at(before[i], *path));
      CHECK(base::same(answered.pod, *core::pod_at(after[i], *path)));
    }
  }
}

TEST_CASE("golden: strategic patch, JSON patch and patched object agree", "[cli]") {
  for (const Case& golden : all_cases()) {
    INFO(golden.folder.filename().string());
    std::vector<Json> before;
    std::vector<Json> after;
    const Output output = inject(golden, OutputFormat::AsInput);
    if (output.code == kFailed) {
      continue;  // Refused: there is nothing to compare.
    }
    const std::vector<Json> printed = objects_of(output.out);
    const std::vector<Json> given = objects_of(golden.text);
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (core::pod_path(given[i])) {
        before.push_back(given[i]);
        after.push_back(printed.at(i));
      }
    }
    std::istringstream strategic(inject(golden, OutputFormat::Strategic).out);
    std::istringstream operations(inject(golden, OutputFormat::JsonPatch).out);
    for (std::size_t i = 0; i < before.size(); ++i) {
      Json merge;
      Json list;
      strategic >> merge;
      operations >> list;
      const auto* schema = patch::schema_for_kind(before[i].at("kind").get<std::string>());
      CHECK(base::same(patch::apply_strategic(before[i], merge, *schema).value(), after[i]));
      CHECK(base::same(patch::apply_json_patch(before[i], list).value(), after[i]));
    }
  }
}

TEST_CASE("golden: uninject gives the input back, byte for byte where the text was edited",
          "[cli]") {
  for (const Case& golden : all_cases()) {
    INFO(golden.folder.filename().string());
    const Output injected = inject(golden, OutputFormat::AsInput);
    if (golden.folder.filename() == "already-injected" || injected.code == kFailed) {
      continue;  // Its status annotation is not of our making; or it was refused.
    }
    const Output back = uninject(injected.out, golden.context.policy);
    CHECK(back.code == kDone);
    if (injected.err.find("reformatted") != std::string::npos) {
      const std::vector<Json> before = objects_of(golden.text);
      const std::vector<Json> after = objects_of(back.out);
      REQUIRE(before.size() == after.size());
      CHECK(std::equal(before.begin(), before.end(), after.begin(), base::same));
    } else {
      CHECK(back.out == golden.text);
    }
  }
}

TEST_CASE("golden: injecting what was injected changes nothing", "[cli]") {
  for (Case& golden : all_cases()) {
    INFO(golden.folder.filename().string());
    const std::string once = inject(golden, OutputFormat::AsInput).out;
    golden.text = once;
    CHECK(inject(golden, OutputFormat::AsInput).out == once);
  }
}

}  // namespace
}  // namespace injector::cli
