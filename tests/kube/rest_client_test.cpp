#include "kube/rest_client.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/json_text.h"
#include "tests/support/fake_api.h"
#include "tests/support/temp_dir.h"

namespace injector::kube {
namespace {

using base::ErrorCode;
using base::Json;
using tests::FakeApi;
using Asked = FakeApi::Request;
using Peer = FakeApi::Peer;

constexpr auto kLong = std::chrono::hours(1);
// Ends a test that would hang; nothing that works takes as long.
constexpr auto kPatience = std::chrono::seconds(60);

RestOptions unlimited() {
  RestOptions options;
  options.qps = 0;
  options.timeout = kPatience;
  options.broken_retry = base::Duration(1);
  return options;
}

std::unique_ptr<RestClient> client_of(const ClientConfig& config,
                                      RestOptions options = unlimited()) {
  auto client = RestClient::create(config, std::move(options));
  if (!client) {
    FAIL(client.error().message);
  }
  return std::move(client).value();
}

const Target kWeb{kPods, "default", "web", {}};

Json named(const std::string& name) {
  Json object = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  object["metadata"] = {{"name", name}};
  return object;
}

FakeApi::Handler always(const std::string& body) {
  return [body](const Asked& /*request*/, Peer& peer) { peer.respond(200, body); };
}

/// Starts `call` on a thread, waits until the server has its request, stops it, and returns what
/// it returned.
template <class Call>
auto stopped_in_the_middle(std::latch& arrived, Call call) {
  std::stop_source stop;
  auto outcome = std::async(std::launch::async, [&] { return call(stop.get_token()); });
  arrived.wait();
  stop.request_stop();
  REQUIRE(outcome.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
  return outcome.get();
}

}  // namespace

TEST_CASE("rest client: each verb sends what the API expects", "[kube]") {
  FakeApi api(always(R"({"kind":"Pod"})"));
  const auto client = client_of(api.config());
  const std::stop_token stop;
  const WriteOptions dry{.dry_run = true, .field_manager = "me & you", .query = {{"a", "b"}}};
  REQUIRE(client->get(kWeb, stop));
  REQUIRE(client->create_object({kPods, "default", {}, {}}, named("web"), dry, stop));
  REQUIRE(client->update(kWeb, named("web"), {}, stop));
  REQUIRE(client->patch(kWeb, {PatchType::Strategic, Json::object()}, {}, stop));
  REQUIRE(client->patch(kWeb, {PatchType::Merge, Json::object()}, {}, stop));
  REQUIRE(client->patch(kWeb, {PatchType::Json, Json::array()}, {}, stop));
  REQUIRE(client->remove(kWeb, {.uid = "u1"}, stop));
  REQUIRE(client->evict("default", "web", {.policy_version = "v1beta1"}, stop));

  const auto requests = api.requests();
  REQUIRE(requests.size() == 8);
  const std::string collection = "/api/v1/namespaces/default/pods";
  CHECK(requests[0].method == "GET");
  CHECK(requests[0].target == collection + "/web");
  CHECK(requests[0].header("accept") == "application/json");
  CHECK(requests[0].header("user-agent") == "envoy-initializer");
  CHECK(requests[1].method == "POST");
  CHECK(requests[1].target == collection + "?a=b&dryRun=All&fieldManager=me%20%26%20you");
  CHECK(requests[1].header("content-type") == "application/json");
  CHECK(base::read_json(requests[1].body).value() == named("web"));
  CHECK(requests[2].method == "PUT");
  CHECK(requests[3].method == "PATCH");
  CHECK(requests[3].header("content-type") == "application/strategic-merge-patch+json");
  CHECK(requests[4].header("content-type") == "application/merge-patch+json");
  CHECK(requests[5].header("content-type") == "application/json-patch+json");
  CHECK(requests[5].body == "[]");
  CHECK(requests[6].method == "DELETE");
  CHECK(requests[6].body.find(R"("preconditions":{"uid":"u1"})") != std::string::npos);
  CHECK(requests[7].target == collection + "/web/eviction");
  CHECK(requests[7].body.find(R"("apiVersion":"policy/v1beta1")") != std::string::npos);
  CHECK(api.connections() == 1);
}

TEST_CASE("rest client: a request that could mean another object is never sent", "[kube]") {
  FakeApi api(always("{}"));
  const auto client = client_of(api.config());
  const std::stop_token stop;
  for (const Target& target : {Target{kPods, "default", "", {}}, Target{kPods, "", "web", {}},
                               Target{kPods, "..", "web", {}}, Target{kPods, "default", "..", {}},
                               Target{kPods, "default", ".", {}}}) {
    const auto answer = client->remove(target, {}, stop);
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code == ErrorCode::InvalidInput);
  }
  CHECK(api.requests().empty());
}

TEST_CASE("rest client: refusals carry the server's reason, code and message", "[kube]") {
  FakeApi api([](const Asked& request, Peer& peer) {
    const std::string name = request.target.substr(request.target.rfind('/') + 1);
    const std::size_t dash = name.find('-');
    peer.refuse(std::stoi(name.substr(0, dash)), name.substr(dash + 1));
  });
  const auto client = client_of(api.config());

  struct Case {
    const char* name;
    ErrorCode code;
  };

  for (const Case& expected :
       {Case{"400-BadRequest", ErrorCode::InvalidInput},
        Case{"401-Unauthorized", ErrorCode::Unauthorized},
        Case{"403-Forbidden", ErrorCode::Forbidden}, Case{"404-NotFound", ErrorCode::NotFound},
        Case{"409-AlreadyExists", ErrorCode::AlreadyExists},
        Case{"409-Conflict", ErrorCode::Conflict}, Case{"410-Expired", ErrorCode::Expired},
        Case{"410-Gone", ErrorCode::Expired},
        Case{"415-UnsupportedMediaType", ErrorCode::InvalidInput},
        Case{"422-Invalid", ErrorCode::InvalidInput},
        Case{"429-TooManyRequests", ErrorCode::TooManyRequests},
        Case{"500-InternalError", ErrorCode::Internal},
        Case{"500-ServerTimeout", ErrorCode::Unavailable},
        Case{"503-ServiceUnavailable", ErrorCode::Unavailable},
        Case{"504-Timeout", ErrorCode::Unavailable}}) {
    CAPTURE(expected.name);
    const auto answer = client->get({kPods, "default", expected.name, {}}, {});
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code == expected.code);
    const std::string name = expected.name;
    const std::string shown = name.substr(4) + " (" + name.substr(0, 3) + "): scripted refusal";
    CHECK(answer.error().message.find(shown) != std::string::npos);
    CHECK(answer.error().message.find("GET /api/v1/namespaces/default/pods/") == 0);
  }
}

