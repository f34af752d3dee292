// The client on a real API server: what the scripted one only claims to know.

#include <atomic>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "base/json_text.h"
#include "kube/config.h"
#include "kube/discovery.h"
#include "kube/event_sink.h"
#include "kube/lease_client.h"
#include "kube/resource_client.h"
#include "kube/rest_client.h"
#include "tests/support/api_server.h"
#include "tests/support/eventually.h"
#include "tests/support/temp_dir.h"

namespace injector::kube {
namespace {

using base::ErrorCode;
using base::Json;
using runtime::WatchEventType;
using tests::ApiServer;
using tests::TempDir;

ApiServer& server() {
  static ApiServer instance{
      {.users = {{.name = "nobody"}}, .flags = {"--watch-cache-sizes=secrets#0"}}};
  return instance;
}

Environment no_environment() {
  Environment environment;
  environment.variable = [](const std::string& /*name*/) { return std::nullopt; };
  return environment;
}

std::unique_ptr<RestClient> client_of(const std::string& kubeconfig) {
  const auto config = load_config({.kubeconfig = kubeconfig}, no_environment());
  if (!config) {
    FAIL(config.error().message);
  }
  RestOptions options;
  options.qps = 0;
  auto client = RestClient::create(config.value(), options);
  if (!client) {
    FAIL(client.error().message);
  }
  return std::move(client).value();
}

std::unique_ptr<RestClient> admin() {
  return client_of(server().kubeconfig_path());
}

template <class T>
T good(base::Result<T> result) {
  if (!result) {
    FAIL(result.error().message);
  }
  return std::move(result).value();
}

template <class T>
ErrorCode failure(const base::Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  INFO(result.error().message);
  return result.error().code;
}

Json config_map(const std::string& name, const std::string& value) {
  Json object = {{"apiVersion", "v1"}, {"kind", "ConfigMap"}};
  object["metadata"] = {{"name", name}};
  object["data"] = {{"key", value}};
  return object;
}

Json pod(const std::string& name) {
  Json object = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  object["metadata"] = {{"name", name}, {"labels", {{"app", name}}}};
  object["spec"]["containers"] = Json::array({{{"name", "app"}, {"image", "app"}}});
  return object;
}

std::string text_at(const Json& object, const char* first, const char* second) {
  return std::string(base::text_of(base::find(object, first, second)));
}

/// A namespace of its own for each case.
std::string fresh_namespace(RestClient& client, const std::string& name) {
  Json object = {{"apiVersion", "v1"}, {"kind", "Namespace"}};
  object["metadata"] = {{"name", name}};
  static_cast<void>(good(client.create_object({kNamespaces, {}, {}, {}}, object, {}, {})));
  return name;
}

std::string kubeconfig_with_user(const TempDir& dir, const std::string& user) {
  return dir.write("kubeconfig",
                   "current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
                   "clusters: [{name: c, cluster: {server: '" +
                       server().url() + "', certificate-authority: '" + server().ca_file() +
                       "'}}]\nusers: [{name: u, user: " + user + "}]\n");
}

}  // namespace

TEST_CASE("kube client: create, get, update, patch and delete one object", "[apiserver]") {
  const auto client = admin();
  const std::string ns = fresh_namespace(*client, "crud");
  const Target all{kConfigMaps, ns, {}, {}};
  const Target one{kConfigMaps, ns, "one", {}};
  const std::stop_token stop;
  CHECK(failure(client->get(one, stop)) == ErrorCode::NotFound);
  static_cast<void>(
      good(client->create_object(all, config_map("dry", "x"), {.dry_run = true}, stop)));
  CHECK(failure(client->get({kConfigMaps, ns, "dry", {}}, stop)) == ErrorCode::NotFound);

  Json made =
      good(client->create_object(all, config_map("one", "1"), {.field_manager = "e2e"}, stop));
  CHECK(base::write_json(made).find(R"("manager":"e2e")") != std::string::npos);
  CHECK(failure(client->create_object(all, config_map("one", "1"), {}, stop)) ==
        ErrorCode::AlreadyExists);
  const Json stale = made;
  made["data"]["key"] = "2";
  CHECK(text_at(good(client->update(one, made, {}, stop)), "data", "key") == "2");
  CHECK(failure(client->update(one, stale, {}, stop)) == ErrorCode::Conflict);

  const Json merge = {{"data", {{"key", "3"}, {"more", "m"}}}};
  CHECK(text_at(good(client->patch(one, {PatchType::Merge, merge}, {}, stop)), "data", "more") ==
        "m");
  const Json removal = Json::array({{{"op", "remove"}, {"path", "/data/more"}}});
  const Json removed = good(client->patch(one, {PatchType::Json, removal}, {}, stop));
  CHECK(base::find(removed, "data", "more") == nullptr);
  const Json labels = {{"metadata", {{"labels", {{"a", "b"}}}}}};
  const Json labelled = good(client->patch(one, {PatchType::Strategic, labels}, {}, stop));
  CHECK(text_at(*base::find(labelled, "metadata"), "labels", "a") == "b");

  CHECK(failure(client->remove(one, {.uid = "another"}, stop)) == ErrorCode::Conflict);
  static_cast<void>(good(client->remove(one, {}, stop)));
  CHECK(failure(client->get(one, stop)) == ErrorCode::NotFound);

  const auto invalid = client->create_object(all, config_map("Not A Name", "x"), {}, stop);
  CHECK(failure(invalid) == ErrorCode::InvalidInput);
  CHECK(invalid.error().message.find("Invalid (422)") != std::string::npos);
}

TEST_CASE("kube client: who may not is told so", "[apiserver]") {
  const auto nobody = client_of(server().kubeconfig_of("nobody"));
  const auto answer = nobody->get({kSecrets, "default", "x", {}}, {});
  CHECK(failure(answer) == ErrorCode::Forbidden);
  CHECK(answer.error().message.find("nobody") != std::string::npos);
  const TempDir dir;
  const auto stranger = client_of(kubeconfig_with_user(dir, "{token: wrong}"));
  CHECK(failure(stranger->get({kSecrets, "default", "x", {}}, {})) == ErrorCode::Unauthorized);
}

TEST_CASE("kube client: 5,000 ConfigMaps are made by many threads and listed in chunks",
          "[apiserver]") {
  constexpr int kCount = 5000;
  constexpr int kThreads = 16;
  const auto client = admin();
  const std::string ns = fresh_namespace(*client, "many");
  std::atomic<int> next = 0;
  std::atomic<int> made = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = next++; i < kCount; i = next++) {
          const auto answer = client->create_object(
              {kConfigMaps, ns, {}, {}}, config_map("m" + std::to_string(i), "v"), {}, {});
          made += answer ? 1 : 0;
        }
      });
    }
  }
  REQUIRE(made == kCount);
  std::set<std::string> names;
  const auto collect = [&](const Json& object) {
    CHECK(base::text_of(base::find(object, "kind")) == "ConfigMap");
    names.insert(text_at(object, "metadata", "name"));
    return true;
  };
  const auto listed = client->for_each({kConfigMaps, ns, {}, {}}, {}, collect, {});
  REQUIRE(listed.has_value());
  CHECK(names.size() == kCount);

  ResourceClient lister(*client, kConfigMaps, {.name_space = ns});
  const auto page =
      good(lister.list({.resource_version = {}, .limit = 500, .continue_token = {}}, {}));
  CHECK(page.items.size() == 500);
  CHECK_FALSE(page.continue_token.empty());
}

