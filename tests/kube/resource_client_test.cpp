#include "kube/resource_client.h"

#include <future>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "kube/discovery.h"
#include "kube/event_sink.h"
#include "kube/lease_client.h"
#include "kube/time_text.h"
#include "tests/support/fake_api.h"

namespace injector::kube {
namespace {

using base::ErrorCode;
using runtime::WatchEventType;
using tests::FakeApi;
using Asked = FakeApi::Request;
using Peer = FakeApi::Peer;

std::unique_ptr<RestClient> client_of(const FakeApi& api) {
  RestOptions options;
  options.qps = 0;
  options.broken_retry = base::Duration(1);
  auto client = RestClient::create(api.config(), options);
  REQUIRE(client.has_value());
  return std::move(client).value();
}

std::string event(const std::string& type, int version) {
  return R"({"type":")" + type + R"(","object":{"metadata":{"resourceVersion":")" +
         std::to_string(version) + "\"}}}\n";
}

/// What a watch of Pods delivers until it ends: the types, and how it ended.
struct Watched {
  std::vector<WatchEventType> types;
  base::Result<void> end;
};

Watched watch_all(const FakeApi::Handler& handler) {
  FakeApi api(handler);
  const auto client = client_of(api);
  ResourceClient pods(*client, kPods, {});
  auto stream = pods.watch({}, {});
  REQUIRE(stream.has_value());
  Watched watched;
  for (;;) {
    auto next = stream.value()->next({});
    if (!next) {
      watched.end = next.error();
      return watched;
    }
    if (!next.value()) {
      return watched;
    }
    watched.types.push_back(next.value()->type);
  }
}

}  // namespace

TEST_CASE("resource client: lists and watches ask for what was selected", "[kube]") {
  FakeApi api([](const Asked& request, Peer& peer) {
    if (request.target.find("watch=") != std::string::npos) {
      peer.start_chunked();
      peer.send("0\r\n\r\n");
    } else {
      peer.respond(200, R"({"metadata":{"resourceVersion":"9","continue":"more"},"items":null})");
    }
  });
  const auto client = client_of(api);
  ResourceClient pods(*client, kPods,
                      {.name_space = "ns",
                       .label_selector = "a in (b,c)",
                       .field_selector = "x=y",
                       .query = {{"includeUninitialized", "true"}}});
  const auto page = pods.list({.resource_version = "0", .limit = 500, .continue_token = {}}, {});
  REQUIRE(page.has_value());
  CHECK(page.value().resource_version == "9");
  CHECK(page.value().continue_token == "more");
  REQUIRE(pods.list({.resource_version = "0", .limit = 500, .continue_token = "more"}, {}));
  const auto stream =
      pods.watch({.resource_version = "9", .timeout = std::chrono::seconds(300)}, {});
  REQUIRE(stream.has_value());
  const auto end = stream.value()->next({});
  REQUIRE(end.has_value());
  CHECK_FALSE(end.value().has_value());

  const std::string base =
      "/api/v1/namespaces/ns/pods?includeUninitialized=true&labelSelector=a%20in%20%28b%2Cc%29"
      "&fieldSelector=x%3Dy";
  const auto requests = api.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].target == base + "&limit=500&resourceVersion=0");
  CHECK(requests[1].target == base + "&limit=500&continue=more");
  CHECK(requests[2].target ==
        base + "&watch=true&resourceVersion=9&allowWatchBookmarks=true&timeoutSeconds=300");
}

TEST_CASE("resource client: events come out one by one however they are cut", "[kube]") {
  const std::string all = event("ADDED", 1) + "\n" + event("MODIFIED", 2) + event("DELETED", 3) +
                          event("BOOKMARK", 4) +
                          R"({"type":"ERROR","object":{"kind":"Status","code":410}})" + "\r\n";
  const std::vector<WatchEventType> expected{WatchEventType::Added, WatchEventType::Modified,
                                             WatchEventType::Deleted, WatchEventType::Bookmark,
                                             WatchEventType::Error};
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, all.size()}) {
    CAPTURE(piece);
    const Watched watched = watch_all([&](const Asked& /*request*/, Peer& peer) {
      peer.start_chunked();
      for (std::size_t at = 0; at < all.size(); at += piece) {
        peer.send_chunk(all.substr(at, piece));
      }
      peer.send("0\r\n\r\n");
    });
    CHECK(watched.types == expected);
    CHECK(watched.end.has_value());
  }
}