TEST_CASE("rest client: a redirect is an error and its target is not asked", "[kube]") {
  FakeApi other(always("{}"));
  FakeApi api([&](const Asked& /*request*/, Peer& peer) {
    peer.respond(302, "", "Location: " + other.url() + "/api\r\n");
  });
  const auto answer = client_of(api.config())->get(kWeb, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::Internal);
  CHECK(other.requests().empty());
}

TEST_CASE("rest client: 429 and 5xx are tried again when the server says when", "[kube]") {
  for (const int code : {429, 500, 503}) {
    CAPTURE(code);
    std::atomic<int> count = 0;
    FakeApi api([&](const Asked& /*request*/, Peer& peer) {
      if (++count < 4) {
        peer.refuse(code, "Busy", "Retry-After: 0\r\n");
      } else {
        peer.respond(200, "{}");
      }
    });
    const auto client = client_of(api.config());
    CHECK(client->create_object({kPods, "default", {}, {}}, named("web"), {}, {}).has_value());
    CHECK(count == 4);
    CHECK(api.connections() == 1);
  }
}

TEST_CASE("rest client: retries end after ten", "[kube]") {
  FakeApi api([](const Asked& /*request*/, Peer& peer) {
    peer.refuse(429, "TooManyRequests", "Retry-After: 0\r\n");
  });
  const auto answer = client_of(api.config())->get(kWeb, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::TooManyRequests);
  CHECK(api.requests().size() == 11);
}

