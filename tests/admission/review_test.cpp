#include "admission/review.h"

#include <string>

#include <catch2/catch.hpp>

#include "base/base64.h"
#include "base/json_text.h"
#include "tests/support/files.h"

namespace injector::admission {
namespace {

using base::Json;

std::string fixture(const std::string& name) {
  return tests::read_file(tests::data_path("fixtures/reviews/" + name));
}

const char* const kPodCreates[] = {
    "v1.20-pod-create-annotated.json", "v1.20-pod-create-generatename.json",
    "v1.20-pod-create-v1beta1.json",   "v1.36-pod-create-annotated.json",
    "v1.36-pod-create-dryrun.json",    "v1.36-pod-create-generatename.json",
};

TEST_CASE("review: the facts of the tape are those of the tree", "[codec]") {
  for (const char* name : kPodCreates) {
    INFO(name);
    const std::string body = fixture(name);
    const AdmissionRequest request = read_review(body).value();
    const Json tree = base::read_json(body).value();
    REQUIRE(request.pod.has_value());
    REQUIRE(*request.pod == core::pod_facts(tree.at("request").at("object")).value());
    REQUIRE(request.uid == tree.at("request").at("uid").get<std::string>());
  }
}

TEST_CASE("review: only the creation of a pod has facts", "[codec]") {
  for (const char* name : {"v1.36-pod-update.json", "v1.36-deployment-create.json",
                           "v1.36-pod-ephemeralcontainers-update.json"}) {
    INFO(name);
    REQUIRE_FALSE(read_review(fixture(name)).value().pod.has_value());
  }
}

TEST_CASE("review: dry run, version and generated names are read", "[codec]") {
  REQUIRE(read_review(fixture("v1.36-pod-create-dryrun.json")).value().dry_run);
  REQUIRE(read_review(fixture("v1.20-pod-create-v1beta1.json")).value().version ==
          ReviewVersion::V1Beta1);
  const AdmissionRequest generated =
      read_review(fixture("v1.36-pod-create-generatename.json")).value();
  REQUIRE(generated.name.empty());
  REQUIRE_FALSE(generated.pod->generate_name.empty());
}

TEST_CASE("review: what is not a review says what it lacks", "[codec]") {
  const auto problem = [](std::string_view text) { return read_review(text).error().message; };
  REQUIRE_THAT(problem(""), Catch::StartsWith("not JSON: "));
  REQUIRE_THAT(problem("{"), Catch::StartsWith("not JSON: "));
  REQUIRE(problem("[]") == "not an AdmissionReview");
  REQUIRE(problem(R"({"kind":"Pod"})") == "not an AdmissionReview");
  REQUIRE_THAT(problem(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2"})"),
               Catch::Contains("admission.k8s.io/v2"));
  REQUIRE(problem(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})") ==
          "request: missing");
  REQUIRE(
      problem(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{}})") ==
      "request.uid: missing");
}

TEST_CASE("review: deep nesting and wrong types are errors or no pod, never a crash", "[codec]") {
  REQUIRE_FALSE(read_review(std::string(100'000, '[')).has_value());
  const AdmissionRequest odd =
      read_review(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{
        "uid":"u","operation":"CREATE","resource":{"resource":"pods"},"object":{"spec":[]}}})")
          .value();
  REQUIRE_FALSE(odd.pod.has_value());
  REQUIRE(odd.pod_problem == "spec: not an object");
}

TEST_CASE("review: the answer has the version asked in, the uid, and what v1beta1 knows",
          "[codec]") {
  AdmissionRequest request;
  request.uid = "u-1";
  AdmissionResponse response;
  response.patch = R"([{"op":"add"}])";
  response.warnings = {"mind \"this\""};
  response.reason = "Injected";

  const Json v1 = Json::parse(write_review(request, response));
  REQUIRE(v1.at("apiVersion") == "admission.k8s.io/v1");
  REQUIRE(v1.at("response").at("uid") == "u-1");
  REQUIRE(v1.at("response").at("patchType") == "JSONPatch");
  REQUIRE(base::base64_decode(v1.at("response").at("patch").get<std::string>()) == response.patch);
  REQUIRE(v1.at("response").at("warnings").at(0) == "mind \"this\"");
  REQUIRE(v1.at("response").at("auditAnnotations").at("reason") == "Injected");

  request.version = ReviewVersion::V1Beta1;
  const Json beta = Json::parse(write_review(request, response));
  REQUIRE(beta.at("apiVersion") == "admission.k8s.io/v1beta1");
  REQUIRE_FALSE(beta.at("response").contains("warnings"));
}

TEST_CASE("review: a refusal carries message and code, and no patch", "[codec]") {
  AdmissionRequest request;
  AdmissionResponse response;
  response.allowed = false;
  response.message = "volume clash";
  response.code = 409;
  const Json answer = Json::parse(write_review(request, response)).at("response");
  REQUIRE(answer.at("allowed") == false);
  REQUIRE(answer.at("status").at("message") == "volume clash");
  REQUIRE(answer.at("status").at("code") == 409);
  REQUIRE_FALSE(answer.contains("patchType"));
}

}  // namespace
}  // namespace injector::admission
