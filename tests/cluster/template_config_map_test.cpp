// The template of a ConfigMap on a scripted API server: what serves, what is kept, what is refused.

#include "cluster/template_config_map.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "base/json.h"
#include "base/json_text.h"
#include "runtime/process_context.h"
#include "template/parser.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_api.h"

namespace injector::cluster {
namespace {

using base::Json;
using tests::eventually;
using tests::FakeApi;

constexpr const char* kGood = "containers:\n- {name: envoy, image: 'envoy:good'}\n";
constexpr const char* kBetter = "containers:\n- {name: envoy, image: 'envoy:better'}\n";
constexpr const char* kBad = "containers:\n- {name: envoy}\n";

Json config_map(const std::string& name, const std::string& tpl) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "ours"}}},
          {"data", {{"config", tpl}}}};
}

std::string config_of(const Json& map) {
  return std::string(base::text_of(base::find(map, "data", "config")));
}

// Just enough of an API server: the ConfigMap "sidecar" with its watch, "sidecar-last-good", and
// Pods in dry runs.
class Cluster {
 public:
  Cluster()
      : api_([this](const FakeApi::Request& request, FakeApi::Peer& peer) {
          serve(request, peer);
        }) {}

  ~Cluster() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
  }

  void set(const std::string& tpl) {
    change([&] {
      const char* const type = sidecar_ ? "MODIFIED" : "ADDED";
      sidecar_ = config_map("sidecar", tpl);
      return type;
    });
  }

  void remove() {
    change([] { return "DELETED"; });
  }

  void set_last_good(const std::string& tpl) {
    const std::lock_guard lock(mutex_);
    last_good_ = config_map("sidecar-last-good", tpl);
    (*last_good_)["metadata"]["resourceVersion"] = std::to_string(++version_);
  }

  [[nodiscard]] std::string last_good() const {
    const std::lock_guard lock(mutex_);
    return last_good_ ? config_of(*last_good_) : std::string();
  }

  [[nodiscard]] int writes() const {
    const std::lock_guard lock(mutex_);
    return writes_;
  }

  // What dry runs of Pods get from now on.
  void answer_pods(int code, const std::string& body) {
    const std::lock_guard lock(mutex_);
    pod_code_ = code;
    pod_body_ = body;
  }

  // Another replica gets in between the next look at the last good template and its write.
  void lose_next_race() {
    const std::lock_guard lock(mutex_);
    conflicts_ = 1;
  }

  [[nodiscard]] std::unique_ptr<kube::RestClient> client() const {
    kube::RestOptions options;
    options.qps = 0;
    auto client = kube::RestClient::create(api_.config(), options);
    REQUIRE(client.has_value());
    return std::move(client).value();
  }

 private:
  template <class Change>
  void change(Change make) {
    {
      const std::lock_guard lock(mutex_);
      const std::string type = make();
      (*sidecar_)["metadata"]["resourceVersion"] = std::to_string(++version_);
      events_.push_back(
          {version_, base::write_json(Json({{"type", type}, {"object", *sidecar_}})) + "\n"});
      if (type == "DELETED") {
        sidecar_.reset();
      }
    }
    changed_.notify_all();
  }

  void serve(const FakeApi::Request& request, FakeApi::Peer& peer) {
    const auto is = [&](const char* part) {
      return request.target.find(part) != std::string::npos;
    };
    if (is("/version")) {
      peer.respond(200, R"({"major":"1","minor":"30"})");
    } else if (is("/pods")) {
      const std::lock_guard lock(mutex_);
      peer.respond(is("dryRun=All") ? pod_code_ : 500, pod_body_);
    } else if (is("watch=")) {
      const std::size_t from = request.target.find("resourceVersion=");
      REQUIRE(from != std::string::npos);
      watch(std::stoi(request.target.substr(from + std::string("resourceVersion=").size())), peer);
    } else if (request.method == "GET" && is("fieldSelector")) {
      list(peer);
    } else {
      last_good_call(request, peer);
    }
  }

  void list(FakeApi::Peer& peer) {
    const std::lock_guard lock(mutex_);
    peer.respond(200, base::write_json(
                          Json({{"kind", "ConfigMapList"},
                                {"apiVersion", "v1"},
                                {"metadata", {{"resourceVersion", std::to_string(version_)}}},
                                {"items", sidecar_ ? Json::array({*sidecar_}) : Json::array()}})));
  }

  void watch(int from, FakeApi::Peer& peer) {
    peer.start_chunked();
    std::unique_lock lock(mutex_);
    std::size_t next = 0;
    while (!closing_) {
      for (; next < events_.size(); ++next) {
        if (events_[next].version > from && !peer.send_chunk(events_[next].text)) {
          return;
        }
      }
      changed_.wait(lock, [&] { return closing_ || next < events_.size(); });
    }
  }

  void last_good_call(const FakeApi::Request& request, FakeApi::Peer& peer) {
    const std::lock_guard lock(mutex_);
    if (request.method == "GET") {
      last_good_ ? peer.respond(200, base::write_json(*last_good_)) : peer.refuse(404, "NotFound");
      return;
    }
    if (conflicts_ > 0) {
      --conflicts_;
      peer.refuse(409, request.method == "POST" ? "AlreadyExists" : "Conflict");
      return;
    }
    last_good_ = base::read_json(request.body).value();
    (*last_good_)["metadata"]["resourceVersion"] = std::to_string(++version_);
    ++writes_;
    peer.respond(request.method == "POST" ? 201 : 200, base::write_json(*last_good_));
  }

  struct Event {
    int version;
    std::string text;
  };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool closing_ = false;
  int version_ = 1;
  int writes_ = 0;
  int conflicts_ = 0;
  int pod_code_ = 201;
  std::string pod_body_ = "{}";
  std::optional<Json> sidecar_;
  std::optional<Json> last_good_;
  std::vector<Event> events_;
  FakeApi api_;
};

