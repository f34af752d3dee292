// One case many times, for an instruction counter (bench/check): in one thread and in memory.
//
//   cost_case CASE COUNT    CASE: skip, inject-4k, inject-64k, strategic-diff
//
// The instructions of one are those of COUNT + N less those of COUNT, divided by N.

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "base/json_text.h"
#include "core/inject.h"
#include "core/render.h"
#include "template/store.h"
#include "tests/cost/webhook.h"
#include "tests/support/sample_review.h"

namespace injector {
namespace {

using tests::Asks;

constexpr std::size_t kSmall = std::size_t{4} << 10U;
constexpr std::size_t kLarge = std::size_t{64} << 10U;

bool admissions(std::size_t bytes, Asks asks, long count) {
  tests::Webhook webhook;
  const std::string request = tests::request_with(tests::sample_review(bytes, asks));
  bool good = true;
  for (long i = 0; i < count; ++i) {
    good = webhook.answer(request).starts_with("HTTP/1.1 200 ") && good;
  }
  return good;
}

// What the control loop does with an object: decide, patch, and the difference of the two.
bool strategic_diffs(long count) {
  const base::Json pod = base::read_json(tests::sample_pod(kSmall, Asks::Yes)).value();
  const core::Template& tpl = templates::default_template();
  bool good = true;
  for (long i = 0; i < count; ++i) {
    const auto facts = core::pod_facts(pod).value();
    const core::Decision decision = core::inject(facts, nullptr, tpl, {});
    good =
        core::strategic_patch(pod, core::patched_object(pod, decision.plan), "Pod").has_value() &&
        good;
  }
  return good;
}

const std::map<std::string, std::function<bool(long)>> kCases = {
    {"skip", [](long count) { return admissions(kSmall, Asks::No, count); }},
    {"inject-4k", [](long count) { return admissions(kSmall, Asks::Yes, count); }},
    {"inject-64k", [](long count) { return admissions(kLarge, Asks::Yes, count); }},
    {"strategic-diff", strategic_diffs},
};

int run(const std::string& name, long count) {
  const auto found = kCases.find(name);
  if (found == kCases.end()) {
    std::cerr << "no such case: " << name << "\n";
    return 2;
  }
  return found->second(count) ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace injector

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: cost_case CASE COUNT\n";
    return 2;
  }
  return injector::run(argv[1], std::strtol(argv[2], nullptr, 10));
}
