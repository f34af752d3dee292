#include "dashboard/playground.h"

#include <charconv>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/printable.h"
#include "cli/document_text.h"
#include "cli/documents.h"
#include "cli/explain_command.h"
#include "cli/inject_command.h"
#include "cli/object_patches.h"
#include "cli/unified_diff.h"
#include "core/native_sidecars.h"
#include "template/parser.h"
#include "yaml/yaml.h"

namespace injector::dashboard {
namespace {

using base::Json;
using cli::Document;

constexpr const char* kDefaultNamespace = "default";

std::string_view text_at(const Json& object, std::string_view key) {
  return base::text_of(base::find(object, key));
}

base::Result<std::string> optional_text(const Json& body, std::string_view key) {
  const Json* value = base::find(body, key);
  if (value == nullptr || value->is_null()) {
    return std::string();
  }
  if (!value->is_string()) {
    return base::invalid(fmt::format("{}: must be a string", key));
  }
  std::string text(base::text_of(value));
  if (text.size() > kMaxPlaygroundText) {
    return base::invalid(fmt::format("{}: longer than {} bytes", key, kMaxPlaygroundText));
  }
  return text;
}

std::string namespace_of(const Json& object) {
  const std::string_view name = base::text_of(base::find(object, "metadata", "namespace"));
  return name.empty() ? kDefaultNamespace : std::string(name);
}

std::vector<Json> objects_of(const Json& document) {
  if (document.is_null()) {
    return {};
  }
  if (!cli::is_list(document)) {
    return {document};
  }
  std::vector<Json> objects;
  for (const Json& item : document.at("items")) {
    objects.push_back(cli::complete_item(document, item));
  }
  return objects;
}

struct Manifest {
  std::vector<Document> documents;
  std::vector<std::string> failures;
  std::vector<std::string> warnings;  // Of the YAML itself.
};

Manifest read_manifest(const std::string& text) {
  Manifest manifest;
  std::istringstream in(text);
  std::ostringstream ignored;
  const auto take = [&](const Document& document) -> base::Result<void> {
    for (const yaml::YamlWarning& warning : document.source.warnings) {
      manifest.warnings.push_back(
          fmt::format("line {}: {}", warning.where.line, base::printable(warning.message)));
    }
    manifest.documents.push_back(document);
    return {};
  };
  const auto skip = [&](const base::Error& error) {
    manifest.failures.push_back(base::printable(error.message));
  };
  const cli::Streams streams{in, ignored, ignored};
  if (auto done = cli::visit_documents("-", take, streams, skip); !done) {
    skip(done.error());
  }
  return manifest;
}

// Namespaces in the manifest speak for themselves, the request for all others.
void add_namespaces(const Manifest& manifest, const core::MetaFacts& given,
                    cli::DecisionContext& context) {
  for (const Document& document : manifest.documents) {
    for (const Json& object : objects_of(document.source.value)) {
      if (text_at(object, "kind") == "Namespace") {
        context.namespaces.insert_or_assign(
            std::string(base::text_of(base::find(object, "metadata", "name"))),
            core::meta_facts(object));
      } else {
        context.namespaces.try_emplace(namespace_of(object), given);
      }
    }
  }
}

Json problems_json(const std::vector<templates::TemplateProblem>& problems) {
  Json list = Json::array();
  for (const templates::TemplateProblem& problem : problems) {
    list.push_back(Json({{"line", problem.line},
                         {"path", problem.path},
                         {"message", base::printable(problem.message)}}));
  }
  return list;
}

// 1.28 is 128; nothing for what is no version.
std::optional<int> minor_of(std::string_view version) {
  if (version.starts_with('v')) {
    version.remove_prefix(1);
  }
  if (!version.starts_with("1.")) {
    return std::nullopt;
  }
  version.remove_prefix(2);
  int minor = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), minor);
  return error == std::errc() ? std::optional(minor) : std::nullopt;
}

// Of the template on a server of that version.
Json version_findings(const core::Template& tpl, const std::string& version) {
  constexpr int kNativeSidecars = 28;
  Json findings = Json::array();
  const auto minor = minor_of(version);
  if (!version.empty() && !minor) {
    findings.push_back(
        fmt::format("\"{}\" is not a Kubernetes version such as 1.31", base::echoed(version)));
  }
  if (minor && *minor < kNativeSidecars && core::needs_native_sidecars(tpl)) {
    findings.push_back(
        fmt::format("Kubernetes 1.{} does not know native sidecars (restartPolicy: Always): the "
                    "Pod would never start; they came with 1.{}",
                    *minor, kNativeSidecars));
  }
  return findings;
}

std::string text_after(const Document& document, const cli::NewValue& value) {
  if (document.raw.json) {
    return cli::json_text(document, value);
  }
  auto edited = cli::edited_text(document, value);
  return edited ? *std::move(edited) : cli::reformatted_yaml(document, value.after);
}

Json patches_json(const Json& before, const cli::ObjectChange& change) {
  Json patches = Json::object();
  const auto add = [&](const char* name, const base::Result<Json>& patch) {
    patches[name] = patch ? base::write_json_pretty(patch.value()) : patch.error().message;
  };
  add("strategic", cli::strategic_patch_of(before, change));
  add("jsonPatch", cli::json_patch_of(before, change));
  return patches;
}