TEST_CASE("rest client: without Retry-After, or with one that is no number, nothing is retried",
          "[kube]") {
  for (const char* header :
       {"", "Retry-After: soon\r\n", "Retry-After: -1\r\n", "Retry-After: 1.5\r\n"}) {
    CAPTURE(header);
    FakeApi api([&](const Asked& /*request*/, Peer& peer) { peer.refuse(503, "Busy", header); });
    CHECK_FALSE(client_of(api.config())->get(kWeb, {}).has_value());
    CHECK(api.requests().size() == 1);
  }
}

TEST_CASE("rest client: a Retry-After beyond the deadline is not waited for", "[kube]") {
  FakeApi api([](const Asked& /*request*/, Peer& peer) {
    peer.refuse(429, "TooManyRequests", "Retry-After: 3600\r\n");
  });
  const auto answer = client_of(api.config())->get(kWeb, {});  // Would time out the test.
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::TooManyRequests);
}

TEST_CASE("rest client: a broken connection is tried again for GET only", "[kube]") {
  enum class Fault { Cut, Reset, HalfHead, HalfBody };
  for (const Fault fault : {Fault::Cut, Fault::Reset, Fault::HalfHead, Fault::HalfBody}) {
    CAPTURE(static_cast<int>(fault));
    std::atomic<int> count = 0;
    FakeApi api([&](const Asked& request, Peer& peer) {
      if (request.method == "GET" && ++count > 2) {
        peer.respond(200, R"({"good":true})");
        return;
      }
      if (fault == Fault::HalfHead) {
        peer.send("HTTP/1.1 200 O");
      }
      if (fault == Fault::HalfBody) {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
      }
      fault == Fault::Reset ? peer.reset() : peer.cut();
    });
    const auto client = client_of(api.config());
    CHECK(client->get(kWeb, {}).has_value());
    CHECK(count == 3);

    const std::size_t before = api.requests().size();
    const auto answer = client->update(kWeb, named("web"), {}, {});
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code == ErrorCode::Unavailable);
    CHECK(api.requests().size() == before + 1);
  }
}

TEST_CASE("rest client: an idle connection that the server closed is not used", "[kube]") {
  std::latch closed(1);
  FakeApi api([&](const Asked& request, Peer& peer) {
    peer.respond(200, "{}");
    if (request.connection == 1) {
      peer.close();
      closed.count_down();
    }
  });
  const auto client = client_of(api.config());
  REQUIRE(client->get(kWeb, {}));
  closed.wait();
  // A POST is never sent twice: it works only if the dead connection is noticed before.
  CHECK(client->create_object({kPods, "default", {}, {}}, named("web"), {}, {}).has_value());
  CHECK(api.connections() == 2);
}

TEST_CASE("rest client: answers in every framing are understood", "[kube]") {
  const std::string body = R"({"kind":"Pod","metadata":{"name":"web"}})";
  FakeApi api([&](const Asked& request, Peer& peer) {
    if (request.target.find("chunked") != std::string::npos) {
      peer.start_chunked();
      for (std::size_t at = 0, size = 1; at < body.size(); at += size, ++size) {
        peer.send_chunk(body.substr(at, size));
      }
      peer.send("0\r\nTrailer: x\r\n\r\n");
    } else if (request.target.find("drip") != std::string::npos) {
      const std::string all =
          "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
      for (const char byte : all) {
        peer.send(std::string_view(&byte, 1));
      }
    } else {
      peer.send("HTTP/1.0 200 OK\r\n\r\n" + body);
      peer.close();
    }
  });
  const auto client = client_of(api.config());
  for (const char* name : {"chunked", "drip", "close"}) {
    CAPTURE(name);
    const auto answer = client->get({kPods, "default", name, {}}, {});
    REQUIRE(answer.has_value());
    CHECK(base::write_json(answer.value()) == body);
  }
}