TEST_CASE("resource client: an event arrives while the stream stays open", "[kube]") {
  std::latch seen(1);
  FakeApi api([&](const Asked& /*request*/, Peer& peer) {
    peer.start_chunked();
    peer.send_chunk(event("ADDED", 1));
    seen.wait();  // Nothing more is sent before the client has the first.
    peer.send_chunk(event("ADDED", 2));
    peer.send("0\r\n\r\n");
  });
  const auto client = client_of(api);
  ResourceClient pods(*client, kPods, {});
  auto stream = pods.watch({}, {});
  REQUIRE(stream.has_value());
  const auto first = stream.value()->next({});
  seen.count_down();
  REQUIRE(first.has_value());
  CHECK(base::text_of(base::find(first.value()->object, "metadata", "resourceVersion")) == "1");
  CHECK(stream.value()->next({}).value().has_value());
  CHECK_FALSE(stream.value()->next({}).value().has_value());
}

TEST_CASE("resource client: a stream that breaks is told from one that ends", "[kube]") {
  const std::string half = event("ADDED", 2).substr(0, 20);

  struct Case {
    const char* name;
    FakeApi::Handler end;
    ErrorCode code;
  };

  const std::vector<Case> cases{
      {"half a line, then a proper end",
       [&](const Asked&, Peer& peer) {
         peer.send_chunk(half);
         peer.send("0\r\n\r\n");
       },
       ErrorCode::Unavailable},
      {"a frame cut in the middle",
       [&](const Asked&, Peer& peer) {
         peer.send("40\r\n" + half);
         peer.cut();
       },
       ErrorCode::Unavailable},
      {"closed between frames", [](const Asked&, Peer& peer) { peer.close(); },
       ErrorCode::Unavailable},
      {"not JSON",
       [](const Asked&, Peer& peer) {
         peer.send_chunk("{\"type\":\n");
         peer.wait_gone();
       },
       ErrorCode::Internal},
      {"no event",
       [](const Asked&, Peer& peer) {
         peer.send_chunk("{\"type\":\"RENAMED\",\"object\":{}}\n");
         peer.wait_gone();
       },
       ErrorCode::Internal},
      {"no object",
       [](const Asked&, Peer& peer) {
         peer.send_chunk("{\"type\":\"ADDED\"}\n");
         peer.wait_gone();
       },
       ErrorCode::Internal},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.name);
    const Watched watched = watch_all([&](const Asked& request, Peer& peer) {
      peer.start_chunked();
      peer.send_chunk(event("ADDED", 1));
      expected.end(request, peer);
    });
    REQUIRE_FALSE(watched.end.has_value());
    CHECK(watched.end.error().code == expected.code);
    CHECK(watched.types == std::vector{WatchEventType::Added});
  }
}

TEST_CASE("resource client: a reset breaks an open watch", "[kube]") {
  std::latch seen(1);
  FakeApi api([&](const Asked& /*request*/, Peer& peer) {
    peer.start_chunked();
    peer.send_chunk(event("ADDED", 1));
    seen.wait();  // A reset may overtake what was sent before it.
    peer.reset();
  });
  const auto client = client_of(api);
  ResourceClient pods(*client, kPods, {});
  auto stream = pods.watch({}, {});
  REQUIRE(stream.has_value());
  const auto first = stream.value()->next({});
  seen.count_down();
  REQUIRE(first.has_value());
  const auto second = stream.value()->next({});
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == ErrorCode::Unavailable);
  CHECK(api.requests().size() == 1);
}

TEST_CASE("resource client: HTTP 1.0 ends a watch by closing", "[kube]") {
  const Watched watched = watch_all([](const Asked& /*request*/, Peer& peer) {
    peer.send("HTTP/1.0 200 OK\r\n\r\n" + event("ADDED", 1) + event("MODIFIED", 2));
    peer.close();
  });
  CHECK(watched.types == std::vector{WatchEventType::Added, WatchEventType::Modified});
  CHECK(watched.end.has_value());
}

