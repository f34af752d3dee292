// inject and uninject on files and text, in this process.

#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/inject_command.h"
#include "template/parser.h"

namespace injector::cli::tests {

struct Output {
  int code = 0;
  std::string out;
  std::string err;

  [[nodiscard]] bool says(const std::string& text) const {
    return err.find(text) != std::string::npos;
  }
};

inline constexpr const char* kTemplate =
    "containers:\n- name: proxy\n  image: proxy:1\n  args: [--a b, '{}']\n"
    "  volumeMounts:\n  - name: conf\n    mountPath: /conf\n"
    "volumes:\n- name: conf\n  configMap:\n    name: proxy\n- name: tmp\n  emptyDir: {}\n";

inline DecisionContext context_with(const std::string& template_text) {
  DecisionContext result;
  result.templates = templates::parse_template(template_text, "template.yaml").value();
  return result;
}

inline RewriteOptions options_for(std::vector<std::string> files) {
  RewriteOptions options;
  options.files = std::move(files);
  return options;
}

inline Output run_inject_on(const RewriteOptions& options, const DecisionContext& context,
                            const std::string& stdin_text = "",
                            Outdated outdated = Outdated::Keep) {
  std::istringstream in(stdin_text);
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_inject(options, context, {in, out, err}, outdated);
  return {code, out.str(), err.str()};
}

inline Output run_uninject_on(const RewriteOptions& options, const std::string& stdin_text = "") {
  std::istringstream in(stdin_text);
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_uninject(options, core::Policy(), {in, out, err});
  return {code, out.str(), err.str()};
}

inline Output inject_text(const std::string& text) {
  return run_inject_on(options_for({"-"}), context_with(kTemplate), text);
}

/// A Pod that asks for the sidecar.
inline std::string asking_pod(const std::string& name) {
  return "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name +
         "\n  annotations:\n    initializer.kubernetes.io/envoy: 'true'\nspec:\n"
         "  containers:\n  - name: app\n    image: app:1\n";
}

}  // namespace injector::cli::tests
