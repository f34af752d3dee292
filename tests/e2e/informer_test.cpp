// The controller machinery on a real API server: lists, watches, restarts, elections.

#include "runtime/informer.h"

#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "base/json_text.h"
#include "base/log.h"
#include "kube/config.h"
#include "kube/lease_client.h"
#include "kube/resource_client.h"
#include "kube/rest_client.h"
#include "runtime/leader_election.h"
#include "runtime/sleeper.h"
#include "tests/support/api_server.h"
#include "tests/support/eventually.h"

namespace injector::runtime {
namespace {

using base::Json;
using tests::ApiServer;
using tests::eventually;

ApiServer& server() {
  // Without the watch cache for secrets, so that compaction shows.
  static ApiServer instance{{.flags = {"--watch-cache-sizes=secrets#0"}}};
  return instance;
}

std::unique_ptr<kube::RestClient> connect() {
  kube::Environment environment;
  environment.variable = [](const std::string& /*name*/) { return std::nullopt; };
  const auto config =
      kube::load_config({.kubeconfig = server().kubeconfig_path()}, environment).value();
  kube::RestOptions options;
  options.qps = 0;
  return kube::RestClient::create(config, options).value();
}

std::string new_namespace() {
  static int count = 0;
  const std::string name = "ns-" + std::to_string(++count);
  const auto created = server().request(
      "POST", "/api/v1/namespaces",
      R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name + "\"}}");
  REQUIRE(created.status == 201);
  return name;
}

Json config_map(const std::string& name, int value) {
  return Json({{"apiVersion", "v1"},
               {"kind", "ConfigMap"},
               {"metadata", {{"name", name}}},
               {"data", {{"value", std::to_string(value)}}}});
}

// An informer on one resource of a namespace, on its own thread.
class Watching {
 public:
  Watching(const kube::Resource& resource, const std::string& name_space)
      : client_(connect()),
        server_(*client_, resource, {.name_space = name_space}),
        informer_(server_, {.kind = resource.kind}, {clock_, sleeper_, base::Logger::silent(), 1}) {
  }

  Informer& informer() { return informer_; }

  void start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { informer_.run(stop); });
    REQUIRE(informer_.wait_for_sync({}));
  }

  std::map<std::string, std::string> versions() const {
    std::map<std::string, std::string> versions;
    for (const ObjectPtr& object : informer_.store().list()) {
      versions[object->name] = object->resource_version;
    }
    return versions;
  }

 private:
  base::SteadyClock clock_;
  SteadySleeper sleeper_;
  std::unique_ptr<kube::RestClient> client_;
  kube::ResourceClient server_;
  Informer informer_;
  std::jthread thread_;
};

std::map<std::string, std::string> on_server(kube::RestClient& client,
                                             const kube::Resource& resource,
                                             const std::string& name_space) {
  std::map<std::string, std::string> versions;
  const auto listed =
      client.for_each({resource, name_space, "", ""}, {},
                      [&](const Json& object) {
                        versions[object.at("metadata").at("name").get<std::string>()] =
                            object.at("metadata").at("resourceVersion").get<std::string>();
                        return true;
                      },
                      {});
  return listed ? versions : std::map<std::string, std::string>{{"error", listed.error().message}};
}

// Random creates, updates and deletes among a few names. Failures are part of it: the server may be
// away.
void write_randomly(const std::string& name_space, unsigned seed, int writes) {
  const auto client = connect();
  std::mt19937 random(seed);
  for (int i = 0; i < writes; ++i) {
    const std::string name = "w" + std::to_string(seed) + "-" + std::to_string(random() % 8);
    const kube::Target one{kube::kConfigMaps, name_space, name, ""};
    switch (random() % 3) {
      case 0:
        static_cast<void>(client->create_object({kube::kConfigMaps, name_space, "", ""},
                                                config_map(name, i), {}, {}));
        break;
      case 1:
        static_cast<void>(client->patch(
            one, {kube::PatchType::Merge, Json({{"data", {{"value", std::to_string(i)}}}})}, {},
            {}));
        break;
      default:
        static_cast<void>(client->remove(one, {}, {}));
    }
  }
}

// Remembers the newest version seen of each object, and whether any was older than the last.
class Monotonic {
 public:
  Handler handler() {
    return {.on_add = [this](const Added& event) { see(*event.object); },
            .on_update = [this](const Updated& event) { see(*event.now); },
            .on_delete = [this](const Deleted& event) { forget(*event.last); }};
  }

  [[nodiscard]] int went_back() const { return went_back_; }

 private:
  void see(const Object& object) {
    const std::lock_guard lock(mutex_);
    const long version = std::stol(object.resource_version);
    long& last = newest_[object.uid];
    went_back_ += version < last ? 1 : 0;
    last = std::max(last, version);
  }

  void forget(const Object& object) {
    const std::lock_guard lock(mutex_);
    newest_.erase(object.uid);
  }

  std::mutex mutex_;
  std::map<std::string, long> newest_;
  std::atomic<int> went_back_ = 0;
};

