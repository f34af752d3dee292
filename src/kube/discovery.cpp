#include "kube/discovery.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

/// The entries of a group version; an empty list where it is not served.
Result<Json> resources_of(RestClient& client, const Resource& resource,
                          const std::stop_token& stop) {
  const std::string root = resource.group.empty() ? "/api/" : "/apis/";
  Result<Json> list = client.call({.path = root + resource.api_version()}, stop);
  if (!list && list.error().code == ErrorCode::NotFound) {
    return Json::array();
  }
  if (!list) {
    return list;
  }
  Json* resources = base::find(list.value(), "resources");
  if (resources == nullptr || !resources->is_array()) {
    return Error{ErrorCode::Internal, "discovery of " + resource.api_version() + ": no resources"};
  }
  return std::move(*resources);
}

/// 20 of "20+"; 0 of what is none.
int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

Result<bool> serves(RestClient& client, const Resource& resource, const std::stop_token& stop) {
  const Result<Json> list = resources_of(client, resource, stop);
  if (!list) {
    return list.error();
  }
  return std::any_of(list.value().begin(), list.value().end(), [&](const Json& entry) {
    return base::text_of(base::find(entry, "name")) == resource.plural;
  });
}

Result<Resource> served_cron_jobs(RestClient& client, const std::stop_token& stop) {
  for (const Resource* candidate : {&kCronJobs, &kCronJobsBeta}) {
    const Result<bool> served = serves(client, *candidate, stop);
    if (!served) {
      return served.error();
    }
    if (served.value()) {
      return *candidate;
    }
  }
  return Error{ErrorCode::NotFound, "the API server serves no cronjobs"};
}

Result<std::string> eviction_version(RestClient& client, const std::stop_token& stop) {
  const Result<Json> list = resources_of(client, kPods, stop);
  if (!list) {
    return list.error();
  }
  for (const Json& entry : list.value()) {
    if (base::text_of(base::find(entry, "name")) == "pods/eviction") {
      return std::string(base::text_of(base::find(entry, "version")));
    }
  }
  return Error{ErrorCode::NotFound, "the API server has no pods/eviction"};
}

Result<bool> serves_dry_run(RestClient& client, const std::stop_token& stop) {
  constexpr int kFirstMinor = 13;
  const Result<Json> version = client.call({.path = "/version"}, stop);
  if (!version) {
    return version.error();
  }
  const int major = leading_number(base::text_of(base::find(version.value(), "major")));
  const int minor = leading_number(base::text_of(base::find(version.value(), "minor")));
  return major > 1 || (major == 1 && minor >= kFirstMinor);
}

}  // namespace injector::kube
