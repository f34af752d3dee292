#include "tests/support/initializer_model.h"

#include <algorithm>

#include "base/json_text.h"
#include "patch/merge_patch.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"

namespace injector::tests {
namespace {

using base::Json;
using runtime::WatchEventType;
using Answer = InitializerModel::Answer;

std::string text(const Json& object, const char* field) {
  return std::string(base::text_of(base::find(object, "metadata", field)));
}

bool waits(const Json& object) {
  return base::find(object, "metadata", "initializers") != nullptr;
}

std::vector<std::string> pending(const Json& pod) {
  std::vector<std::string> names;
  const Json* list = base::find(pod, "metadata", "initializers", "pending");
  for (std::size_t at = 0; list != nullptr && list->is_array() && at < list->size(); ++at) {
    names.emplace_back(base::text_of(base::find((*list)[at], "name")));
  }
  return names;
}

std::size_t containers(const Json& pod) {
  const Json* list = base::find(pod, "spec", "containers");
  return list == nullptr ? 0 : list->size();
}

Answer refusal(int code, std::string_view reason, std::string message) {
  return {code, InitializerModel::status(code, reason, std::move(message))};
}

Answer not_found(const std::string& name) {
  return refusal(404, "NotFound", "pods \"" + name + "\" not found");
}

Answer invalid(std::string message) {
  return refusal(422, "Invalid", std::move(message));
}

// "*" must be alone, so that it is the first if it is there at all.
bool names(const Json& rule, const char* field, std::string_view wanted) {
  const Json* list = base::find(rule, field);
  return list != nullptr && std::any_of(list->begin(), list->end(), [&](const Json& each) {
           return base::text_of(&each) == wanted || base::text_of(&each) == "*";
         });
}

// All rules have to match, and none never does.
bool is_for_pods(const Json& initializer) {
  const Json* rules = base::find(initializer, "rules");
  return rules != nullptr && !rules->empty() &&
         std::all_of(rules->begin(), rules->end(), [](const Json& rule) {
           return names(rule, "apiGroups", "") && names(rule, "apiVersions", "v1") &&
                  names(rule, "resources", "pods");
         });
}

std::optional<Answer> check_initializer(const Json& initializer) {
  const std::string_view name = base::text_of(base::find(initializer, "name"));
  if (std::count(name.begin(), name.end(), '.') < 2) {
    return invalid("name should be a domain with at least three segments separated by dots");
  }
  const Json* rules = base::find(initializer, "rules");
  for (std::size_t at = 0; rules != nullptr && at < rules->size(); ++at) {
    const Json* resources = base::find((*rules)[at], "resources");
    for (std::size_t i = 0; resources != nullptr && i < resources->size(); ++i) {
      if (base::text_of(&(*resources)[i]).find('/') != std::string_view::npos) {
        return invalid("rules must not have subresources");
      }
    }
  }
  return std::nullopt;
}

// Of validation, what a sidecar can break.
bool mounts_what_is_not_there(const Json& pod) {
  std::set<std::string_view> volumes;
  const Json* list = base::find(pod, "spec", "volumes");
  for (std::size_t at = 0; list != nullptr && at < list->size(); ++at) {
    volumes.insert(base::text_of(base::find((*list)[at], "name")));
  }
  for (const Json& container : pod.at("spec").at("containers")) {
    const Json* mounts = base::find(container, "volumeMounts");
    for (std::size_t at = 0; mounts != nullptr && at < mounts->size(); ++at) {
      if (!volumes.contains(base::text_of(base::find((*mounts)[at], "name")))) {
        return true;
      }
    }
  }
  return false;
}

// What the plugin says to a PATCH, before the server compares versions. The strategic merge of that
// age adds a `$patch: delete` entry to a list that is not there, so that removing our entry twice
// looks like adding it.
std::optional<Answer> plugin_objection(const std::string& name, const Json& before,
                                       const Json& patch, const InitializerModel::Caller& caller) {
  const Json* change = base::find(patch, "metadata", "initializers");
  const bool sets = change != nullptr && change->is_object() && !change->empty();
  if (!waits(before) && sets) {
    return invalid("Pod \"" + name +
                   "\" is invalid: metadata.initializers: Invalid value: \"null\": field is "
                   "immutable once initialization has completed");
  }
  if (waits(before) && !caller.may_initialize) {
    return refusal(403, "Forbidden",
                   "pods \"" + name + "\" is forbidden: update to uninitialized resource denied");
  }
  return std::nullopt;
}

base::Result<Json> apply(const Json& pod, std::string_view media_type, const Json& patch) {
  return media_type == "application/merge-patch+json"
             ? patch::apply_merge_patch(pod, patch)
             : patch::apply_strategic(pod, patch, *patch::schema_for_kind("Pod"));
}

}  // namespace

InitializerModel::InitializerModel() {
  for (const char* name : {"default", "shop"}) {
    put_namespace({{"metadata", {{"name", name}}}});
  }
}

Json InitializerModel::status(int code, std::string_view reason, std::string message) {
  return {{"kind", "Status"},
          {"apiVersion", "v1"},
          {"status", code < 400 ? "Success" : "Failure"},
          {"reason", std::string(reason)},
          {"message", std::move(message)},
          {"code", code}};
}

Answer InitializerModel::create_configuration(const Json& configuration) {
  const Json* initializers = base::find(configuration, "initializers");
  for (std::size_t at = 0; initializers != nullptr && at < initializers->size(); ++at) {
    if (auto wrong = check_initializer((*initializers)[at])) {
      return *std::move(wrong);
    }
  }
  const std::lock_guard lock(mutex_);
  if (!configurations_.emplace(text(configuration, "name"), configuration).second) {
    return refusal(409, "AlreadyExists", "initializerconfigurations already exists");
  }
  return {201, configuration};
}

void InitializerModel::configure(const std::vector<std::string>& initializers) {
  const Json rule = {{"apiGroups", {""}}, {"apiVersions", {"v1"}}, {"resources", {"pods"}}};
  Json configuration = {{"metadata", {{"name", "config"}}}, {"initializers", Json::array()}};
  for (const std::string& name : initializers) {
    configuration["initializers"].push_back({{"name", name}, {"rules", Json::array({rule})}});
  }
  const std::lock_guard lock(mutex_);
  configurations_.insert_or_assign("config", std::move(configuration));
}

void InitializerModel::put_namespace(Json object) {
  const std::lock_guard lock(mutex_);
  const std::string name = text(object, "name");
  object["apiVersion"] = "v1";
  object["kind"] = "Namespace";
  object["metadata"]["uid"] = "uid-of-namespace-" + name;
  const bool known = namespaces_.contains(name);
  record(known ? WatchEventType::Modified : WatchEventType::Added, "namespaces", object, false);
  namespaces_.insert_or_assign(name, std::move(object));
}

void InitializerModel::exhaust_quota() {
  const std::lock_guard lock(mutex_);
  quota_exhausted_ = true;
}

Answer InitializerModel::create(const std::string& name_space, Json pod,
                                const CreateOptions& options, const Caller& caller,
                                const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const Key key{name_space, text(pod, "name")};
  if (!namespaces_.contains(name_space)) {
    return refusal(404, "NotFound", "namespaces \"" + name_space + "\" not found");
  }
  if (pods_.contains(key)) {
    return refusal(409, "AlreadyExists", "pods \"" + key.second + "\" already exists");
  }
  if (auto denied = admit(pod, caller)) {
    return *std::move(denied);
  }
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["namespace"] = name_space;
  pod["metadata"]["uid"] = "uid-" + std::to_string(log_.size());
  record(WatchEventType::Added, "pods", pod, true);
  const bool waiting = waits(pod);
  const Json made = pods_.insert_or_assign(key, std::move(pod)).first->second;
  if (!waiting || options.include_uninitialized) {
    return {waiting ? 202 : 201, made};
  }
  return wait_for(key, options, stop, lock);
}

// The plugin's part of a creation.
std::optional<Answer> InitializerModel::admit(Json& pod, const Caller& caller) const {
  if (waits(pod)) {
    if (!caller.may_initialize) {
      return refusal(
          403, "Forbidden",
          "pods \"" + text(pod, "name") + "\" is forbidden: create with initializers denied");
    }
    if (pending(pod).empty()) {
      pod["metadata"].erase("initializers");
    }
    return std::nullopt;
  }
  for (const std::string& name : initializers_for(pod)) {
    pod["metadata"]["initializers"]["pending"].push_back({{"name", name}});
  }
  return std::nullopt;
}

std::vector<std::string> InitializerModel::initializers_for(const Json& pod) const {
  std::vector<std::string> found;
  if (base::find(pod, "metadata", "annotations", "kubernetes.io/config.mirror") != nullptr) {
    return found;
  }
  for (const auto& [name, configuration] : configurations_) {
    for (const Json& initializer : configuration.at("initializers")) {
      if (is_for_pods(initializer)) {
        found.emplace_back(base::text_of(base::find(initializer, "name")));
      }
    }
  }
  return found;
}

Answer InitializerModel::wait_for(const Key& key, const CreateOptions& options,
                                  const std::stop_token& stop, std::unique_lock<std::mutex>& lock) {
  if (!changed_.wait_for(lock, stop, options.timeout, [&] { return settled(key); })) {
    return refusal(504, "Timeout", "Timeout: request did not complete within allowed duration");
  }
  if (const auto failed = failures_.find(key); failed != failures_.end()) {
    const Json* code = base::find(std::as_const(failed->second), "code");
    return {code == nullptr ? 500 : code->get<int>(), failed->second};
  }
  const auto found = pods_.find(key);
  return found == pods_.end() ? not_found(key.second) : Answer{201, found->second};
}

bool InitializerModel::settled(const Key& key) const {
  const auto found = pods_.find(key);
  return found == pods_.end() || !waits(found->second);
}

Answer InitializerModel::get(const std::string& name_space, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find({name_space, name});
  return found == pods_.end() ? not_found(name) : Answer{200, found->second};
}

Answer InitializerModel::list(const Cursor& what) const {
  const std::lock_guard lock(mutex_);
  const bool pods = what.plural == "pods";
  Json list = {{"kind", pods ? "PodList" : "NamespaceList"},
               {"apiVersion", "v1"},
               {"metadata", {{"resourceVersion", std::to_string(log_.size())}}},
               {"items", Json::array()}};
  for (const auto& [name, object] : namespaces_) {
    if (!pods) {
      list["items"].push_back(object);
    }
  }
  for (const auto& [key, pod] : pods_) {
    if (pods && (what.name_space.empty() || what.name_space == key.first) &&
        (what.include_uninitialized || !waits(pod))) {
      list["items"].push_back(pod);
    }
  }
  return {200, std::move(list)};
}

Answer InitializerModel::patch(const std::string& name_space, const std::string& name,
                               std::string_view media_type, std::string_view body,
                               const Caller& caller) {
  const std::lock_guard lock(mutex_);
  Answer answer = try_patch({name_space, name}, media_type, body, caller);
  ++patch_answers_[answer.code];
  accepted_ += answer.code == 200 ? 1 : 0;
  changed_.notify_all();
  return answer;
}

Answer InitializerModel::try_patch(const Key& key, std::string_view media_type,
                                   std::string_view body, const Caller& caller) {
  if (media_type != "application/strategic-merge-patch+json" &&
      media_type != "application/merge-patch+json") {
    return refusal(415, "UnsupportedMediaType", "the body of the request was in an unknown format");
  }
  if (!caller.may_patch) {
    return refusal(403, "Forbidden",
                   "pods \"" + key.second +
                       "\" is forbidden: User \"loop\" cannot patch resource \"pods\" in API group "
                       "\"\" in the namespace \"" +
                       key.first + "\"");
  }
  const auto patch = base::read_json(body);
  if (!patch || !patch.value().is_object()) {
    return refusal(400, "BadRequest", "the body is not JSON");
  }
  const auto found = pods_.find(key);
  if (found == pods_.end()) {
    return not_found(key.second);
  }
  if (auto objection = plugin_objection(key.second, found->second, patch.value(), caller)) {
    return *std::move(objection);
  }
  auto after = apply(found->second, media_type, patch.value());
  if (!after) {
    return refusal(500, "InternalError", after.error().message);
  }
  return patched(key, found->second, std::move(after).value());
}

Answer InitializerModel::patched(const Key& key, Json before, Json after) {
  if (text(after, "resourceVersion") != text(before, "resourceVersion")) {
    return refusal(409, "Conflict", "the object has been modified; please apply your changes");
  }
  if (!waits(before) && containers(after) != containers(before)) {
    return invalid("spec: Forbidden: pod updates may not add or remove containers");
  }
  if (mounts_what_is_not_there(after)) {
    return invalid("spec.containers[1].volumeMounts[0].name: Not found");
  }
  if (quota_exhausted_ && containers(after) > containers(before)) {
    return refusal(403, "Forbidden",
                   "pods \"" + key.second +
                       "\" is forbidden: exceeded quota: compute, requested: requests.cpu=100m, "
                       "used: requests.cpu=1, limited: requests.cpu=1");
  }
  count_removals(before, after);
  injections_[key.second] += containers(after) > containers(before) ? 1 : 0;
  if (const Json* result = base::find(std::as_const(after), "metadata", "initializers", "result")) {
    failures_.insert_or_assign(key, *result);
    erase(key);
    return {200, std::move(after)};
  }
  if (pending(after).empty()) {
    after["metadata"].erase("initializers");
  }
  record(WatchEventType::Modified, "pods", after, waits(before));
  pods_.insert_or_assign(key, after);
  return {200, std::move(after)};
}

void InitializerModel::count_removals(const Json& before, const Json& after) {
  const std::vector<std::string> left = pending(after);
  for (const std::string& name : pending(before)) {
    removals_[name] += std::count(left.begin(), left.end(), name) == 0 ? 1 : 0;
  }
}

Answer InitializerModel::patch_status(const std::string& name_space, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = pods_.find({name_space, name});
  if (found == pods_.end()) {
    return not_found(name);
  }
  return waits(found->second)
             ? invalid("status: Forbidden: must not be set until initialization has completed")
             : Answer{200, found->second};
}

Answer InitializerModel::remove(const std::string& name_space, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const Key key{name_space, name};
  if (!pods_.contains(key)) {
    return not_found(name);
  }
  erase(key);
  return {200, status(200, "", "")};
}

void InitializerModel::record(WatchEventType type, const std::string& plural, Json& object,
                              bool hidden_before) {
  object["metadata"]["resourceVersion"] = std::to_string(log_.size() + 1);
  log_.push_back({type, plural, object, hidden_before, waits(object)});
  changed_.notify_all();
}

void InitializerModel::erase(const Key& key) {
  const auto node = pods_.extract(key);
  Json last = node.mapped();
  record(WatchEventType::Deleted, "pods", last, waits(last));
}

std::optional<runtime::WatchEvent> InitializerModel::next(
    Cursor& cursor, std::chrono::steady_clock::time_point deadline, const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!changed_.wait_until(lock, stop, deadline, [&] { return cursor.version < log_.size(); })) {
      return std::nullopt;
    }
    if (auto event = seen_by(cursor, log_[cursor.version++])) {
      return event;
    }
  }
}

std::optional<runtime::WatchEvent> InitializerModel::seen_by(const Cursor& cursor,
                                                             const Change& change) {
  const bool another =
      cursor.plural != change.plural ||
      (!cursor.name_space.empty() && cursor.name_space != text(change.object, "namespace"));
  if (another) {
    return std::nullopt;
  }
  if (cursor.include_uninitialized) {
    return runtime::WatchEvent{change.type, change.object};
  }
  if (change.type == WatchEventType::Modified && change.hidden_before && !change.hidden_now) {
    return runtime::WatchEvent{WatchEventType::Added, change.object};
  }
  return change.hidden_now ? std::nullopt
                           : std::optional(runtime::WatchEvent{change.type, change.object});
}

void InitializerModel::wait_for_patches(int count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return accepted_ >= count; });
}

std::map<int, int> InitializerModel::patch_answers() const {
  const std::lock_guard lock(mutex_);
  return patch_answers_;
}

std::map<std::string, int> InitializerModel::injections() const {
  const std::lock_guard lock(mutex_);
  return injections_;
}

int InitializerModel::foreign_removals(const std::string& ours) const {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (const auto& [name, removals] : removals_) {
    count += name == ours ? 0 : removals;
  }
  return count;
}

}  // namespace injector::tests
