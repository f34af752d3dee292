// The playground: what happens to a manifest, with a template, in a Namespace. The decision and its
// renderings are those of `explain` and `inject`. Pure; any thread.

#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/decide.h"

namespace injector::dashboard {

/// Of manifest and template each; more is refused.
inline constexpr std::size_t kMaxPlaygroundText = std::size_t{1} << 20U;

/// What the page sends. docs/api.md has the JSON.
struct PlaygroundRequest {
  std::string manifest;
  std::string template_text;  // Empty: the template of the context.
  core::MetaFacts
      name_space;  // What the Namespace of every object says that is not in the manifest.
  std::string kubernetes_version;  // "1.27"; empty: not given.
};

[[nodiscard]] base::Result<PlaygroundRequest> read_playground_request(const base::Json& body);

/// `context` is what decides where the request says nothing else. Docs/api.md has the answer's
/// shape. What cannot be read or decided is in `failures` and hides nothing else.
[[nodiscard]] base::Json decide_playground(const PlaygroundRequest& request,
                                           cli::DecisionContext context);

}  // namespace injector::dashboard
