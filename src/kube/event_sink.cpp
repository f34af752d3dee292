#include "kube/event_sink.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "kube/resource.h"
#include "kube/time_text.h"

namespace injector::kube {
namespace {

using base::Json;
using base::Result;

void add_text(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) {
    object[key] = value;
  }
}

Json reference(const runtime::ObjectReference& involved) {
  Json object = Json::object();
  add_text(object, "kind", involved.kind);
  add_text(object, "namespace", involved.name_space);
  add_text(object, "name", involved.name);
  add_text(object, "uid", involved.uid);
  add_text(object, "apiVersion", involved.api_version);
  add_text(object, "resourceVersion", involved.resource_version);
  add_text(object, "fieldPath", involved.field_path);
  return object;
}

Json to_json(const runtime::EventRecord& event) {
  Json object = {{"apiVersion", kEvents.api_version()}, {"kind", kEvents.kind}};
  object["metadata"] = {{"name", event.name}, {"namespace", event.name_space}};
  object["involvedObject"] = reference(event.involved);
  object["reason"] = event.reason;
  object["message"] = event.message;
  object["type"] = event.type;
  object["source"] = {{"component", event.component}};
  add_text(object["source"], "host", event.host);
  object["firstTimestamp"] = time_text(event.first);
  object["lastTimestamp"] = time_text(event.last);
  object["count"] = event.count;
  return object;
}

}  // namespace

RestEventSink::RestEventSink(RestClient& client)
    : client_(client) {}

Result<void> RestEventSink::create(const runtime::EventRecord& event, const std::stop_token& stop) {
  const auto made =
      client_.create_object({kEvents, event.name_space, {}, {}}, to_json(event), {}, stop);
  return made ? Result<void>() : made.error();
}

Result<void> RestEventSink::patch(const runtime::EventRecord& event, const std::stop_token& stop) {
  Json body = {{"count", event.count}, {"message", event.message}};
  body["lastTimestamp"] = time_text(event.last);
  const auto patched = client_.patch({kEvents, event.name_space, event.name, {}},
                                     {PatchType::Strategic, std::move(body)}, {}, stop);
  return patched ? Result<void>() : patched.error();
}

}  // namespace injector::kube
