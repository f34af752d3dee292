#include "runtime/event_sink.h"

namespace injector::runtime {
namespace {

std::string text(const base::Json* value) {
  return std::string(base::text_of(value));
}

}  // namespace

ObjectReference reference_to(const base::Json& object) {
  ObjectReference about;
  about.api_version = text(base::find(object, "apiVersion"));
  about.kind = text(base::find(object, "kind"));
  about.name_space = text(base::find(object, "metadata", "namespace"));
  about.name = text(base::find(object, "metadata", "name"));
  about.uid = text(base::find(object, "metadata", "uid"));
  about.resource_version = text(base::find(object, "metadata", "resourceVersion"));
  return about;
}

}  // namespace injector::runtime
