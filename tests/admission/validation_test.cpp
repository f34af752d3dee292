#include "admission/validation.h"

#include <string>

#include <catch2/catch.hpp>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "base/json.h"
#include "base/json_text.h"
#include "template/parser.h"

namespace injector::admission {
namespace {

using base::Json;

struct Review {
  std::string operation = "CREATE";
  std::string name_space = "envoy-initializer";
  std::string name = "envoy-initializer";
  std::string resource = "configmaps";
  std::string config = "containers: []\n";

  [[nodiscard]] std::string text() const {
    const Json object({{"apiVersion", "v1"},
                       {"kind", "ConfigMap"},
                       {"metadata", {{"name", name}, {"namespace", name_space}}},
                       {"data", {{"config", config}}}});
    const bool deleted = operation == "DELETE";
    return base::write_json(
        Json({{"kind", "AdmissionReview"},
              {"apiVersion", "admission.k8s.io/v1"},
              {"request",
               {{"uid", "u"},
                {"operation", operation},
                {"resource", {{"group", ""}, {"version", "v1"}, {"resource", resource}}},
                {"namespace", name_space},
                {"name", name},
                {"object", deleted ? Json() : object},
                {"oldObject", deleted ? object : Json()}}}}));
  }
};

struct Bench {
  Json response(const Review& review) const {
    const HttpReply reply = validation.answer(review.text());
    REQUIRE(reply.status == 200);
    return base::read_json(reply.body).value().at("response");
  }

  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  Validation validation{
      {"envoy-initializer", "envoy-initializer"}, {}, *registry, base::Logger::silent()};
};

TEST_CASE("validation: a bad template is refused with all that is wrong with it", "[webhook]") {
  const Bench bench;
  for (const char* operation : {"CREATE", "UPDATE"}) {
    Review review;
    review.operation = operation;
    review.config = "containers:\n- name: Envoy!\n- name: envoy\n  imagee: envoy:1\n";
    const Json response = bench.response(review);
    CHECK(response.at("uid") == "u");
    CHECK(response.at("allowed") == false);
    CHECK(response.at("status").at("code") == 422);
    const auto message = response.at("status").at("message").get<std::string>();
    CHECK_THAT(message, Catch::Contains("line 2: containers[0]") &&
                            Catch::Contains("line 4: containers[1].imagee") &&
                            Catch::Contains("containers[1].image: missing"));
  }
  CHECK_THAT(prometheus::TextSerializer().Serialize(bench.registry->Collect()),
             Catch::Contains("outcome=\"denied\"} 2"));
}

TEST_CASE("validation: a good template is allowed", "[webhook]") {
  Review review;
  review.config = std::string(templates::default_template_text());
  CHECK(Bench().response(review).at("allowed") == true);
}

TEST_CASE("validation: what is not our ConfigMap, or deleted, is allowed whatever it holds",
          "[webhook]") {
  const Bench bench;
  CHECK(bench.response({}).at("allowed") == false);
  for (const Review& review :
       {Review{.operation = "DELETE"}, Review{.name_space = "shop"}, Review{.name = "other"},
        Review{.name = "envoy-initializer-last-good"}, Review{.resource = "secrets"}}) {
    CHECK(bench.response(review).at("allowed") == true);
  }
}

TEST_CASE("validation: without a ConfigMap to guard everything is allowed", "[webhook]") {
  prometheus::Registry registry;
  const Validation validation({}, {}, registry, base::Logger::silent());
  const HttpReply reply = validation.answer(Review{.name_space = "", .name = ""}.text());
  CHECK(base::read_json(reply.body).value().at("response").at("allowed") == true);
}

TEST_CASE("validation: the refusal stays short whatever the template", "[webhook]") {
  Review review;
  review.config = "containers:\n";
  for (int i = 0; i < 5000; ++i) {
    review.config += "- {name: '', imagee: x}\n";
  }
  const auto message = Bench().response(review).at("status").at("message").get<std::string>();
  CHECK(message.size() < 9000);
  CHECK_THAT(message, Catch::Contains("more"));
}

TEST_CASE("validation: what is no review is 400", "[webhook]") {
  CHECK(Bench().validation.answer("{").status == 400);
}

}  // namespace
}  // namespace injector::admission
