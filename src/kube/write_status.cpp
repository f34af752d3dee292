#include "kube/write_status.h"

#include "runtime/event_sink.h"

namespace injector::kube {
namespace {

using base::Json;

bool says(const Json& object, const Json& status) {
  const Json* before = base::find(object, "status");
  if (before == nullptr) {
    return false;
  }
  Json after = *before;
  after.merge_patch(status);
  return base::same(*before, after);
}

}  // namespace

base::Result<bool> write_status(RestClient& client, const Resource& resource, const Json& object,
                                const Json& status, const std::stop_token& stop) {
  if (says(object, status)) {
    return false;
  }
  const runtime::ObjectReference seen = runtime::reference_to(object);
  Json body = {{"metadata", {{"uid", seen.uid}, {"resourceVersion", seen.resource_version}}}};
  body["status"] = status;
  const auto written = client.patch({resource, seen.name_space, seen.name, "status"},
                                    {PatchType::Merge, std::move(body)}, {}, stop);
  if (!written && written.error().code != base::ErrorCode::NotFound) {
    return written.error();
  }
  return written.has_value();
}

}  // namespace injector::kube
