// The endpoints over a socket: what a browser gets, and what others do not.

#include "dashboard/routes.h"

#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "http/server.h"
#include "template/parser.h"
#include "tests/support/tls_client.h"

#include "dashboard/assets.h"
#include "dashboard/live_feed.h"
#include "dashboard/query.h"

namespace injector::tests {
namespace {

using base::Json;

dashboard::PageSources sources_of(const dashboard::LiveFeed& feed) {
  dashboard::PageSources sources;
  sources.version = "1.2.3";
  sources.context = [] {
    return cli::DecisionContext{core::TemplateSet::view_of(templates::default_template()), {}, {}};
  };
  sources.templates = [] { return Json::array(); };
  sources.events = feed.broadcast();
  return sources;
}

// A cluster with nothing in it that says what it was asked.
dashboard::ClusterPages cluster_of(dashboard::RowQuery& asked) {
  dashboard::ClusterPages cluster;
  cluster.overview = [] { return Json::object(); };
  cluster.workloads = [&asked](const dashboard::RowQuery& query) {
    asked = query;
    return Json::object();
  };
  cluster.workload = [](const std::string& name_space, const std::string& kind,
                        const std::string& name) -> base::Result<Json> {
    if (name == "gone") {
      return base::Error{base::ErrorCode::NotFound, "no such Pod"};
    }
    return Json({{"namespace", name_space}, {"kind", kind}, {"name", name}});
  };
  return cluster;
}

class Page {
 public:
  explicit Page(dashboard::AccessOptions options = {}, bool with_cluster = false) {
    dashboard::PageSources sources = sources_of(feed);
    if (with_cluster) {
      sources.cluster = cluster_of(asked);
    }
    server_ = std::make_unique<http::Server>(
        http::ServerOptions{.name = "test", .listen = "127.0.0.1:0", .threads = 1},
        dashboard::page_routes(std::make_shared<dashboard::Access>(std::move(options)),
                               std::move(sources)),
        nullptr, base::Logger::silent());
    REQUIRE(server_->start());
  }

  [[nodiscard]] TlsClient connect() const { return TlsClient(server_->port(), {.tls = false}); }

  [[nodiscard]] HttpAnswer ask(const std::string& line, const std::string& headers = "",
                               const std::string& body = "") const {
    const std::string host =
        headers.find("Host:") == std::string::npos ? "Host: 127.0.0.1\r\n" : "";
    TlsClient client = connect();
    auto answer = client.ask(line + " HTTP/1.1\r\n" + host + headers + "\r\n" + body);
    REQUIRE(answer);
    return *answer;
  }

  [[nodiscard]] HttpAnswer decide(const std::string& body) const {
    return ask(
        "POST /api/v1/decide",
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n",
        body);
  }

  dashboard::LiveFeed feed;
  dashboard::RowQuery asked;