TEST_CASE("kube client: a watch delivers changes as they happen and ends on a stop",
          "[apiserver]") {
  const auto client = admin();
  const std::string ns = fresh_namespace(*client, "watched");
  ResourceClient watcher(*client, kConfigMaps, {.name_space = ns});
  const auto page = good(watcher.list({}, {}));
  const auto stream = good(watcher.watch(
      {.resource_version = page.resource_version, .timeout = std::chrono::seconds(300)}, {}));
  const Target one{kConfigMaps, ns, "one", {}};
  static_cast<void>(
      good(client->create_object({kConfigMaps, ns, {}, {}}, config_map("one", "1"), {}, {})));
  const Json merge = {{"data", {{"key", "2"}}}};
  static_cast<void>(good(client->patch(one, {PatchType::Merge, merge}, {}, {})));
  static_cast<void>(good(client->remove(one, {}, {})));
  for (const WatchEventType expected :
       {WatchEventType::Added, WatchEventType::Modified, WatchEventType::Deleted}) {
    auto event = good(stream->next({}));
    while (event && text_at(event->object, "metadata", "name") != "one") {
      event = good(stream->next({}));
    }
    REQUIRE(event.has_value());
    CHECK(event->type == expected);
  }
  std::stop_source stop;
  auto outcome = std::async(std::launch::async, [&] {
    auto event = stream->next(stop.get_token());
    while (event && event.value()) {
      event = stream->next(stop.get_token());
    }
    return event;
  });
  stop.request_stop();
  REQUIRE(outcome.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
  CHECK(outcome.get().error().code == ErrorCode::Cancelled);
}

TEST_CASE("kube client: a version that was compacted away is Expired", "[apiserver]") {
  const auto client = admin();
  const std::string ns = fresh_namespace(*client, "expired");
  ResourceClient secrets(*client, kSecrets, {.name_space = ns});
  const std::string old = good(secrets.list({}, {})).resource_version;
  for (int i = 0; i < 3; ++i) {
    Json secret = {{"apiVersion", "v1"}, {"kind", "Secret"}};
    secret["metadata"] = {{"name", "s" + std::to_string(i)}};
    static_cast<void>(good(client->create_object({kSecrets, ns, {}, {}}, secret, {}, {})));
  }
  static_cast<void>(server().compact_etcd());
  auto stream = secrets.watch({.resource_version = old}, {});
  if (!stream) {
    CHECK(stream.error().code == ErrorCode::Expired);
    return;
  }
  const auto event = good(stream.value()->next({}));
  REQUIRE(event.has_value());
  CHECK(event->type == WatchEventType::Error);
  CHECK(to_error(parse_status(event->object)).code == ErrorCode::Expired);
}

TEST_CASE("kube client: an eviction is refused while a disruption budget says no", "[apiserver]") {
  const auto client = admin();
  const std::string ns = fresh_namespace(*client, "evicted");
  const std::string version = good(eviction_version(*client, {}));
  for (const char* name : {"guarded", "free"}) {
    static_cast<void>(good(client->create_object({kPods, ns, {}, {}}, pod(name), {}, {})));
  }
  // A Pending Pod is evicted past every budget: make it a running one.
  const Json running = {{"status", {{"phase", "Running"}}}};
  static_cast<void>(
      good(client->patch({kPods, ns, "guarded", "status"}, {PatchType::Merge, running}, {}, {})));
  const bool beta = version == "v1beta1";
  const Resource& budgets = beta ? kPodDisruptionBudgetsBeta : kPodDisruptionBudgets;
  Json budget = {{"apiVersion", budgets.api_version()}, {"kind", budgets.kind}};
  budget["metadata"] = {{"name", "b"}};
  budget["spec"] = {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "guarded"}}}}}};
  static_cast<void>(good(client->create_object({budgets, ns, {}, {}}, budget, {}, {})));
  const auto refused = client->evict(ns, "guarded", {.policy_version = version}, {});
  CHECK(failure(refused) == ErrorCode::TooManyRequests);
  const auto evicted = client->evict(ns, "free", {.policy_version = version}, {});
  INFO((evicted ? "" : evicted.error().message));
  CHECK(evicted.has_value());
}

