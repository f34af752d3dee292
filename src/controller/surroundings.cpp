#include "controller/surroundings.h"

#include <fmt/format.h>

namespace injector::controller {

std::string describe(const runtime::ObjectReference& about) {
  return fmt::format("{} {}/{}", about.kind, about.name_space, about.name);
}

std::string dry_run_line(const runtime::ObjectReference& about, std::string_view verb,
                         std::string_view what) {
  return fmt::format("{}: would {} ({})", describe(about), verb, what);
}

}  // namespace injector::controller
