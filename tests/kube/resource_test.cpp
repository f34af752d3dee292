#include "kube/resource.h"

#include <string>

#include <catch2/catch.hpp>

#include "kube/status.h"

namespace injector::kube {

TEST_CASE("resource: paths follow group, scope and subresource", "[kube]") {
  CHECK(path_of({kPods, "ns", "web", "log"}).value() == "/api/v1/namespaces/ns/pods/web/log");
  CHECK(path_of({kPods, {}, {}, {}}).value() == "/api/v1/pods");
  CHECK(path_of({kDeployments, "ns", {}, {}}).value() == "/apis/apps/v1/namespaces/ns/deployments");
  CHECK(path_of({kNamespaces, "ignored", "ns", {}}).value() == "/api/v1/namespaces/ns");
  CHECK(describe(Target{kPods, "ns", "web", {}}) == "pods ns/web");
  CHECK(describe(Target{kNamespaces, {}, "web", {}}) == "namespaces web");
}

TEST_CASE("resource: a name cannot leave its segment", "[kube]") {
  CHECK(path_of({kPods, "ns", "../secrets?x#y", {}}).value() ==
        "/api/v1/namespaces/ns/pods/..%2Fsecrets%3Fx%23y");
  CHECK(path_of({kPods, "ns", "a\r\nb \xc3\xa4", {}}).value() ==
        "/api/v1/namespaces/ns/pods/a%0D%0Ab%20%C3%A4");
  CHECK_FALSE(path_of({kPods, "..", {}, {}}).has_value());
  CHECK_FALSE(path_of({kPods, "ns", "web", "proxy/../../x"}).has_value());
  CHECK(query_string({{"a b", "c&d=e"}, {"f", ""}}) == "?a%20b=c%26d%3De&f=");
  CHECK(query_string({}).empty());
}

TEST_CASE("status: causes, retry time and reason are read", "[kube]") {
  const StatusError status =
      parse_status(422, R"({"kind":"Status","reason":"Invalid","message":"bad","code":1,"details":{
        "retryAfterSeconds":7,"causes":[{"reason":"FieldValueInvalid","message":"m","field":"f"}]}})");
  CHECK(status.code == 422);
  CHECK(status.reason == "Invalid");
  REQUIRE(status.causes.size() == 1);
  CHECK(status.causes[0].type == "FieldValueInvalid");
  CHECK(status.causes[0].field == "f");
  CHECK(status.retry_after == std::chrono::seconds(7));
  CHECK(to_error(status).message == "Invalid (422): bad");
}

TEST_CASE("status: a proxy's page is cut to one short line", "[kube]") {
  const StatusError status = parse_status(502, "<html>\n\tbad gateway\n" + std::string(9000, 'x'));
  CHECK(status.reason.empty());
  CHECK(status.message.size() == 2048);
  CHECK(status.message.find('\n') == std::string::npos);
  CHECK(to_error(status).code == base::ErrorCode::Unavailable);
  CHECK(to_error(parse_status(500, "")).message == "HTTP 500: no explanation");
}

TEST_CASE("status: a version from the future is cured like an expired one", "[kube]") {
  const char* text =
      R"({"kind":"Status","reason":"Timeout","message":"Too large resource version: 9",
    "details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}})";
  CHECK(to_error(parse_status(504, text)).code == base::ErrorCode::Expired);
}

}  // namespace injector::kube
