#include "cli/access_review.h"

#include <utility>

#include <fmt/format.h>

namespace injector::cli {
namespace {

using base::Json;

const kube::Resource kSelfReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                  "SelfSubjectAccessReview", false};
const kube::Resource kReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                              "SubjectAccessReview", false};

Json attributes_of(const AccessRight& right, const std::string& name_space) {
  Json attributes = Json({{"verb", right.verb}, {"group", right.group}});
  attributes["resource"] = right.resource;
  if (right.namespaced) {
    attributes["namespace"] = name_space;
  }
  if (!right.name.empty()) {
    attributes["name"] = right.name;
  }
  return attributes;
}

base::Result<bool> is_allowed(ClusterView& cluster, const AccessRight& right,
                              const std::string& user, const std::string& name_space) {
  const kube::Resource& reviews = user.empty() ? kSelfReviews : kReviews;
  Json review = Json({{"apiVersion", reviews.api_version()}, {"kind", reviews.kind}});
  review["spec"]["resourceAttributes"] = attributes_of(right, name_space);
  if (!user.empty()) {
    review["spec"]["user"] = user;
    review["spec"]["groups"] = Json::array({"system:serviceaccounts", "system:authenticated"});
  }
  INJ_ASSIGN(const auto answer, cluster.review({reviews, "", "", ""}, review));
  const Json* allowed = base::find(answer, "status", "allowed");
  return allowed != nullptr && allowed->is_boolean() && allowed->get<bool>();
}

std::string describe(const AccessRight& right, const std::string& name_space) {
  return fmt::format("{} {}{}{}{}{}", right.verb, right.resource, right.group.empty() ? "" : ".",
                     right.group, right.name.empty() ? "" : "/" + right.name,
                     right.namespaced ? " in namespace " + name_space : "");
}

}  // namespace

base::Result<std::vector<std::string>> missing_rights(ClusterView& cluster,
                                                      const std::vector<AccessRight>& rights,
                                                      const std::string& user,
                                                      const std::string& name_space) {
  std::vector<std::string> missing;
  for (const AccessRight& right : rights) {
    INJ_ASSIGN(const bool allowed, is_allowed(cluster, right, user, name_space));
    if (!allowed) {
      missing.push_back(describe(right, name_space));
    }
  }
  return missing;
}

}  // namespace injector::cli