TEST_CASE("rest client: over TLS an end without goodbye does not complete an answer", "[kube]") {
  FakeApi api([&](const Asked& /*request*/, Peer& peer) {
    peer.send("HTTP/1.0 200 OK\r\n\r\n{}");  // Whole only by its end, which an attacker can fake.
    peer.cut();
  });
  const auto answer = client_of(api.config())->update(kWeb, named("web"), {}, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::Unavailable);
}

TEST_CASE("rest client: nonsense is Internal and does not stop the next call", "[kube]") {
  std::atomic<int> count = 0;
  FakeApi api([&](const Asked& /*request*/, Peer& peer) {
    switch (++count) {
      case 1:
        peer.respond(200, "{\"half\":");
        break;
      case 2:
        peer.respond(200, "");
        break;
      case 3:
        peer.send("HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'x') + "\r\n\r\n");
        peer.wait_gone();
        break;
      case 4:
        peer.send("nobody speaks HTTP here\r\n\r\n");
        peer.wait_gone();
        break;
      default:
        peer.respond(200, "{}");
    }
  });
  const auto client = client_of(api.config());
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    const auto answer = client->get(kWeb, {});
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code == ErrorCode::Internal);
  }
  CHECK(client->get(kWeb, {}).has_value());
}

TEST_CASE("rest client: an answer beyond the limit is given up", "[kube]") {
  FakeApi api([](const Asked& /*request*/, Peer& peer) {
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    while (peer.send(std::string(10000, ' '))) {
    }
  });
  RestOptions options = unlimited();
  options.max_response = 100000;
  const auto answer = client_of(api.config(), options)->get(kWeb, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::Internal);
}

TEST_CASE("rest client: a stop ends a call that waits for the server", "[kube]") {
  std::latch arrived(1);
  FakeApi api([&](const Asked& /*request*/, Peer& peer) {
    arrived.count_down();
    peer.wait_gone();
  });
  RestOptions options = unlimited();
  options.timeout = kLong;
  const auto client = client_of(api.config(), options);
  const auto answer = stopped_in_the_middle(
      arrived, [&](const std::stop_token& stop) { return client->get(kWeb, stop); });
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::Cancelled);
}

TEST_CASE("rest client: a stop ends the handshake, the rate limit and a Retry-After", "[kube]") {
  SECTION("handshake") {
    // A plain server never answers a TLS greeting; it waits for a request line.
    FakeApi api([](const Asked& /*request*/, Peer& /*peer*/) {}, FakeApi::Security::Plain);
    ClientConfig config = api.config();
    config.server.replace(0, 4, "https");
    const auto client = client_of(config);
    std::stop_source stop;
    auto outcome =
        std::async(std::launch::async, [&] { return client->get(kWeb, stop.get_token()); });
    while (api.connections() == 0) {
      std::this_thread::yield();
    }
    stop.request_stop();
    CHECK(outcome.get().error().code == ErrorCode::Cancelled);
  }
  SECTION("rate limit") {
    FakeApi api(always("{}"));
    RestOptions options = unlimited();
    options.qps = 0.0001;
    options.burst = 1;
    options.timeout = kLong;
    const auto client = client_of(api.config(), options);
    REQUIRE(client->get(kWeb, {}));
    std::latch arrived(0);
    const auto answer = stopped_in_the_middle(
        arrived, [&](const std::stop_token& stop) { return client->get(kWeb, stop); });
    CHECK(answer.error().code == ErrorCode::Cancelled);
    CHECK(api.requests().size() == 1);
  }
  SECTION("retry-after") {
    std::latch arrived(1);
    FakeApi api([&](const Asked& /*request*/, Peer& peer) {
      peer.refuse(429, "TooManyRequests", "Retry-After: 1000\r\n");
      arrived.count_down();
    });
    RestOptions options = unlimited();
    options.timeout = kLong;
    const auto client = client_of(api.config(), options);
    const auto answer = stopped_in_the_middle(
        arrived, [&](const std::stop_token& stop) { return client->get(kWeb, stop); });
    CHECK(answer.error().code == ErrorCode::Cancelled);
  }
}

