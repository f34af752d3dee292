// Whether two volumes of one name are the same volume. Pure; any thread.

#pragma once

#include "base/json.h"

namespace injector::core {

/// Equal once the API server's defaults are filled in on both sides: a Pod that comes back from the
/// server says `defaultMode: 420` where its author and the template said nothing.
[[nodiscard]] bool same_volume(const base::Json& left, const base::Json& right);

}  // namespace injector::core