TEST_CASE("informer: lists 5,000 ConfigMaps in chunks and watches on", "[apiserver]") {
  const std::string name_space = new_namespace();
  {
    std::vector<std::jthread> creators;
    for (int part = 0; part < 10; ++part) {
      creators.emplace_back([&name_space, part] {
        const auto client = connect();
        for (int i = part * 500; i < (part + 1) * 500; ++i) {
          static_cast<void>(client->create_object({kube::kConfigMaps, name_space, "", ""},
                                                  config_map("c" + std::to_string(i), i), {}, {}));
        }
      });
    }
  }
  Watching watching(kube::kConfigMaps, name_space);
  watching.start();
  CHECK(watching.informer().store().size() == 5000);
  const auto client = connect();
  REQUIRE(
      client->create_object({kube::kConfigMaps, name_space, "", ""}, config_map("late", 1), {}, {})
          .has_value());
  CHECK(eventually([&] { return watching.informer().store().get(name_space, "late") != nullptr; }));
}

TEST_CASE("informer: the store equals the server after random writes by several writers",
          "[apiserver]") {
  const std::string name_space = new_namespace();
  Watching watching(kube::kConfigMaps, name_space);
  Monotonic monotonic;
  watching.informer().add_handler(monotonic.handler());
  watching.start();
  {
    std::vector<std::jthread> writers;
    for (unsigned seed = 1; seed <= 4; ++seed) {
      writers.emplace_back([&name_space, seed] { write_randomly(name_space, seed, 150); });
    }
  }
  const auto client = connect();
  const auto expected = on_server(*client, kube::kConfigMaps, name_space);
  CHECK(eventually([&] { return watching.versions() == expected; }));
  CHECK(monotonic.went_back() == 0);
}

TEST_CASE("informer: converges after the API server and then etcd are killed under writes",
          "[apiserver]") {
  const std::string name_space = new_namespace();
  Watching watching(kube::kConfigMaps, name_space);
  Monotonic monotonic;
  watching.informer().add_handler(monotonic.handler());
  watching.start();
  std::atomic<bool> done = false;
  std::vector<std::jthread> writers;
  for (unsigned seed = 11; seed <= 12; ++seed) {
    writers.emplace_back([&name_space, &done, seed] {
      for (unsigned round = 0; !done; ++round) {
        write_randomly(name_space, seed + 100 * round, 20);
      }
    });
  }
  server().kill_api_server();
  server().start_api_server();
  server().kill_etcd();
  server().start_etcd();
  done = true;
  writers.clear();
  const auto client = connect();
  std::map<std::string, std::string> expected;
  REQUIRE(eventually([&] {
    expected = on_server(*client, kube::kConfigMaps, name_space);
    return !expected.contains("error");
  }));
  CHECK(eventually([&] { return watching.versions() == expected; },
                   std::chrono::milliseconds(180'000)));
  CHECK(monotonic.went_back() == 0);
}

TEST_CASE("informer: recovers when its version was compacted away", "[apiserver]") {
  const std::string name_space = new_namespace();
  const auto client = connect();
  const auto secret = [](const std::string& name) {
    return Json({{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", name}}}});
  };
  const kube::Target secrets{kube::kSecrets, name_space, "", ""};
  REQUIRE(client->create_object(secrets, secret("before"), {}, {}).has_value());
  Watching watching(kube::kSecrets, name_space);
  watching.start();
  server().kill_api_server();  // The watch breaks; what follows happens behind the informer's back.
  server().start_api_server();
  REQUIRE(eventually(
      [&] { return client->create_object(secrets, secret("after"), {}, {}).has_value(); }));
  REQUIRE(client->remove({kube::kSecrets, name_space, "before", ""}, {}, {}).has_value());
  server().compact_etcd();
  CHECK(eventually(
      [&] { return watching.versions() == on_server(*client, kube::kSecrets, name_space); }));
}

// A candidate on its own thread with a short lease.
class Candidate {
 public:
  Candidate(const std::string& name_space, std::string identity, std::atomic<int>& leaders)
      : client_(connect()),
        lease_(*client_, name_space, "election"),
        elector_(lease_,
                 {.name = "test",
                  .identity = std::move(identity),
                  .lease_duration = std::chrono::seconds(4),
                  .renew_deadline = base::Duration(2500),
                  .retry_period = base::Duration(500)},
                 {.on_started_leading =
                      [this, &leaders](const std::stop_token& stop) {
                        most_ = std::max(most_, ++leaders);
                        led_ = true;
                        SteadySleeper().sleep(base::Duration(600'000), stop);
                        --leaders;
                      },
                  .on_stopped_leading = {},
                  .on_new_leader = {}},
                 {clock_, sleeper_, base::Logger::silent(), 1}),
        thread_([this](const std::stop_token& stop) { elector_.run(stop); }) {}

  [[nodiscard]] bool leads() const { return elector_.is_leader(); }

  [[nodiscard]] bool led() const { return led_; }

  [[nodiscard]] int most_leaders_seen() const { return most_; }

 private:
  base::SteadyClock clock_;
  SteadySleeper sleeper_;
  std::unique_ptr<kube::RestClient> client_;
  kube::RestLeaseClient lease_;
  std::atomic<bool> led_ = false;
  int most_ = 0;
  LeaderElector elector_;
  std::jthread thread_;
};

TEST_CASE("leader election: two candidates, one leader, and the other takes over", "[apiserver]") {
  const std::string name_space = new_namespace();
  std::atomic<int> leaders = 0;
  auto first = std::make_unique<Candidate>(name_space, "first", leaders);
  REQUIRE(eventually([&] { return first->leads(); }));
  Candidate second(name_space, "second", leaders);
  CHECK_FALSE(second.led());
  first.reset();
  REQUIRE(eventually([&] { return second.led(); }));
  CHECK(second.most_leaders_seen() == 1);
}

}  // namespace
}  // namespace injector::runtime
