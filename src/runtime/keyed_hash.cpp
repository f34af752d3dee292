#include "runtime/keyed_hash.h"

#include <bit>
#include <cstddef>
#include <random>

namespace injector::runtime {
namespace {

struct State {
  std::uint64_t v0;
  std::uint64_t v1;
  std::uint64_t v2;
  std::uint64_t v3;

  void round() noexcept {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }

  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    round();
    round();
    v0 ^= word;
  }
};

// Up to eight bytes, the first one lowest.
std::uint64_t word_of(std::string_view bytes) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

}  // namespace

HashKey fresh_hash_key() {
  std::random_device random;
  const auto word = [&random] { return std::uint64_t{random()} << 32U | random(); };
  return {word(), word()};
}

std::uint64_t keyed_hash(HashKey key, std::string_view text) noexcept {
  State state{key.low ^ 0x736f6d6570736575U, key.high ^ 0x646f72616e646f6dU,
              key.low ^ 0x6c7967656e657261U, key.high ^ 0x7465646279746573U};
  const std::uint64_t size = text.size();
  for (; text.size() >= 8; text.remove_prefix(8)) {
    state.take(word_of(text.substr(0, 8)));
  }
  state.take(word_of(text) | size << 56U);
  state.v2 ^= 0xffU;
  for (int count = 0; count < 4; ++count) {
    state.round();
  }
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace injector::runtime
