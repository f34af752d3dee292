// Kubernetes' amounts: "100m", "64Mi", "1e3", or a plain number. Pure; any thread.

#pragma once

#include <optional>

#include "base/json.h"

namespace injector::templates {

struct Quantity {
  enum class Notation { Decimal, Binary, Exponent };

  long double thousandths = 0;  // Whole: Kubernetes rounds up. Exact below 2^63.
  Notation notation = Notation::Decimal;

  [[nodiscard]] bool is_whole() const noexcept;
};

/// Of text or of a number; nothing if it is not a quantity.
[[nodiscard]] std::optional<Quantity> read_quantity(const base::Json& value);

[[nodiscard]] bool is_quantity(const base::Json& value);

}  // namespace injector::templates