TEST_CASE("kube client: discovery knows what a 1.20 server serves", "[apiserver]") {
  const auto client = admin();
  CHECK(good(serves(*client, kPods, {})));
  CHECK(good(serves(*client, kDeployments, {})));
  CHECK(good(serves(*client, kLeases, {})));
  CHECK_FALSE(good(serves(*client, kInitializerConfigurations, {})));
  CHECK(good(served_cron_jobs(*client, {})).plural == "cronjobs");
}

TEST_CASE("kube client: a rotated token file is taken up after a 401", "[apiserver]") {
  const TempDir dir;
  static_cast<void>(dir.write("token", "outdated"));
  const auto client = client_of(kubeconfig_with_user(dir, "{tokenFile: token}"));
  const Target target{kNamespaces, {}, "default", {}};
  CHECK(failure(client->get(target, {})) == ErrorCode::Unauthorized);
  static_cast<void>(dir.write("token", server().token()));
  CHECK(text_at(good(client->get(target, {})), "metadata", "name") == "default");
}

TEST_CASE("kube client: an exec plugin's token is accepted", "[apiserver]") {
  const TempDir dir;
  const std::string plugin =
      dir.write("plugin",
                "#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\","
                "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"" +
                    server().token() + "\"}}'\n");
  std::filesystem::permissions(plugin, std::filesystem::perms::owner_all);
  const auto client = client_of(kubeconfig_with_user(
      dir, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./plugin}}"));
  CHECK(text_at(good(client->get({kNamespaces, {}, "default", {}}, {})), "metadata", "name") ==
        "default");
}

