#include "controller/reconciler_deps.h"

#include <fmt/format.h>

namespace injector::controller {

std::string describe(const runtime::ObjectReference& about) {
  return fmt::format("{} {}/{}", about.kind, about.name_space, about.name);
}

std::string dry_run_line(const runtime::ObjectReference& about, std::string_view verb,
                         std::string_view what) {
  return fmt::format("{}: would {} ({})", describe(about), verb, what);
}

void tell_warnings(const ReconcilerDeps& deps, const runtime::ObjectReference& about,
                   const std::vector<core::Warning>& warnings) {
  for (const core::Warning& warning : warnings) {
    const std::string code(core::to_string(warning.code));
    deps.log.warn("warning",
                  {{"object", describe(about)}, {"code", code}, {"message", warning.message}});
    deps.announce(about, runtime::EventType::Warning, code, warning.message);
  }
}

}  // namespace injector::controller
