// SipHash-2-4: short, and without the key nobody can choose two texts with the same hash. For
// tables whose keys strangers write. Pure; any thread.

#pragma once

#include <cstdint>
#include <string_view>

namespace injector::runtime {

struct HashKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// From the system's randomness.
[[nodiscard]] HashKey fresh_hash_key();

[[nodiscard]] std::uint64_t keyed_hash(HashKey key, std::string_view text) noexcept;

}  // namespace injector::runtime
