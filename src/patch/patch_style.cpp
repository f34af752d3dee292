#include "patch/patch_style.h"

namespace injector::patch {

PatchStyle patch_style(std::string_view api_version) noexcept {
  const std::size_t slash = api_version.find('/');
  if (slash == std::string_view::npos) {
    return PatchStyle::Strategic;  // Core.
  }
  for (const std::string_view group : {"apps", "batch", "extensions"}) {
    if (api_version.substr(0, slash) == group) {
      return PatchStyle::Strategic;
    }
  }
  return PatchStyle::Merge;
}

}  // namespace injector::patch
