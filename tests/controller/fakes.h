// ReconcilerDeps that stand still and remember, and a server of one kind of object that applies
// patches as the real one does. All of it may be used from several threads.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/json.h"
#include "base/json_text.h"
#include "cluster/patcher.h"
#include "controller/metrics.h"
#include "controller/reconciler_deps.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"
#include "runtime/object.h"
#include "template/parser.h"

namespace injector::controller::fakes {

inline base::Json json(const std::string& text) {
  return base::read_json(text).value();
}

/// Two templates that differ in the image.
inline std::shared_ptr<const core::TemplateSet> sidecar(const std::string& image) {
  return std::make_shared<const core::TemplateSet>(
      templates::parse_template("containers: [{name: envoy, image: '" + image +
                                    "', volumeMounts: [{name: conf, mountPath: /etc/envoy}]}]\n"
                                    "volumes: [{name: conf, configMap: {name: envoy}}]\n",
                                "test")
          .value());
}

inline base::Json pod_template(const std::string& annotation) {
  base::Json pod = json(R"({"metadata":{"labels":{"app":"web"}},
    "spec":{"containers":[{"name":"app","image":"app:1"}]}})");
  if (!annotation.empty()) {
    pod["metadata"]["annotations"]["initializer.kubernetes.io/envoy"] = annotation;
  }
  return pod;
}

inline base::Json deployment(const std::string& name, const std::string& annotation = "true") {
  base::Json object = json(R"({"apiVersion":"apps/v1","kind":"Deployment"})");
  object["metadata"] = {{"name", name},
                        {"namespace", "shop"},
                        {"uid", "uid-" + name},
                        {"resourceVersion", "1"},
                        {"generation", 1}};
  object["spec"] = {{"replicas", 1}, {"template", pod_template(annotation)}};
  return object;
}

/// Objects by name, and what was asked of them.
class FakeServer final : public cluster::Patcher {
 public:
  void put(base::Json object) {
    const std::lock_guard lock(mutex_);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    const auto name = std::string(base::text_of(base::find(object, "metadata", "name")));
    objects_[name] = std::move(object);
  }

  void remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    objects_.erase(name);
  }

  [[nodiscard]] base::Json get(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return objects_.at(name);
  }

  /// As an informer's store would have it; null where there is none.
  [[nodiscard]] runtime::ObjectPtr cached(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(name);
    return found == objects_.end() ? nullptr : runtime::make_object(found->second).value();
  }

  /// The next patches fail with this, until told otherwise.
  void fail_with(std::optional<base::Error> error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }

  [[nodiscard]] int patches() const {
    const std::lock_guard lock(mutex_);
    return patches_;
  }

  base::Result<base::Json> patch(const std::string& /*name_space*/, const std::string& name,
                                 const base::Json& patch,
                                 const std::stop_token& /*stop*/) override {
    const std::lock_guard lock(mutex_);
    ++patches_;
    if (failure_) {
      return *failure_;
    }
    const auto found = objects_.find(name);
    if (found == objects_.end()) {
      return base::Error{base::ErrorCode::NotFound, "not found"};
    }
    return apply(found->second, patch);
  }

 private:
  base::Result<base::Json> apply(base::Json& object, const base::Json& patch) {
    if (base::text_of(base::find(patch, "metadata", "resourceVersion")) !=
        base::text_of(base::find(object, "metadata", "resourceVersion"))) {
      return base::Error{base::ErrorCode::Conflict, "the object has been modified"};
    }
    const auto kind = base::text_of(base::find(object, "kind"));
    auto result = patch::apply_strategic(object, patch, *patch::schema_for_kind(kind));
    if (!result) {
      return result;
    }
    object = std::move(result).value();
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    object["metadata"]["generation"] = object["metadata"]["generation"].get<int>() + 1;
    return object;
  }

  mutable std::mutex mutex_;
  std::map<std::string, base::Json> objects_;
  std::optional<base::Error> failure_;
  int version_ = 10;
  int patches_ = 0;
};

/// ReconcilerDeps of one template, no Namespaces, and Events as "Reason name".
class World {
 public:
  World()
      : metrics_(registry_) {}

  /// Of a dry run.
  [[nodiscard]] ReconcilerDeps dry_surroundings() {
    ReconcilerDeps made = deps();
    made.dry_run = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    return made;
  }

  [[nodiscard]] ReconcilerDeps deps() {
    return {[this] {
              const std::lock_guard lock(mutex_);
              return template_;
            },
            [this](std::string_view /*name*/) { return name_space; },
            [this](const runtime::ObjectReference& about, runtime::EventType /*type*/,
                   const std::string& reason, const std::string& message) {
              const std::lock_guard lock(mutex_);
              events_.push_back(reason + " " + about.name);
              messages_.push_back(message);
            },
            policy,
            metrics_,
            base::Logger::silent()};
  }

  void set_template(std::shared_ptr<const core::TemplateSet> tpl) {
    const std::lock_guard lock(mutex_);
    template_ = std::move(tpl);
  }

  [[nodiscard]] std::vector<std::string> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  /// Of a dry run.
  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  [[nodiscard]] std::string last_message() const {
    const std::lock_guard lock(mutex_);
    return messages_.empty() ? "" : messages_.back();
  }

  /// "name{label="value"} 3" is among what /metrics would show.
  [[nodiscard]] bool shows(const std::string& line) const {
    return prometheus::TextSerializer().Serialize(registry_.Collect()).find(line + "\n") !=
           std::string::npos;
  }

  core::Policy policy;  // Before deps().
  std::shared_ptr<const core::MetaFacts> name_space =
      std::make_shared<const core::MetaFacts>();  // Of every Namespace.

 private:
  prometheus::Registry registry_;
  Metrics metrics_;
  mutable std::mutex mutex_;
  std::shared_ptr<const core::TemplateSet> template_ = sidecar("envoy:1");
  std::vector<std::string> events_;
  std::vector<std::string> messages_;
  std::vector<std::string> lines_;
};

}  // namespace injector::controller::fakes
