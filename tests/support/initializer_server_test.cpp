// The fake is as good as what is known of the real one: every answer here was once got from a
// kube-apiserver 1.13.12.

#include "tests/support/initializer_server.h"

#include <future>
#include <string>
#include <thread>

#include <catch2/catch.hpp>
#include <httplib.h>

#include "base/json_text.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kOurs = "envoy.initializer.kubernetes.io";
constexpr const char* kStrategic = "application/strategic-merge-patch+json";
constexpr const char* kConfigurations =
    "/apis/admissionregistration.k8s.io/v1alpha1/initializerconfigurations";

struct Reply {
  int code = 0;
  Json body;
};

/// A user who may do everything, or the loop's.
class Client {
 public:
  explicit Client(const InitializerServer& server, const std::string& token = "")
      : client_(server.url()) {
    client_.set_ca_cert_path(TestCertificates::authority().c_str());
    client_.set_read_timeout(std::chrono::minutes(2));
    if (!token.empty()) {
      client_.set_bearer_token_auth(token.c_str());
    }
  }

  Reply get(const std::string& path) { return reply(client_.Get(path.c_str())); }

  Reply post(const std::string& path, const Json& body) {
    return reply(client_.Post(path.c_str(), base::write_json(body), "application/json"));
  }

  Reply patch(const std::string& path, const std::string& body, const char* type = kStrategic) {
    return reply(client_.Patch(path.c_str(), body, type));
  }

  Reply remove(const std::string& path) { return reply(client_.Delete(path.c_str())); }

 private:
  static Reply reply(const httplib::Result& result) {
    REQUIRE(result);
    return {result->status, base::read_json(result->body).value()};
  }

  httplib::Client client_;
};

Json pod(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}}},
          {"spec", {{"containers", Json::array({{{"name", "app"}, {"image", "app:1"}}})}}}};
}

std::string removal(const std::string& name) {
  return R"({"metadata":{"initializers":{"pending":[{"$patch":"delete","name":")" + name +
         R"("}]}}})";
}

const std::string kWaiting = std::string(kPods) + "?includeUninitialized=true";
const std::string kWeb = std::string(kPods) + "/web";

bool is_pending(const Reply& reply) {
  return base::find(reply.body, "metadata", "initializers") != nullptr;
}

std::size_t count(const Reply& list) {
  return list.body.at("items").size();
}

/// One Pod that waits for us.
struct Waiting {
  Waiting() {
    server.model().configure({kOurs});
    REQUIRE(client.post(kWaiting, pod("web")).code == 202);
  }

  InitializerServer server;
  Client client{server};
};

}  // namespace

TEST_CASE("initializer server: configurations are checked", "[support]") {
  const InitializerServer server;
  Client client(server);
  Json config = {
      {"metadata", {{"name", "c"}}},
      {"initializers", Json::array({{{"name", kOurs},
                                     {"rules", Json::array({{{"apiGroups", {""}},
                                                             {"apiVersions", {"v1"}},
                                                             {"resources", {"pods"}}}})}}})}};
  CHECK(client.post(kConfigurations, config).code == 201);
  CHECK(client.post(kConfigurations, config).code == 409);
  config["initializers"][0]["rules"][0]["resources"] = Json::array({"pods/status"});
  CHECK(client.post(kConfigurations, config).code == 422);
  config["initializers"][0]["name"] = "two.segments";
  CHECK(client.post(kConfigurations, config).code == 422);
  CHECK(is_pending(client.post(kWaiting, pod("web"))));
}

TEST_CASE("initializer server: all rules of an initializer have to match", "[support]") {
  InitializerServer server;
  Client client(server);
  const Json pods = {{"apiGroups", {""}}, {"apiVersions", {"v1"}}, {"resources", {"pods"}}};
  const Json others = {{"apiGroups", {"apps"}}, {"apiVersions", {"v1"}}, {"resources", {"*"}}};
  const Json config = {
      {"metadata", {{"name", "c"}}},
      {"initializers",
       Json::array({{{"name", "both.example.com"}, {"rules", Json::array({pods, others})}},
                    {{"name", "none.example.com"}, {"rules", Json::array()}}})}};
  CHECK(client.post(kConfigurations, config).code == 201);
  CHECK(client.post(kPods, pod("web")).code == 201);
}

