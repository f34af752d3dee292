// How often one admission asks for memory, counted by this program's own operator new.

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>

#include <catch2/catch.hpp>

#include "tests/cost/webhook.h"
#include "tests/support/sample_review.h"

namespace {

std::atomic<std::size_t> allocations{0};

void* allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return allocate(size);
}

void* operator new[](std::size_t size) {
  return allocate(size);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete[](void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

void operator delete[](void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}

namespace injector {
namespace {

constexpr std::size_t kOrdinaryReview = 4096;

// Of the third of three equal requests: by then every buffer has its size.
struct Counted {
  std::size_t allocations = 0;
  std::string reply;
};

Counted count_allocations(tests::Asks asks) {
  tests::Webhook webhook;
  const std::string request = tests::request_with(tests::sample_review(kOrdinaryReview, asks));
  Counted counted;
  for (int i = 0; i < 3; ++i) {
    const std::size_t before = allocations;
    const std::string& reply = webhook.answer(request);
    counted.allocations = allocations - before;
    counted.reply = reply;
  }
  REQUIRE_THAT(counted.reply, Catch::StartsWith("HTTP/1.1 200 OK\r\n"));
  std::cout << "allocations for each request: " << counted.allocations << "\n";
  return counted;
}

TEST_CASE("cost: an injected Pod of 4 KB takes at most 40 allocations, HTTP and log line included",
          "[cost]") {
  const Counted counted = count_allocations(tests::Asks::Yes);
  REQUIRE_THAT(counted.reply, Catch::Contains("JSONPatch"));
  CHECK(counted.allocations <= 40);
}

TEST_CASE("cost: a Pod of 4 KB that does not ask takes at most 40 allocations", "[cost]") {
  const Counted counted = count_allocations(tests::Asks::No);
  REQUIRE_THAT(counted.reply, !Catch::Contains("JSONPatch"));
  CHECK(counted.allocations <= 40);
}

}  // namespace
}  // namespace injector