TEST_CASE("resource client: a refused watch is an error of its code", "[kube]") {
  FakeApi api([](const Asked& /*request*/, Peer& peer) { peer.refuse(410, "Expired"); });
  const auto client = client_of(api);
  ResourceClient pods(*client, kPods, {});
  const auto stream = pods.watch({}, {});
  REQUIRE_FALSE(stream.has_value());
  CHECK(stream.error().code == ErrorCode::Expired);
}

TEST_CASE("resource client: a stop ends a silent watch, also one that never pauses", "[kube]") {
  for (const bool silent : {true, false}) {
    CAPTURE(silent);
    FakeApi api([&](const Asked& /*request*/, Peer& peer) {
      peer.start_chunked();
      peer.send_chunk(event("ADDED", 1));
      while (!silent && peer.send_chunk("\n")) {
      }
      peer.wait_gone();
    });
    const auto client = client_of(api);
    ResourceClient pods(*client, kPods, {});
    auto stream = pods.watch({}, {});
    REQUIRE(stream.has_value());
    REQUIRE(stream.value()->next({}).has_value());
    std::stop_source stop;
    std::promise<void> waiting;
    auto outcome = std::async(std::launch::async, [&] {
      waiting.set_value();
      return stream.value()->next(stop.get_token());
    });
    waiting.get_future().wait();
    stop.request_stop();
    REQUIRE(outcome.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
    const auto answer = outcome.get();
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().code == ErrorCode::Cancelled);
  }
}

TEST_CASE("discovery: what the server serves is told from what it does not", "[kube]") {
  FakeApi api([](const Asked& request, Peer& peer) {
    if (request.target == "/apis/batch/v1") {
      peer.respond(200, R"({"resources":[{"name":"jobs"},{"name":"jobs/status"}]})");
    } else if (request.target == "/apis/batch/v1beta1") {
      peer.respond(200, R"({"resources":[{"name":"cronjobs"}]})");
    } else if (request.target == "/api/v1") {
      peer.respond(200, R"({"resources":[{"name":"pods"},{"name":"pods/eviction",
                            "group":"policy","version":"v1beta1","kind":"Eviction"}]})");
    } else if (request.target == "/apis/apps/v1") {
      peer.refuse(403, "Forbidden");
    } else {
      peer.refuse(404, "NotFound");
    }
  });
  const auto client = client_of(api);
  CHECK(serves(*client, kPods, {}).value());
  CHECK(serves(*client, kJobs, {}).value());
  CHECK_FALSE(serves(*client, kCronJobs, {}).value());
  CHECK_FALSE(serves(*client, kInitializerConfigurations, {}).value());
  CHECK(serves(*client, kDeployments, {}).error().code == ErrorCode::Forbidden);
  CHECK(served_cron_jobs(*client, {}).value().version == "v1beta1");
  CHECK(eviction_version(*client, {}).value() == "v1beta1");
}

TEST_CASE("discovery: servers before 1.13 do not know what a dry run is", "[kube]") {
  const std::vector<std::pair<std::string, bool>> versions{
      {R"("1","minor":"9")", false},  {R"("1","minor":"12")", false}, {R"("1","minor":"13")", true},
      {R"("1","minor":"20+")", true}, {R"("2","minor":"0")", true},   {R"("","minor":"")", false}};
  for (const auto& [version, known] : versions) {
    FakeApi api([&body = version](const Asked& /*request*/, Peer& peer) {
      peer.respond(200, R"({"major":)" + body + "}");
    });
    INFO(version);
    CHECK(serves_dry_run(*client_of(api), {}).value() == known);
  }
}

