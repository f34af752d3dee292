#include "kube/lease_client.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "base/json_text.h"
#include "kube/time_text.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using runtime::LeaseRecord;
using runtime::VersionedLease;

/// Null removes a field in a merge patch and means "not set" in a new object.
Json time_or_null(WallTime time) {
  return time == WallTime() ? Json() : Json(micro_time_text(time));
}

Json spec_of(const LeaseRecord& record) {
  return {{"holderIdentity", record.holder},
          {"leaseDurationSeconds", record.duration.count()},
          {"acquireTime", time_or_null(record.acquired)},
          {"renewTime", time_or_null(record.renewed)},
          {"leaseTransitions", record.transitions}};
}

int number(const Json* value) {
  const bool fits = value != nullptr && value->is_number_integer() &&
                    value->get<std::int64_t>() >= 0 &&
                    value->get<std::int64_t>() <= std::numeric_limits<int>::max();
  return fits ? value->get<int>() : 0;
}

WallTime time_of(const Json* value) {
  return parse_time(base::text_of(value)).value_or(WallTime());
}

Result<VersionedLease> read_lease(const Json& object) {
  const std::string_view version = base::text_of(base::find(object, "metadata", "resourceVersion"));
  if (version.empty()) {
    return Error{ErrorCode::Internal, "lease: the answer has no resourceVersion"};
  }
  VersionedLease lease;
  lease.resource_version = version;
  lease.record.holder = base::text_of(base::find(object, "spec", "holderIdentity"));
  lease.record.duration =
      std::chrono::seconds(number(base::find(object, "spec", "leaseDurationSeconds")));
  lease.record.acquired = time_of(base::find(object, "spec", "acquireTime"));
  lease.record.renewed = time_of(base::find(object, "spec", "renewTime"));
  lease.record.transitions = number(base::find(object, "spec", "leaseTransitions"));
  return lease;
}

}  // namespace

RestLeaseClient::RestLeaseClient(RestClient& client, std::string name_space, std::string name,
                                 const Resource& leases)
    : client_(client),
      target_{leases, std::move(name_space), std::move(name), {}} {}

Result<VersionedLease> RestLeaseClient::send(Request request, base::Duration timeout,
                                             const std::stop_token& stop) {
  const bool creates = request.method == "POST";
  const Result<std::string> path =
      path_of(creates ? Target{target_.resource, target_.name_space, {}, {}} : target_);
  if (!path) {
    return path.error();
  }
  request.path = path.value();
  request.timeout = timeout;
  const Result<Json> answer = client_.call(request, stop);
  if (!answer) {
    return answer.error();
  }
  return read_lease(answer.value());
}

Result<VersionedLease> RestLeaseClient::get(base::Duration timeout, const std::stop_token& stop) {
  return send({}, timeout, stop);
}

Result<VersionedLease> RestLeaseClient::create(const LeaseRecord& record, base::Duration timeout,
                                               const std::stop_token& stop) {
  Json object = {{"apiVersion", target_.resource.api_version()}, {"kind", target_.resource.kind}};
  object["metadata"] = {{"name", target_.name}, {"namespace", target_.name_space}};
  object["spec"] = spec_of(record);
  return send(
      {.method = "POST", .content_type = "application/json", .body = base::write_json(object)},
      timeout, stop);
}

Result<VersionedLease> RestLeaseClient::update(const VersionedLease& lease, base::Duration timeout,
                                               const std::stop_token& stop) {
  Json patch = {{"metadata", {{"resourceVersion", lease.resource_version}}}};
  patch["spec"] = spec_of(lease.record);
  return send({.method = "PATCH",
               .content_type = "application/merge-patch+json",
               .body = base::write_json(patch)},
              timeout, stop);
}

}  // namespace injector::kube