TEST_CASE("kube client: a lease is created, renewed and protected by its version", "[apiserver]") {
  const auto client = admin();
  RestLeaseClient lease(*client, fresh_namespace(*client, "leased"), "leader");
  const base::Duration timeout = std::chrono::seconds(30);
  CHECK(failure(lease.get(timeout, {})) == ErrorCode::NotFound);
  runtime::LeaseRecord record;
  record.holder = "a";
  record.duration = std::chrono::seconds(15);
  record.acquired = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  record.renewed = record.acquired;
  const auto made = good(lease.create(record, timeout, {}));
  CHECK(made.record == record);
  CHECK(failure(lease.create(record, timeout, {})) == ErrorCode::AlreadyExists);
  auto renewed = made;
  renewed.record.renewed += std::chrono::seconds(2);
  CHECK(good(lease.update(renewed, timeout, {})).record == renewed.record);
  CHECK(failure(lease.update(made, timeout, {})) == ErrorCode::Conflict);
  CHECK(good(lease.get(timeout, {})).record == renewed.record);
}

TEST_CASE("kube client: an event is created and then counted up", "[apiserver]") {
  const auto client = admin();
  const std::string ns = fresh_namespace(*client, "events");
  RestEventSink sink(*client);
  runtime::EventRecord event;
  event.name_space = ns;
  event.name = "web.1";
  event.involved = {"v1", "Pod", ns, "web", {}, {}, {}};
  event.type = "Normal";
  event.reason = "Injected";
  event.message = "first";
  event.component = "envoy-initializer";
  event.first = std::chrono::system_clock::now();
  event.last = event.first;
  CHECK(failure(sink.patch(event, {})) == ErrorCode::NotFound);
  REQUIRE(sink.create(event, {}).has_value());
  event.count = 2;
  event.message = "second";
  REQUIRE(sink.patch(event, {}).has_value());
  const Json stored = good(client->get({kEvents, ns, "web.1", {}}, {}));
  CHECK(*base::find(stored, "count") == Json(2));
  CHECK(base::text_of(base::find(stored, "message")) == "second");
}

TEST_CASE("kube client: a server that is away is Unavailable, and back again it answers",
          "[apiserver]") {
  const auto client = admin();
  const Target target{kNamespaces, {}, "default", {}};
  static_cast<void>(good(client->get(target, {})));
  server().kill_api_server();
  CHECK(failure(client->get(target, {})) == ErrorCode::Unavailable);
  server().start_api_server();
  CHECK(text_at(good(client->get(target, {})), "metadata", "name") == "default");
}

}  // namespace injector::kube
