// Which kind of patch the API server takes for objects of a kind. Pure; any thread.

#pragma once

#include <string_view>

namespace injector::patch {

/// Built-in kinds take strategic merge patches. Custom resources do not: theirs are JSON merge
/// patches, which replace whole lists; the version in the patch makes that safe.
enum class PatchStyle { Strategic, Merge };

[[nodiscard]] PatchStyle patch_style(std::string_view api_version) noexcept;

}  // namespace injector::patch