 private:
  std::unique_ptr<http::Server> server_;
};

TEST_CASE("page: every file is served with a strict policy, and is small together", "[dashboard]") {
  const Page page;
  std::size_t bytes = 0;
  for (const dashboard::Asset& asset : dashboard::assets()) {
    INFO(asset.path);
    const HttpAnswer answer = page.ask("GET " + std::string(asset.path));
    REQUIRE(answer.status == 200);
    REQUIRE(answer.body == asset.body);
    REQUIRE_FALSE(answer.header("content-type").empty());
    REQUIRE(answer.header("content-security-policy").starts_with("default-src 'none'"));
    bytes += asset.body.size();
  }
  REQUIRE(page.ask("GET /").body.find("<!doctype html>") == 0);
  REQUIRE(bytes < std::size_t{150} << 10U);
}

TEST_CASE("page: no file holds inline script, inline style, markup from text or another host",
          "[dashboard]") {
  for (const dashboard::Asset& asset : dashboard::assets()) {
    INFO(asset.path);
    for (const char* bad : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write",
                            "eval(", "new Function", " style=", " onclick=", "https://"}) {
      INFO(bad);
      REQUIRE(asset.body.find(bad) == std::string_view::npos);
    }
  }
}

TEST_CASE("page: says what it can show", "[dashboard]") {
  const Page page;
  const auto about = base::read_json(page.ask("GET /api/v1/about").body);
  REQUIRE(about);
  REQUIRE(about.value().at("version") == "1.2.3");
  REQUIRE(about.value().at("views") == Json::array({"playground", "live"}));
  REQUIRE(page.ask("GET /api/v1/overview").status == 404);
  const Page with_cluster({}, true);
  REQUIRE(with_cluster.ask("GET /api/v1/overview").status == 200);
}

TEST_CASE("page: decides what it is sent", "[dashboard]") {
  const Page page;
  const HttpAnswer answer = page.decide(
      R"({"manifest":"kind: Pod\nmetadata:\n  name: a\n  labels: {initializer.kubernetes.io/envoy: enabled}\nspec: {containers: [{name: b, image: c}]}\n"})");
  REQUIRE(answer.status == 200);
  const auto json = base::read_json(answer.body);
  REQUIRE(json.value().at("objects").at(0).at("decision") == "inject");
  REQUIRE(page.decide("{").status == 400);
  REQUIRE(page.decide("[]").status == 400);
  REQUIRE(page.ask("GET /api/v1/decide").status == 405);
}

TEST_CASE("page: no method but GET and POST does anything", "[dashboard]") {
  const Page page({}, true);
  for (const char* method : {"PUT", "DELETE", "PATCH", "OPTIONS"}) {
    for (const char* path : {"/", "/api/v1/workloads", "/api/v1/decide", "/api/v1/events"}) {
      REQUIRE(page.ask(std::string(method) + " " + path).status == 405);
    }
  }
}

TEST_CASE("page: foreign hosts and sites are refused on every endpoint", "[dashboard]") {
  const Page page({}, true);
  for (const char* path : {"/api/v1/about", "/api/v1/templates", "/api/v1/events",
                           "/api/v1/overview", "/api/v1/workloads", "/api/v1/workloads/a/pod/b"}) {
    INFO(path);
    const std::string line = std::string("GET ") + path;
    REQUIRE(page.ask(line, "Host: evil.example\r\n").status == 403);
    REQUIRE(page.ask(line, "Origin: http://evil.example\r\n").status == 403);
    REQUIRE(page.ask(line, "Sec-Fetch-Site: cross-site\r\n").status == 403);
  }
  REQUIRE(page.ask("GET /", "Host: evil.example\r\n").status == 403);
}

TEST_CASE("page: with a token every endpoint wants it, the files do not", "[dashboard]") {
  const Page page({{}, "secret"}, true);
  REQUIRE(page.ask("GET /").status == 200);
  for (const char* path : {"/api/v1/about", "/api/v1/events", "/api/v1/workloads"}) {
    REQUIRE(page.ask(std::string("GET ") + path).status == 401);
  }
  REQUIRE(page.ask("GET /api/v1/about", "Authorization: Bearer secret\r\n").status == 200);
}

TEST_CASE("page: rows and objects are found by their address", "[dashboard]") {
  Page page({}, true);
  REQUIRE(
      page.ask("GET /api/v1/workloads?search=a%26b+c&state=missing&namespace=shop&page=3").status ==
      200);
  REQUIRE(page.asked.search == "a&b c");
  REQUIRE(page.asked.state == "missing");
  REQUIRE(page.asked.name_space == "shop");
  REQUIRE(page.asked.page == 3);
  REQUIRE(page.ask("GET /api/v1/workloads?page=-1&pageSize=999999").status == 200);
  REQUIRE(page.asked.page == 0);
  REQUIRE(page.asked.page_size == 500);
  const auto found = base::read_json(page.ask("GET /api/v1/workloads/shop/pod/web%2D0").body);
  REQUIRE(found.value().at("name") == "web-0");
  REQUIRE(page.ask("GET /api/v1/workloads/shop/pod/gone").status == 404);
  REQUIRE(page.ask("GET /api/v1/workloads/shop").status == 404);
}

TEST_CASE("page: decisions come as server-sent events, bounded and on one line", "[dashboard]") {
  Page page;
  TlsClient client = page.connect();
  REQUIRE(client.send("GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
  const auto head = client.receive();
  REQUIRE(head->header("content-type") == "text/event-stream");
  REQUIRE(head->header("content-security-policy").starts_with("default-src 'none'"));
  core::Decision decision;
  decision.detail = "a\nb";
  page.feed.add_decision({"shop", std::string(100'000, 'x'), "ReplicaSet/web"}, decision,
                         dashboard::WallTime(std::chrono::milliseconds(5)));
  const auto text = client.receive_until("\n\n");
  REQUIRE(text);
  REQUIRE(text->size() < 1000);
  const auto event = base::read_json(std::string_view(*text).substr(6));
  REQUIRE(event.value().at("time") == 5);
  REQUIRE(event.value().at("reason") == "NotRequested");
  REQUIRE(event.value().at("detail") == "a\nb");
}

TEST_CASE("query: escapes are read, and what is none stays", "[dashboard]") {
  REQUIRE(dashboard::percent_decoded("a%2Fb+%zz%4") == "a/b %zz%4");
  REQUIRE(dashboard::parse_query("a=1&b&=c&a=2").at("a") == "2");
  REQUIRE(dashboard::path_behind("/pods/a/b%2Fc", "/pods") == std::vector<std::string>{"a", "b/c"});
  REQUIRE(dashboard::path_behind("/pods", "/pods").empty());
}

}  // namespace
}  // namespace injector::tests