TEST_CASE("initializer server: a waiting pod is hidden, but not from a GET", "[support]") {
  Waiting waiting;
  CHECK(count(waiting.client.get(kPods)) == 0);
  CHECK(count(waiting.client.get(kWaiting)) == 1);
  CHECK(count(waiting.client.get("/api/v1/pods?includeUninitialized=false")) == 0);
  CHECK(waiting.client.get(kWeb).code == 200);
  CHECK(waiting.client.remove(kWeb).code == 200);
  CHECK(waiting.client.get(kWeb).code == 404);
}

TEST_CASE("initializer server: a creation blocks until the pod is initialized", "[support]") {
  Waiting waiting;
  auto blocked = std::async(std::launch::async,
                            [&] { return Client(waiting.server).post(kPods, pod("late")); });
  InitializerModel::Cursor cursor{"pods", "", true, 0};
  for (int events = 0; events < 2; ++events) {  // Both are there.
    REQUIRE(waiting.server.model().next(
        cursor, std::chrono::steady_clock::now() + std::chrono::minutes(1), {}));
  }
  CHECK(blocked.wait_for(std::chrono::milliseconds(50)) == std::future_status::timeout);
  CHECK(waiting.client.patch(std::string(kPods) + "/late", removal(kOurs)).code == 200);
  const Reply made = blocked.get();
  CHECK(made.code == 201);
  CHECK_FALSE(is_pending(made));
}

TEST_CASE("initializer server: a creation gives up, and the pod stays", "[support]") {
  Waiting waiting;
  CHECK(waiting.client.post(std::string(kPods) + "?timeout=1s", pod("slow")).code == 504);
  CHECK(is_pending(waiting.client.get(std::string(kPods) + "/slow")));
}

TEST_CASE("initializer server: a result is the creator's answer", "[support]") {
  Waiting waiting;
  auto blocked = std::async(std::launch::async,
                            [&] { return Client(waiting.server).post(kPods, pod("bad")); });
  const std::string bad = std::string(kPods) + "/bad";
  InitializerModel::Cursor cursor{"pods", "", true, 0};
  for (int events = 0; events < 2; ++events) {
    REQUIRE(waiting.server.model().next(
        cursor, std::chrono::steady_clock::now() + std::chrono::minutes(1), {}));
  }
  CHECK(waiting.client
            .patch(bad, R"({"metadata":{"initializers":{"result":{"status":"Failure",
              "message":"no","code":422}}}})")
            .code == 200);
  const Reply refused = blocked.get();
  CHECK(refused.code == 422);
  CHECK(base::text_of(base::find(refused.body, "message")) == "no");
  CHECK(waiting.client.get(bad).code == 404);
}

TEST_CASE("initializer server: the one patch that initializes", "[support]") {
  Waiting waiting;
  const std::string sidecar = R"({"metadata":{"initializers":{"pending":[{"$patch":"delete",
    "name":"envoy.initializer.kubernetes.io"}]}},"spec":{"containers":[{"name":"envoy",
    "image":"envoy:1"}]}})";
  const Reply done = waiting.client.patch(kWeb, sidecar);
  CHECK(done.code == 200);
  CHECK_FALSE(is_pending(done));
  // No $setElementOrder: new ones come first.
  CHECK(done.body.at("spec").at("containers").at(0).at("name") == "envoy");
  CHECK(waiting.client.patch(kWeb, removal(kOurs)).code == 422);
  CHECK(waiting.client.patch(kWeb, R"({"spec":{"containers":[{"name":"b","image":"b"}]}})").code ==
        422);
}

TEST_CASE("initializer server: accepted, but pending still", "[support]") {
  Waiting waiting;
  for (const std::string& patch :
       {std::string(R"({"metadata":{"initializers":{"pending":[]}}})"), removal("some.body.else"),
        std::string(R"({"spec":{"containers":[{"name":"b","image":"b"}]}})")}) {
    const Reply answer = waiting.client.patch(kWeb, patch);
    INFO(patch);
    CHECK(answer.code == 200);
    CHECK(is_pending(answer));
  }
}