// A replica of ours.
struct Replica {
  explicit Replica(const Cluster& cluster)
      : client(cluster.client()),
        config_map(*client, {"ours", "sidecar"}, templates, {}, process_context.get()) {
    REQUIRE(config_map.wait_for_sync({}));
  }

  [[nodiscard]] std::string image() const {
    const auto current = templates.current();
    const core::Template* tpl = current ? current->default_for("") : nullptr;
    return tpl != nullptr
               ? std::string(base::text_of(base::find(tpl->containers.front().value, "image")))
               : std::string();
  }

  runtime::ProcessContext process_context{base::Logger::silent()};
  templates::TemplateStore templates{base::Logger::silent()};
  std::unique_ptr<kube::RestClient> client;
  TemplateConfigMap config_map;
};

TEST_CASE("template config map: a good template serves and is kept", "[app]") {
  Cluster cluster;
  cluster.set(kGood);
  const Replica replica(cluster);
  CHECK(replica.image() == "envoy:good");
  CHECK(replica.templates.remark().empty());
  CHECK(eventually([&] { return cluster.last_good() == kGood; }));
  cluster.set(kBetter);
  CHECK(eventually([&] { return replica.image() == "envoy:better"; }));
  CHECK(eventually([&] { return cluster.last_good() == kBetter; }));
  CHECK(cluster.writes() == 2);
}

TEST_CASE("template config map: a replica that starts on a bad one serves the last good", "[app]") {
  Cluster cluster;
  cluster.set(kBad);
  cluster.set_last_good(kGood);
  const Replica replica(cluster);
  CHECK(replica.image() == "envoy:good");
  CHECK(replica.templates.failure().has_value());
  CHECK_THAT(replica.templates.remark(), Catch::Contains("ours/sidecar-last-good"));
  CHECK(cluster.writes() == 0);
  cluster.set(kBetter);
  CHECK(eventually([&] { return replica.image() == "envoy:better"; }));
  CHECK_FALSE(replica.templates.failure().has_value());
  CHECK(replica.templates.remark().empty());
}