TEST_CASE("rest client: a deadline ends a call that a dripping server keeps alive", "[kube]") {
  FakeApi api([](const Asked& /*request*/, Peer& peer) {
    peer.send("HTTP/1.1 200 OK\r\n\r\n");
    while (peer.send(" ")) {
      std::this_thread::yield();
    }
  });
  RestOptions options = unlimited();
  options.timeout = std::chrono::milliseconds(200);
  const auto answer = client_of(api.config(), options)->get(kWeb, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::Unavailable);
  CHECK(answer.error().message.find("timed out") != std::string::npos);
}

TEST_CASE("rest client: nobody at the address is Unavailable at once", "[kube]") {
  std::string url;
  {
    const FakeApi gone(always("{}"));
    url = gone.url();
  }
  ClientConfig config;
  config.server = url;
  config.tls.skip_verify = true;
  RestOptions options = unlimited();
  options.broken_retry = kLong;  // A refused connection must not be tried again.
  const auto answer = client_of(config, options)->get(kWeb, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::Unavailable);
}

TEST_CASE("rest client: many threads share it and its connections", "[kube]") {
  constexpr int kThreads = 32;
  constexpr int kCalls = 20;
  FakeApi api([](const Asked& request, Peer& peer) {
    peer.respond(200, R"({"target":")" + request.target + R"("})");
  });
  const auto client = client_of(api.config());
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kCalls; ++i) {
          const std::string name = "p" + std::to_string(t) + "-" + std::to_string(i);
          const auto answer = client->get({kPods, "default", name, {}}, {});
          right +=
              answer && base::text_of(base::find(answer.value(), "target")).ends_with("/" + name)
                  ? 1
                  : 0;
        }
      });
    }
  }
  CHECK(right == kThreads * kCalls);
  CHECK(api.connections() <= kThreads);
}

TEST_CASE("rest client: a list is read in pages and its items get their type", "[kube]") {
  FakeApi api([](const Asked& request, Peer& peer) {
    const bool second = request.target.find("continue=t%2F1") != std::string::npos;
    peer.respond(200, second ? R"({"metadata":{"resourceVersion":"7"},"items":[{"n":3}]})"
                             : R"({"metadata":{"resourceVersion":"7","continue":"t/1"},
                                   "items":[{"n":1},{"n":2,"kind":"Own"}]})");
  });
  const auto client = client_of(api.config());
  std::string seen;
  const auto done = client->for_each({kDeployments, {}, {}, {}}, {{"labelSelector", "a=b"}},
                                     [&](const Json& object) {
                                       seen += base::write_json(object);
                                       return true;
                                     },
                                     {});
  REQUIRE(done.has_value());
  CHECK(seen == R"({"n":1,"apiVersion":"apps/v1","kind":"Deployment"})"
                R"({"n":2,"kind":"Own","apiVersion":"apps/v1"})"
                R"({"n":3,"apiVersion":"apps/v1","kind":"Deployment"})");
  const auto requests = api.requests();
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].target == "/apis/apps/v1/deployments?labelSelector=a%3Db&limit=500");
}