TEST_CASE("lease client: a lease is written with microseconds and under its version", "[kube]") {
  FakeApi api([](const Asked& request, Peer& peer) {
    if (request.method == "GET") {
      peer.respond(200, R"({"metadata":{"resourceVersion":"5"},"spec":{"holderIdentity":"me",
          "leaseDurationSeconds":15,"acquireTime":"2026-01-02T03:04:05.000001Z",
          "renewTime":null,"leaseTransitions":2}})");
    } else {
      auto body = base::read_json(request.body).value();
      body["metadata"]["resourceVersion"] = "6";
      peer.respond(200, base::write_json(body));
    }
  });
  const auto client = client_of(api);
  RestLeaseClient lease(*client, "ns", "leader");
  const base::Duration timeout = std::chrono::seconds(30);
  auto read = lease.get(timeout, {});
  REQUIRE(read.has_value());
  CHECK(read.value().resource_version == "5");
  CHECK(read.value().record.holder == "me");
  CHECK(read.value().record.duration == std::chrono::seconds(15));
  CHECK(micro_time_text(read.value().record.acquired) == "2026-01-02T03:04:05.000001Z");
  CHECK(read.value().record.transitions == 2);
  read.value().record.renewed = parse_time("2026-01-02T03:04:06.5Z").value();
  const auto updated = lease.update(read.value(), timeout, {});
  REQUIRE(updated.has_value());
  CHECK(updated.value().resource_version == "6");
  CHECK(updated.value().record == read.value().record);
  REQUIRE(lease.create(read.value().record, timeout, {}));

  const auto requests = api.requests();
  const std::string collection = "/apis/coordination.k8s.io/v1/namespaces/ns/leases";
  CHECK(requests[1].target == collection + "/leader");
  CHECK(requests[1].method == "PATCH");
  CHECK(requests[1].header("content-type") == "application/merge-patch+json");
  CHECK(requests[1].body.find(R"("resourceVersion":"5")") != std::string::npos);
  CHECK(requests[1].body.find(R"("renewTime":"2026-01-02T03:04:06.500000Z")") != std::string::npos);
  CHECK(requests[2].method == "POST");
  CHECK(requests[2].target == collection);
}

TEST_CASE("lease client: a call ends at its timeout", "[kube]") {
  FakeApi api([](const Asked& /*request*/, Peer& peer) { peer.wait_gone(); });
  const auto client = client_of(api);
  RestLeaseClient lease(*client, "ns", "leader");
  const auto answer = lease.get(std::chrono::milliseconds(100), {});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == ErrorCode::Unavailable);
}

TEST_CASE("event sink: an event is created whole and then counted up", "[kube]") {
  FakeApi api([](const Asked& request, Peer& peer) {
    request.method == "POST" ? peer.respond(201, "{}") : peer.refuse(404, "NotFound");
  });
  const auto client = client_of(api);
  RestEventSink sink(*client);
  runtime::EventRecord event;
  event.name_space = "ns";
  event.name = "web.17a";
  event.involved.kind = "Pod";
  event.involved.name = "web";
  event.type = "Normal";
  event.reason = "Injected";
  event.message = "done";
  event.component = "envoy-initializer";
  event.first = parse_time("2026-01-02T03:04:05Z").value();
  event.last = event.first + std::chrono::seconds(1);
  REQUIRE(sink.create(event, {}));
  event.count = 2;
  CHECK(sink.patch(event, {}).error().code == ErrorCode::NotFound);

  const auto requests = api.requests();
  CHECK(requests[0].target == "/api/v1/namespaces/ns/events");
  CHECK(
      requests[0].body ==
      R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"web.17a","namespace":"ns"},)"
      R"("involvedObject":{"kind":"Pod","name":"web"},"reason":"Injected","message":"done",)"
      R"("type":"Normal","source":{"component":"envoy-initializer"},)"
      R"("firstTimestamp":"2026-01-02T03:04:05Z","lastTimestamp":"2026-01-02T03:04:06Z","count":1})");
  CHECK(requests[1].target == "/api/v1/namespaces/ns/events/web.17a");
  CHECK(requests[1].header("content-type") == "application/strategic-merge-patch+json");
  CHECK(requests[1].body ==
        R"({"count":2,"message":"done","lastTimestamp":"2026-01-02T03:04:06Z"})");
}

}  // namespace injector::kube
