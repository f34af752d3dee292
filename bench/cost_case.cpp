// One case many times, for an instruction counter (bench/check): everything in one thread and in
// memory.
//
//   cost_case CASE COUNT    CASE: skip, inject-4k, inject-64k, strategic-diff; COUNT 0: only
//   prepares it
//
// The instructions of one are those of COUNT + N less those of COUNT, divided by N.

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <prometheus/registry.h>

#include "admission/admission.h"
#include "base/json_text.h"
#include "core/inject.h"
#include "core/render.h"
#include "http/conversation.h"
#include "template/store.h"
#include "tests/support/sample_review.h"

namespace injector {
namespace {

using tests::Asks;

constexpr std::size_t kSmall = std::size_t{4} << 10U;
constexpr std::size_t kLarge = std::size_t{64} << 10U;

// The webhook from the bytes of a request to those of the reply; its log lines are formatted, and
// go nowhere.
class Webhook {
 public:
  Webhook()
      : templates_(base::Logger::silent()),
        metrics_(registry_),
        log_(base::LogFormat::Json, base::LogLevel::Info, [](std::string_view /*line*/) {}),
        admission_({templates_}, metrics_, log_),
        service_{.routes = admission::mutate_routes(
                     [this](std::string_view body) { return admission_.answer(body); }),
                 .limits = {},
                 .log = log_,
                 .bodies = http::BodyBudget(kLarge * 4)},
        conversation_(service_, engine_) {
    static_cast<void>(templates_.update(templates::default_template_text(), "built-in template"));
  }

  [[nodiscard]] bool answer(const std::string& request) {
    out_.clear();
    conversation_.take(request, out_);
    return out_.starts_with("HTTP/1.1 200 ");
  }

 private:
  templates::TemplateStore templates_;
  prometheus::Registry registry_;
  admission::AdmissionMetrics metrics_;
  base::Logger log_;
  admission::Admission admission_;
  http::Service service_;
  http::Engine engine_;
  http::Conversation conversation_;
  std::string out_;
};

std::string request_with(const std::string& body) {
  return fmt::format(
      "POST /mutate?timeout=10s HTTP/1.1\r\nHost: webhook.shop.svc:443\r\nUser-Agent: "
      "kube-apiserver-admission\r\nContent-Length: {}\r\nAccept: application/json, "
      "*/*\r\nContent-Type: application/json\r\nAccept-Encoding: gzip\r\n\r\n{}",
      body.size(), body);
}

bool admissions(std::size_t bytes, Asks asks, long count) {
  Webhook webhook;
  const std::string request = request_with(tests::sample_review(bytes, asks));
  bool good = true;
  for (long i = 0; i < count; ++i) {
    good = webhook.answer(request) && good;
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
