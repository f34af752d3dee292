// Whether the API server would call a webhook for a Pod that is being created, by the webhook's
// registration. Pure; any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace injector::cli {

/// The Pod that is to be created, and where.
struct PodRequest {
  const base::Json& pod;  // Not owned; what counts is its metadata.
  std::string name_space;
  const base::Json* name_space_object = nullptr;  // Not owned; null: not known.
};

enum class Called { Yes, No, Unknown };

[[nodiscard]] std::string_view to_string(Called called) noexcept;

struct CallVerdict {
  Called called = Called::Yes;
  std::string why;  // Which part of the registration decided; empty for Yes.
};

/// Whether one of its rules is for the creation of Pods.
[[nodiscard]] bool is_for_new_pods(const base::Json& webhook);

/// `webhook` is an entry of a MutatingWebhookConfiguration's `webhooks`. A condition that cannot be
/// evaluated here leaves it unknown, unless another part says no.
[[nodiscard]] CallVerdict would_call(const base::Json& webhook, const PodRequest& request);

}  // namespace injector::cli