TEST_CASE("template config map: a bad one without a last good one serves nothing", "[app]") {
  Cluster cluster;
  cluster.set(kBad);
  const Replica replica(cluster);
  CHECK(replica.templates.current() == nullptr);
  CHECK(cluster.writes() == 0);
}

TEST_CASE("template config map: nothing is written where the content is there already", "[app]") {
  Cluster cluster;
  cluster.set(kGood);
  cluster.set_last_good(kGood);
  const Replica first(cluster);
  const Replica second(cluster);
  cluster.set(kBetter);
  CHECK(eventually([&] { return cluster.last_good() == kBetter; }));
  CHECK(eventually([&] { return second.image() == "envoy:better"; }));
  CHECK(eventually([&] { return first.image() == "envoy:better"; }));
  CHECK(cluster.writes() >= 1);
  CHECK(cluster.writes() <= 2);  // Both may find the old one before either has written.
}

TEST_CASE("template config map: a lost race for the last good one is harmless", "[app]") {
  Cluster cluster;
  cluster.set(kGood);
  cluster.lose_next_race();
  const Replica replica(cluster);
  CHECK(eventually([&] { return cluster.last_good() == kGood; }));
  CHECK(replica.config_map.kept().has_value());
}

TEST_CASE("template config map: without it the built-in template serves, and after its deletion",
          "[app]") {
  Cluster cluster;
  const Replica replica(cluster);
  const std::string builtin = templates::default_template().hash;
  CHECK(replica.templates.current()->fingerprint() == builtin);
  CHECK_THAT(replica.templates.remark(), Catch::Contains("ours/sidecar does not exist"));
  CHECK_FALSE(replica.templates.failure().has_value());
  cluster.set(kGood);
  CHECK(eventually([&] { return replica.image() == "envoy:good"; }));
  cluster.remove();
  CHECK(eventually([&] { return replica.templates.current()->fingerprint() == builtin; }));
  SECTION("also across a restart, when what comes next is bad") {
    CHECK(eventually([&] { return cluster.last_good() == templates::default_template_text(); }));
    cluster.set(kBad);
    const Replica next(cluster);
    CHECK(next.templates.current()->fingerprint() == builtin);
  }
}

TEST_CASE("template config map: what the API server refuses does not serve", "[app]") {
  Cluster cluster;
  cluster.set(kGood);
  const Replica replica(cluster);
  REQUIRE(eventually([&] { return cluster.last_good() == kGood; }));
  cluster.answer_pods(422, R"({"kind":"Status","status":"Failure","reason":"Invalid","code":422,
    "message":"Pod \"p\" is invalid: spec.containers[1].image: Invalid value: no","details":{"causes":[
    {"reason":"FieldValueInvalid","message":"Invalid value: no","field":"spec.containers[1].image"}]}})");
  cluster.set(kBetter);
  REQUIRE(eventually([&] { return replica.templates.failure().has_value(); }));
  CHECK(replica.image() == "envoy:good");
  CHECK_THAT(replica.templates.failure()->message,
             Catch::Contains("containers[0].image: Invalid value: no"));
  CHECK(cluster.last_good() == kGood);
  CHECK(cluster.writes() == 1);
}

TEST_CASE("template config map: a dry run that decides nothing does not stop a template", "[app]") {
  Cluster cluster;
  cluster.set(kGood);
  cluster.answer_pods(403, R"({"kind":"Status","status":"Failure","reason":"Forbidden","code":403,
    "message":"pods is forbidden: User \"ours\" cannot create resource \"pods\""})");
  const Replica replica(cluster);
  CHECK(replica.image() == "envoy:good");
  CHECK_THAT(replica.templates.remark(),
             Catch::Contains("not tried") && Catch::Contains("cannot create"));
  CHECK(eventually([&] { return cluster.last_good() == kGood; }));
}

}  // namespace
}  // namespace injector::cluster