// What is in one document: its objects, and its text afterwards.
class DocumentAnswer {
 public:
  DocumentAnswer(const Document& document, const cli::DecisionContext& context)
      : document_(document),
        context_(context),
        after_(document.raw.text) {}

  void decide(Json& objects, Json& failures) {
    const std::vector<Json> all = objects_of(document_.source.value);
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto answer = answer_for(all[i], i);
      if (answer) {
        objects.push_back(std::move(answer).value());
      } else {
        failures.push_back(
            base::printable(base::annotate(answer.error(), cli::object_title(all[i])).message));
      }
    }
    if (list_) {
      after_ = text_after(document_, {*std::move(list_), std::nullopt});
    }
  }

  [[nodiscard]] const std::string& text_afterwards() const { return after_; }

 private:
  [[nodiscard]] base::Result<Json> answer_for(const Json& object, std::size_t index) {
    INJ_ASSIGN(const auto decision, cli::explain_object(object, context_));
    INJ_ASSIGN(const auto change, cli::inject_object(object, context_));
    Json answer = Json::object();
    answer["object"] = cli::object_title(object);
    answer["kind"] = text_at(object, "kind");
    answer["name"] = base::text_of(base::find(object, "metadata", "name"));
    answer["namespace"] = base::text_of(base::find(object, "metadata", "namespace"));
    answer["line"] = document_.raw.first_line;
    answer.update(cli::decision_json(decision));
    answer["summary"] = cli::detail_of(decision);
    if (change.after) {
      answer["diff"] = diff_of(object, change, index);
      answer["patches"] = patches_json(object, change);
    }
    return answer;
  }

  [[nodiscard]] std::string diff_of(const Json& object, const cli::ObjectChange& change,
                                    std::size_t index) {
    if (cli::is_list(document_.source.value)) {
      put_item(*change.after, index);
      return cli::unified_diff(yaml::write_yaml(object), yaml::write_yaml(*change.after));
    }
    after_ = text_after(document_, {*change.after, change.through});
    const std::size_t line = document_.raw.first_line;
    return cli::unified_diff(document_.raw.text, after_, {line, line});
  }

  // An item of a PodList may leave out its kind, and goes on to.
  void put_item(Json item, std::size_t index) {
    if (!list_) {
      list_ = document_.source.value;
    }
    Json& place = list_->at("items").at(index);
    for (const char* key : {"kind", "apiVersion"}) {
      if (!place.contains(key)) {
        item.erase(key);
      }
    }
    place = std::move(item);
  }

  const Document& document_;  // Not owned.
  const cli::DecisionContext& context_;
  std::optional<Json> list_;  // The document, if it is a List of which an item changed.
  std::string after_;
};

Json template_json(const core::Template& tpl, const std::string& version) {
  return Json({{"hash", tpl.hash},
               {"problems", Json::array()},
               {"warnings", Json::array()},
               {"findings", version_findings(tpl, version)}});
}

// The template's part of the answer. False: it cannot be used.
bool take_template(const PlaygroundRequest& request, cli::DecisionContext& context, Json& answer) {
  if (request.template_text.empty()) {
    const core::Template* in_use = context.templates.default_for("");
    answer["template"] =
        template_json(in_use == nullptr ? core::Template() : *in_use, request.kubernetes_version);
    return true;
  }
  templates::TemplateReport report = templates::check_template_file(request.template_text);
  const bool usable = report.value.has_value();
  answer["template"] = template_json(usable ? *report.value : core::Template(),
                                     usable ? request.kubernetes_version : "");
  answer["template"]["problems"] = problems_json(report.problems);
  answer["template"]["warnings"] = problems_json(report.warnings);
  if (usable) {
    context.templates = *std::move(report.value);
  }
  return usable;
}

}  // namespace

base::Result<PlaygroundRequest> read_playground_request(const Json& body) {
  if (!body.is_object()) {
    return base::invalid("not a JSON object");
  }
  PlaygroundRequest request;
  INJ_ASSIGN(request.manifest, optional_text(body, "manifest"));
  INJ_ASSIGN(request.template_text, optional_text(body, "template"));
  INJ_ASSIGN(request.kubernetes_version, optional_text(body, "kubernetesVersion"));
  if (const Json* name_space = base::find(body, "namespace"); name_space != nullptr) {
    Json object = Json::object();
    object["metadata"] = *name_space;
    request.name_space = core::meta_facts(object);
  }
  return request;
}

Json decide_playground(const PlaygroundRequest& request, cli::DecisionContext context) {
  Json answer = Json::object();
  const bool usable = take_template(request, context, answer);
  const Manifest manifest = read_manifest(request.manifest);
  add_namespaces(manifest, request.name_space, context);
  Json objects = Json::array();
  Json failures = Json(manifest.failures);
  std::string text;
  for (const Document& document : manifest.documents) {
    DocumentAnswer part(document, context);
    if (usable) {
      part.decide(objects, failures);
    }
    text += part.text_afterwards();
  }
  answer["objects"] = std::move(objects);
  answer["failures"] = std::move(failures);
  answer["warnings"] = manifest.warnings;
  answer["yaml"] = std::move(text);
  return answer;
}

}  // namespace injector::dashboard
