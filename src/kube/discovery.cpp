#include "kube/discovery.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <vector>

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

/// A group is one segment of an address.
Result<std::string> path_of_group(const std::string& group) {
  const bool plain = !group.empty() && group.find_first_not_of(
                                           "abcdefghijklmnopqrstuvwxyz"
                                           "0123456789.-") == std::string::npos;
  if (!plain) {
    return base::invalid("\"" + group + "\" is not the name of an API group");
  }
  return "/apis/" + group;
}

/// The versions of a group, the preferred one first; none where the group is not served.
Result<std::vector<std::string>> versions_of(RestClient& client, const std::string& group,
                                             const std::stop_token& stop) {
  const Result<std::string> path = path_of_group(group);
  if (!path) {
    return path.error();
  }
  const Result<Json> served = client.call({.path = path.value()}, stop);
  std::vector<std::string> versions;
  if (!served && served.error().code == ErrorCode::NotFound) {
    return versions;
  }
  if (!served) {
    return served.error();
  }
  const auto add = [&](std::string_view version) {
    if (!version.empty() &&
        std::find(versions.begin(), versions.end(), version) == versions.end()) {
      versions.emplace_back(version);
    }
  };
  add(base::text_of(base::find(served.value(), "preferredVersion", "version")));
  if (const Json* list = base::find(served.value(), "versions");
      list != nullptr && list->is_array()) {
    for (const Json& entry : *list) {
      add(base::text_of(base::find(entry, "version")));
    }
  }
  return versions;
}

/// The entry of `resource` made whole by what the server says of it.
Resource described(Resource resource, const Json& entry) {
  const Json* namespaced = base::find(entry, "namespaced");
  resource.kind = base::text_of(base::find(entry, "kind"));
  resource.namespaced =
      namespaced == nullptr || !namespaced->is_boolean() || namespaced->get<bool>();
  return resource;
}

/// 20 of "20+"; 0 of what is none.
int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Whether the server is 1.`minor` or later.
Result<bool> is_at_least(RestClient& client, int minor, const std::stop_token& stop) {
  const Result<Json> version =
      client.call({.path = "/version", .timeout = std::chrono::seconds(5)}, stop);
  if (!version) {
    return version.error();
  }
  const int major = leading_number(base::text_of(base::find(version.value(), "major")));
  return major > 1 ||
         (major == 1 &&
          leading_number(base::text_of(base::find(version.value(), "minor"))) >= minor);
}

/// The candidates are one resource under several versions.
Result<Resource> first_served(RestClient& client, std::initializer_list<const Resource*> candidates,
                              const std::stop_token& stop) {
  for (const Resource* candidate : candidates) {
    const Result<bool> served = serves(client, *candidate, stop);
    if (!served) {
      return served.error();
    }
    if (served.value()) {
      return *candidate;
    }
  }
  return Error{ErrorCode::NotFound, "the API server serves no " + (*candidates.begin())->plural};
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
  return first_served(client, {&kCronJobs, &kCronJobsBeta}, stop);
}

Result<Resource> served_leases(RestClient& client, const std::stop_token& stop) {
  return first_served(client, {&kLeases, &kLeasesBeta}, stop);
}

Result<Resource> find_resource(RestClient& client, const std::string& group,
                               const std::string& plural, const std::stop_token& stop) {
  const Result<std::vector<std::string>> versions = versions_of(client, group, stop);
  if (!versions) {
    return versions.error();
  }
  for (const std::string& version : versions.value()) {
    const Resource resource{group, version, plural, ""};
    const Result<Json> list = resources_of(client, resource, stop);
    if (!list) {
      return list.error();
    }
    for (const Json& entry : list.value()) {
      if (base::text_of(base::find(entry, "name")) == plural) {
        return described(resource, entry);
      }
    }
  }
  return Error{ErrorCode::NotFound, "the API server serves no " + group + "/" + plural +
                                        ": is its CustomResourceDefinition installed?"};
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
  return is_at_least(client, kFirstMinor, stop);
}

Result<bool> serves_native_sidecars(RestClient& client, const std::stop_token& stop) {
  constexpr int kFirstMinor = 29;
  return is_at_least(client, kFirstMinor, stop);
}

}  // namespace injector::kube