TEST_CASE("initializer server: what is refused", "[support]") {
  Waiting waiting;
  Client& client = waiting.client;
  CHECK(client.patch(kWeb, "{}", "application/json").code == 415);
  CHECK(client.patch(kWeb, "{").code == 400);
  CHECK(client.patch(std::string(kPods) + "/nobody", removal(kOurs)).code == 404);
  CHECK(client.patch(kWeb, R"({"metadata":{"resourceVersion":"1"}})").code == 409);
  CHECK(client
            .patch(kWeb, R"({"spec":{"containers":[{"name":"b","image":"b",
              "volumeMounts":[{"name":"nowhere","mountPath":"/"}]}]}})")
            .code == 422);
  CHECK(client.patch(kWeb + "/status", "{}").code == 422);
  CHECK(is_pending(client.get(kWeb)));
}

TEST_CASE("initializer server: the verb initialize is needed", "[support]") {
  Waiting waiting;
  Client loop(waiting.server, "the-loop");
  waiting.server.set_verbs({.may_patch = true, .may_initialize = false});
  const Reply denied = loop.patch(kWeb, removal(kOurs));
  CHECK(denied.code == 403);
  CHECK(base::text_of(base::find(denied.body, "message")) ==
        R"(pods "web" is forbidden: update to uninitialized resource denied)");
  Json named = pod("named");
  named["metadata"]["initializers"]["pending"] = Json::array({{{"name", kOurs}}});
  CHECK(loop.post(kPods, named).code == 403);
  waiting.server.set_verbs({.may_patch = false, .may_initialize = true});
  CHECK(loop.patch(kWeb, removal(kOurs)).code == 403);
  waiting.server.set_verbs({});
  CHECK(loop.patch(kWeb, removal(kOurs)).code == 200);
}

TEST_CASE("initializer server: an empty list and mirror pods wait for nobody", "[support]") {
  Waiting waiting;
  Json bootstrap = pod("bootstrap");
  bootstrap["metadata"]["initializers"]["pending"] = Json::array();
  CHECK(waiting.client.post(kPods, bootstrap).code == 201);
  Json mirror = pod("mirror");
  mirror["metadata"]["annotations"] = {{"kubernetes.io/config.mirror", "x"}};
  CHECK(waiting.client.post(kPods, mirror).code == 201);
}

TEST_CASE("initializer server: null drops the entries of others too", "[support]") {
  InitializerServer server;
  server.model().configure({kOurs, "other.example.com"});
  Client client(server);
  REQUIRE(client.post(kWaiting, pod("web")).code == 202);
  CHECK(is_pending(client.patch(kWeb, removal(kOurs))));
  CHECK(server.model().foreign_removals(kOurs) == 0);
  CHECK_FALSE(is_pending(client.patch(kWeb, R"({"metadata":{"initializers":null}})")));
  CHECK(server.model().foreign_removals(kOurs) == 1);
}

TEST_CASE("initializer server: a plain watch sends one ADDED, after initialization", "[support]") {
  Waiting waiting;
  REQUIRE(waiting.client.patch(kWeb, R"({"metadata":{"labels":{"a":"b"}}})").code == 200);
  REQUIRE(waiting.client.patch(kWeb, removal(kOurs)).code == 200);
  REQUIRE(waiting.client.remove(kWeb).code == 200);
  const auto types = [&](bool all) {
    InitializerModel::Cursor cursor{"pods", "", all, 0};
    std::vector<runtime::WatchEventType> seen;
    while (seen.empty() || seen.back() != runtime::WatchEventType::Deleted) {
      seen.push_back(
          waiting.server.model()
              .next(cursor, std::chrono::steady_clock::now() + std::chrono::minutes(1), {})
              .value()
              .type);
    }
    return seen;
  };
  using Type = runtime::WatchEventType;
  CHECK(types(false) == std::vector<Type>{Type::Added, Type::Deleted});
  CHECK(types(true) ==
        std::vector<Type>{Type::Added, Type::Modified, Type::Modified, Type::Deleted});
}

}  // namespace injector::tests
