// Whatever the files: one stream comes out, which another reader reads as the same objects.

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "tests/cli/independent_reader.h"
#include "tests/cli/run_commands.h"
#include "tests/support/files.h"
#include "tests/support/temp_dir.h"

namespace injector::cli::tests {
namespace {

using base::Json;
using injector::tests::TempDir;

struct Fragment {
  std::string file;
  std::string text;
  std::vector<std::string> names;
};

std::string json_pod(const std::string& name, int indent) {
  return Json({{"apiVersion", "v1"},
               {"kind", "Pod"},
               {"metadata",
                {{"name", name}, {"annotations", {{"initializer.kubernetes.io/envoy", "true"}}}}},
               {"spec", {{"containers", Json::array({Json({{"name", "app"}})})}}}})
      .dump(indent);
}

std::string with_crlf(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += c == '\n' ? "\r\n" : std::string(1, c);
  }
  return result;
}

const std::string kConfigMap =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: conf\ndata:\n  a: b\n";
const std::string kScript =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: script\ndata:\n  run: |\n    echo a\n";

// Every way in which a file can begin and end.
const std::vector<Fragment>& fragments() {
  const std::string pod = asking_pod("plain");
  const std::string list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n";
  static const std::vector<Fragment> all = {
      {"plain.yaml", pod, {"Pod/plain"}},
      {"no-newline.yaml",
       "kind: Pod\nmetadata: {name: bare}\nspec: {containers: [{name: a}]}",
       {"Pod/bare"}},
      {"script.yaml", kScript.substr(0, kScript.size() - 1), {"ConfigMap/script"}},
      {"starts.yaml", "---\n" + asking_pod("starts"), {"Pod/starts"}},
      {"ends.yaml", asking_pod("ends") + "---\n", {"Pod/ends"}},
      {"ends-bare.yaml", asking_pod("endsbare") + "---", {"Pod/endsbare"}},
      {"dots.yaml", asking_pod("dots") + "...\n", {"Pod/dots"}},
      {"comment.yaml", "# nothing else\n", {}},
      {"indented-comment.yaml", "      # nothing else", {}},
      {"empty.yaml", "", {}},
      {"blank.yaml", "\n\n  \n", {}},
      {"separator.yaml", "---\n", {}},
      {"crlf.yaml", with_crlf("---\n" + asking_pod("crlf")), {"Pod/crlf"}},
      {"crlf-bare.yaml", with_crlf(asking_pod("crlfbare")), {"Pod/crlfbare"}},
      {"bom.yaml", "\xEF\xBB\xBF" + asking_pod("bom"), {"Pod/bom"}},
      {"bom-starts.yaml", "\xEF\xBB\xBF---\n" + kConfigMap, {"ConfigMap/conf"}},
      {"list.yaml", list + "  metadata: {name: a}\n  spec: {containers: [{name: x}]}\n", {"Pod/a"}},
      {"two.yaml", asking_pod("one") + "---\n" + kConfigMap, {"Pod/one", "ConfigMap/conf"}},
      {"licence.yaml", "# Licence\n\n---\n" + asking_pod("licence"), {"Pod/licence"}},
      {"same-line.yaml",
       "--- {kind: Pod, metadata: {name: flow}, spec: {containers: []}}\n",
       {"Pod/flow"}},
      {"start-comment.yaml", "--- # here\n" + kConfigMap, {"ConfigMap/conf"}},
      {"pretty.json", json_pod("pretty", 2), {"Pod/pretty"}},
      {"line.json", json_pod("line", -1) + "\n", {"Pod/line"}},
      {"several.json",
       json_pod("first", 2) + "\n" + json_pod("second", -1),
       {"Pod/first", "Pod/second"}},
      {"escapes.json",
       R"({"kind": "ConfigMap", "metadata": {"name": "wide"}, "data": {"a": )"
       "\"\\ud83d\\ude00\"}}\n",
       {"ConfigMap/wide"}},
      {"list.json",
       R"({"apiVersion": "v1", "kind": "PodList", "items": [{"apiVersion": "v1", )"
       R"("kind": "Pod", "metadata": {"name": "item"}, )"
       R"("spec": {"containers": []}}]})",
       {"Pod/item"}},
  };
  return all;
}

std::vector<std::string> names_of(const std::vector<std::string>& objects) {
  std::vector<std::string> names;
  for (const std::string& object : objects) {
    names.push_back(object.substr(0, object.find(' ')));
  }
  return names;
}

std::vector<std::string> joined(std::vector<std::string> left,
                                const std::vector<std::string>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

// yaml-cpp reads no escapes of surrogates; the meaning of the file is known all the same.
std::vector<std::string> objects_of(const Fragment& fragment) {
  return objects_by_kubectl(fragment.file == "escapes.json"
                                ? R"({"kind": "ConfigMap", "metadata": {"name": "wide"}, "data": )"
                                  "{\"a\": \"\xF0\x9F\x98\x80\"}}"
                                : fragment.text);
}

class Folder {
 public:
  Folder() {
    for (const Fragment& fragment : fragments()) {
      paths_.push_back(dir_.write(fragment.file, fragment.text));
    }
  }

  [[nodiscard]] const std::string& path(std::size_t index) const { return paths_.at(index); }

  [[nodiscard]] std::string path() const { return dir_.path().string(); }

 private:
  TempDir dir_;
  std::vector<std::string> paths_;
};

// Calls `check` with every ordered pair of fragments and their paths.
template <class Check>
void each_pair(Check check) {
  const Folder folder;
  for (std::size_t i = 0; i < fragments().size(); ++i) {
    for (std::size_t j = 0; j < fragments().size(); ++j) {
      INFO(fragments()[i].file << " and " << fragments()[j].file);
      check(fragments()[i], fragments()[j],
            std::vector<std::string>{folder.path(i), folder.path(j)});
    }
  }
}

TEST_CASE("inject: two files of any form are the objects of both", "[cli][files]") {
  const DecisionContext context = context_with(kTemplate);
  each_pair([&](const Fragment& left, const Fragment& right, const auto& paths) {
    const Output output = run_inject_on(options_for(paths), context);
    INFO(output.out);
    REQUIRE(output.code == kDone);
    const auto names = joined(left.names, right.names);
    REQUIRE(names_of(objects_by_kubectl(output.out)) == names);
    REQUIRE(names_of(objects_by_yaml(output.out)) == names);
  });
}

TEST_CASE("uninject: two files of any form are the objects of both, unchanged", "[cli][files]") {
  const DecisionContext context = context_with(kTemplate);
  each_pair([&](const Fragment& left, const Fragment& right, const auto& paths) {
    const auto before = joined(objects_of(left), objects_of(right));
    const Output plain = run_uninject_on(options_for(paths));
    INFO(plain.out);
    REQUIRE(plain.code == kDone);
    REQUIRE(objects_by_kubectl(plain.out) == before);
    const Output injected = run_inject_on(options_for(paths), context);
    const Output back = run_uninject_on(options_for({"-"}), injected.out);
    REQUIRE(objects_by_kubectl(back.out) == before);
  });
}

TEST_CASE("inject: -o yaml and -o json of two files of any form are the objects of both",
          "[cli][files]") {
  const DecisionContext context = context_with(kTemplate);
  each_pair([&](const Fragment& left, const Fragment& right, const auto& paths) {
    const auto names = joined(left.names, right.names);
    RewriteOptions options = options_for(paths);
    options.output = OutputFormat::Yaml;
    const std::string yaml = run_inject_on(options, context).out;
    INFO(yaml);
    REQUIRE(names_of(objects_by_kubectl(yaml)) == names);
    REQUIRE(yaml.find("\n{\"") == std::string::npos);
    options.output = OutputFormat::Json;
    const std::string json = run_inject_on(options, context).out;
    INFO(json);
    const auto value = base::read_json(json);
    REQUIRE(value.has_value() != names.empty());
    REQUIRE((names.empty() || names_of(objects_by_kubectl(value.value().dump())) == names));
  });
}

TEST_CASE("inject: standard input among files, and a whole directory", "[cli][files]") {
  const DecisionContext context = context_with(kTemplate);
  const Folder folder;
  const std::string bare = asking_pod("stdin").substr(0, asking_pod("stdin").size() - 1);
  const Output between =
      run_inject_on(options_for({folder.path(21), "-", folder.path(1)}), context, bare);
  CHECK(names_of(objects_by_kubectl(between.out)) ==
        std::vector<std::string>{"Pod/pretty", "Pod/stdin", "Pod/bare"});
  const Output all = run_inject_on(options_for({folder.path()}), context);
  std::vector<std::string> names;
  std::vector<std::string> expected;
  for (const Fragment& fragment : fragments()) {
    expected.insert(expected.end(), fragment.names.begin(), fragment.names.end());
  }
  names = names_of(objects_by_kubectl(all.out));
  std::sort(names.begin(), names.end());
  std::sort(expected.begin(), expected.end());
  CHECK(names == expected);
}

TEST_CASE("inject: one file alone comes out byte for byte", "[cli][files]") {
  DecisionContext context = context_with(kTemplate);
  context.policy.key = "nobody.asks/for-this";
  const Folder folder;
  for (std::size_t i = 0; i < fragments().size(); ++i) {
    INFO(fragments()[i].file);
    CHECK(run_inject_on(options_for({folder.path(i)}), context).out == fragments()[i].text);
    CHECK(run_uninject_on(options_for({folder.path(i)})).out == fragments()[i].text);
  }
}

TEST_CASE("inject: -o json gives one object as itself and several as one List", "[cli][files]") {
  const TempDir dir;
  const DecisionContext context = context_with(kTemplate);
  RewriteOptions options = options_for({dir.write("one.yaml", asking_pod("one"))});
  options.output = OutputFormat::Json;
  const Json one = base::read_json(run_inject_on(options, context).out).value();
  CHECK(one.at("kind") == "Pod");
  options.files.push_back(dir.write("two.yaml", kConfigMap + "---\n" + asking_pod("two")));
  const Json all = base::read_json(run_inject_on(options, context).out).value();
  CHECK(all.at("kind") == "List");
  CHECK(all.at("apiVersion") == "v1");
  REQUIRE(all.at("items").size() == 3);
  CHECK(base::same(all.at("items").at(0), one));
}

TEST_CASE("inject: the items of a typed list get their kind in a List", "[cli][files]") {
  const TempDir dir;
  RewriteOptions options = options_for(
      {dir.write("a.json", R"({"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":)"
                           R"("a"},"spec":{"containers":[]}}]})"),
       dir.write("b.yaml", kConfigMap)});
  options.output = OutputFormat::Json;
  const Output output = run_inject_on(options, context_with(kTemplate));
  const Json list = base::read_json(output.out).value();
  REQUIRE(list.at("items").size() == 2);
  CHECK(list.at("items").at(0).at("kind") == "Pod");
  CHECK(list.at("items").at(0).at("apiVersion") == "v1");
}

}  // namespace
}  // namespace injector::cli::tests