TEST_CASE("rest client: certificates are checked by authority, address and name", "[kube]") {
  FakeApi api(always("{}"));
  const ClientConfig good = api.config();
  CHECK(client_of(good)->get(kWeb, {}).has_value());

  ClientConfig named_right = good;
  named_right.tls.server_name = "localhost";
  CHECK(client_of(named_right)->get(kWeb, {}).has_value());

  ClientConfig named_wrong = good;
  named_wrong.tls.server_name = "elsewhere.example";
  const auto refused = client_of(named_wrong)->get(kWeb, {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("not good for \"elsewhere.example\"") != std::string::npos);

  ClientConfig stranger = good;
  stranger.tls.authority.file.clear();  // The system's roots do not know us.
  CHECK_FALSE(client_of(stranger)->get(kWeb, {}).has_value());

  stranger.tls.skip_verify = true;
  CHECK(client_of(stranger)->get(kWeb, {}).has_value());
}

TEST_CASE("rest client: a client certificate is shown, and a rotated one takes its place",
          "[kube]") {
  FakeApi api(always("{}"), FakeApi::Security::ClientCertificate);
  const tests::TempDir dir;
  const auto text_of = [](const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const auto install = [&](const tls::ClientSettings& tls) {
    static_cast<void>(dir.write("tls.crt", text_of(tls.certificate.file)));
    static_cast<void>(dir.write("tls.key", text_of(tls.key.file)));
  };
  ClientConfig config = api.config();
  config.tls.certificate.file = dir.file("tls.crt");
  config.tls.key.file = dir.file("tls.key");
  install(tests::TestCertificates::client("first"));
  const auto client = client_of(config);
  REQUIRE(client->get(kWeb, {}));
  static_cast<void>(
      dir.write("tls.key", "half a k"));  // A rotation in the middle: the old one serves.
  REQUIRE(client->get(kWeb, {}));
  install(tests::TestCertificates::client("second"));
  REQUIRE(client->get(kWeb, {}));
  const auto requests = api.requests();
  CHECK(requests[0].client == "first");
  CHECK(requests[1].client == "first");
  CHECK(requests[2].client == "second");
}

TEST_CASE("rest client: credentials are sent over TLS and never without", "[kube]") {
  for (const bool tls : {true, false}) {
    FakeApi api(always("{}"), tls ? FakeApi::Security::Tls : FakeApi::Security::Plain);
    ClientConfig config = api.config();
    config.auth.token = "secret";
    REQUIRE(client_of(config)->get(kWeb, {}));
    CHECK(api.requests()[0].header("authorization") == (tls ? "Bearer secret" : ""));
  }
}

TEST_CASE("rest client: credentials for a plain HTTP server elsewhere are an error", "[kube]") {
  const auto refusal = [](const AuthSettings& auth) {
    ClientConfig config;
    config.server = "http://192.0.2.1:8080";
    config.auth = auth;
    const auto client = RestClient::create(config, {});
    return client ? std::string() : client.error().message;
  };
  AuthSettings token;
  token.token = "secret";
  AuthSettings file;
  file.token_file = "/var/run/token";
  AuthSettings password;
  password.username = "me";
  for (const AuthSettings& auth : {token, file, password}) {
    CHECK(refusal(auth).find("http://192.0.2.1:8080: credentials are not sent") == 0);
    CHECK(refusal(auth).find("https://") != std::string::npos);
    CHECK(refusal(auth).find("secret") == std::string::npos);
  }
  CHECK(refusal({}).empty());
}

TEST_CASE("rest client: a token with a line break cannot add headers", "[kube]") {
  FakeApi api(always("{}"));
  ClientConfig config = api.config();
  config.auth.token = "a\r\nX-Admin: yes";
  const auto answer = client_of(config)->get(kWeb, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::InvalidInput);
  CHECK(api.requests().empty());
}

TEST_CASE("rest client: after a 401 the token file is read again, once", "[kube]") {
  const tests::TempDir dir;
  ClientConfig config;
  config.auth.token_file = dir.write("token", "old\n");
  FakeApi api([](const Asked& request, Peer& peer) {
    request.header("authorization") == "Bearer new" ? peer.respond(200, "{}")
                                                    : peer.refuse(401, "Unauthorized");
  });
  config.server = api.url();
  config.tls = api.config().tls;
  const auto client = client_of(config);
  const auto refused = client->get(kWeb, {});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::Unauthorized);
  CHECK(api.requests().size() == 1);  // The file has nothing new: no second try.
  static_cast<void>(dir.write("token", "new\n"));
  CHECK(client->create_object({kPods, "default", {}, {}}, named("web"), {}, {}).has_value());
}

TEST_CASE("rest client: an exec plugin's certificate opens a new connection", "[kube]") {
  const tests::TempDir dir;
  FakeApi api(always("{}"), FakeApi::Security::ClientCertificate);
  const tls::ClientSettings tls = tests::TestCertificates::client("from-plugin");
  const std::string script = dir.write(
      "plugin",
      "#!/bin/sh\n"
      "esc() { awk '{printf \"%s\\\\n\", $0}' \"$1\"; }\n"
      "printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
      "\"status\":{\"clientCertificateData\":\"%s\",\"clientKeyData\":\"%s\"}}' \"$(esc " +
          tls.certificate.file + ")\" \"$(esc " + tls.key.file + ")\"\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  ClientConfig config = api.config();
  config.auth.exec = ExecSettings{
      "client.authentication.k8s.io/v1", script, {}, {}, {}, InteractiveMode::Never, {}};
  const auto client = client_of(config);
  const auto answer = client->get(kWeb, {});
  INFO((answer ? "" : answer.error().message));
  REQUIRE(answer.has_value());
  REQUIRE(client->get(kWeb, {}));
  CHECK(api.requests()[0].client == "from-plugin");
  CHECK(api.connections() == 1);
}

TEST_CASE("rest client: the rate limit lets a burst pass and then holds back", "[kube]") {
  FakeApi api(always("{}"));
  RestOptions options = unlimited();
  options.qps = 0.0001;
  options.burst = 3;
  options.timeout = std::chrono::seconds(2);
  const auto client = client_of(api.config(), options);
  for (int i = 0; i < 3; ++i) {
    CHECK(client->get(kWeb, {}).has_value());
  }
  const auto answer = client->get(kWeb, {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().message.find("rate limit") != std::string::npos);
  CHECK(api.requests().size() == 3);
}

TEST_CASE("rest client: requests are counted by code and method", "[kube]") {
  prometheus::Registry registry;
  {
    FakeApi api([](const Asked& request, Peer& peer) {
      request.method == "GET" ? peer.respond(200, "{}") : peer.refuse(409, "Conflict");
    });
    RestOptions options = unlimited();
    options.metrics = &registry;
    const auto client = client_of(api.config(), options);
    REQUIRE(client->get(kWeb, {}));
    REQUIRE(client->get(kWeb, {}));
    REQUIRE_FALSE(client->update(kWeb, named("web"), {}, {}));
  }
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  CHECK(text.find(R"(rest_client_requests_total{code="200",method="GET"} 2)") != std::string::npos);
  CHECK(text.find(R"(rest_client_requests_total{code="409",method="PUT"} 1)") != std::string::npos);
}

TEST_CASE("rest client: settings that cannot work fail when it is made", "[kube]") {
  ClientConfig bad_server;
  bad_server.server = "ftp://x";
  CHECK_FALSE(RestClient::create(bad_server, {}).has_value());
  ClientConfig bad_authority;
  bad_authority.server = "https://127.0.0.1:1";
  bad_authority.tls.authority.data = "not PEM";
  CHECK_FALSE(RestClient::create(bad_authority, {}).has_value());
  bad_authority.tls.authority = {{}, "/does/not/exist"};
  const auto missing = RestClient::create(bad_authority, {});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message.find("/does/not/exist") != std::string::npos);
}

}  // namespace injector::kube
