#include "controller/surroundings.h"

#include <fmt/format.h>

namespace injector::controller {
namespace {

std::string text(const base::Json* value) {
  return std::string(base::text_of(value));
}

}  // namespace

runtime::ObjectReference reference_to(const base::Json& object) {
  runtime::ObjectReference about;
  about.api_version = text(base::find(object, "apiVersion"));
  about.kind = text(base::find(object, "kind"));
  about.name_space = text(base::find(object, "metadata", "namespace"));
  about.name = text(base::find(object, "metadata", "name"));
  about.uid = text(base::find(object, "metadata", "uid"));
  about.resource_version = text(base::find(object, "metadata", "resourceVersion"));
  return about;
}

std::string describe(const runtime::ObjectReference& about) {
  return fmt::format("{} {}/{}", about.kind, about.name_space, about.name);
}

std::string dry_run_line(const runtime::ObjectReference& about, std::string_view verb,
                         std::string_view what) {
  return fmt::format("{}: would {} ({})", describe(about), verb, what);
}

}  // namespace injector::controller
