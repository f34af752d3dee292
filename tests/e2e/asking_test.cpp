// Only Pods that ask depend on us: what the API server does with Pods while nobody answers, and
// whom it calls us for when somebody does.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/e2e/installation.h"
#include "tests/support/eventually.h"

namespace injector::tests {
namespace {

using base::Json;

constexpr const char* kKey = "initializer.kubernetes.io/envoy";

const std::vector<std::string> kAlone{"app"};
const std::vector<std::string> kInjected{"app", "envoy"};

void make_namespace(const std::string& name, const Json& labels) {
  const Json object{{"apiVersion", "v1"},
                    {"kind", "Namespace"},
                    {"metadata", {{"name", name}, {"labels", labels}}}};
  must_create(object);
}

Json labelled(const std::string& value, const std::string& name_space = "default") {
  Json pod = plain_pod(name_space);
  pod["metadata"]["labels"][kKey] = value;
  return pod;
}

Json annotated(const std::string& value, const std::string& name_space = "default") {
  Json pod = plain_pod(name_space);
  pod["metadata"]["annotations"][kKey] = value;
  return pod;
}

bool is_refused(const Created& created) {
  INFO(created.message);
  CHECK((created.status == 201 ||
         created.message.find("failed calling webhook") != std::string::npos));
  return created.status != 201;
}

// The API server looks at its own list of webhooks, which is new after a moment.
bool soon_refused(const Json& pod) {
  return eventually([&] { return create(pod).status != 201; });
}

TEST_CASE("asking: with our process stopped, a Pod that did not ask is created", "[apiserver]") {
  apply_manifests();
  REQUIRE(soon_refused(labelled("true")));
  CHECK(create(plain_pod()).containers == kAlone);
  for (const char* no : {"false", "False", "disabled", "DISABLED"}) {
    CHECK(create(labelled(no)).containers == kAlone);
  }
  CHECK(create(plain_pod("kube-system")).containers == kAlone);
  CHECK(create(plain_pod("envoy-initializer")).containers == kAlone);
  delete_manifests();
}

TEST_CASE("asking: with our process stopped, a Pod that asked is refused", "[apiserver]") {
  apply_manifests();
  REQUIRE(soon_refused(labelled("true")));
  for (const char* yes : {"true", "enabled", "Enabled", "ture"}) {
    INFO(yes);
    CHECK(is_refused(create(labelled(yes))));
  }
  delete_manifests();
}

TEST_CASE("asking: with our process stopped, a Namespace's label counts for Pods that say nothing",
          "[apiserver]") {
  make_namespace("asks", {{kKey, "true"}});
  make_namespace("declines", {{kKey, "Disabled"}});
  apply_manifests();
  REQUIRE(soon_refused(plain_pod("asks")));
  CHECK(create(labelled("false", "asks")).containers == kAlone);
  CHECK(create(plain_pod("declines")).containers == kAlone);
  CHECK(is_refused(create(labelled("true", "declines"))));
  delete_manifests();
}

TEST_CASE("asking: with our process stopped, exempt namespaces do not notice", "[apiserver]") {
  make_namespace("calico-system",
                 {{"kubernetes.io/metadata.name", "calico-system"}, {kKey, "true"}});
  make_namespace("left-alone", {{"initializer.kubernetes.io/exclude", "true"}, {kKey, "true"}});
  apply_manifests({"components/all-pods"});
  REQUIRE(soon_refused(labelled("true")));
  for (const char* name : {"calico-system", "left-alone"}) {
    CHECK(create(labelled("true", name)).containers == kAlone);
    CHECK(create(plain_pod(name)).containers == kAlone);
  }
  delete_manifests();
}

TEST_CASE("asking: fail-open lets Pods that asked start without us", "[apiserver]") {
  apply_manifests();
  REQUIRE(soon_refused(labelled("true")));
  apply_manifests({"components/fail-open"});
  CHECK(eventually([] { return create(labelled("true")).containers == kAlone; }));
  delete_manifests();
}

TEST_CASE("asking: before 1.30 an annotation alone takes all-pods, which fails open",
          "[apiserver]") {
  if (!may_listen()) {
    WARN("not checked: only root may listen on port 443");
    return;
  }
  const TempDir dir;
  apply_manifests();
  ChildProcess webhook = start_webhook(dir);
  const bool injects = eventually([&] { return create(labelled("true")).containers == kInjected; });
  INFO(tail(dir.file("log")));
  REQUIRE(injects);
  CHECK(create(annotated("true")).containers == kAlone);
  apply_manifests({"components/all-pods"});
  CHECK(eventually([] { return create(annotated("true")).containers == kInjected; }));
  CHECK(create(plain_pod()).containers == kAlone);
  CHECK(webhook.stop() == 0);
  CHECK(create(annotated("true")).containers == kAlone);
  CHECK(create(plain_pod()).containers == kAlone);
  CHECK(is_refused(create(labelled("true"))));
  delete_manifests({"components/all-pods"});
}

}  // namespace
}  // namespace injector::tests
