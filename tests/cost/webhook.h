// The webhook from the bytes of a request to those of the reply, without sockets, for programs that
// count what that takes. Its log lines are formatted, and go nowhere.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <prometheus/registry.h>

#include "admission/admission.h"
#include "http/conversation.h"
#include "template/store.h"

namespace injector::tests {

class Webhook {
 public:
  Webhook()
      : templates_(base::Logger::silent()),
        metrics_(registry_),
        log_(base::LogFormat::Json, base::LogLevel::Info, [](std::string_view /*line*/) {}),
        admission_({templates_}, metrics_, log_),
        service_{.routes = admission::webhook_routes(
                     {[this](std::string_view body) { return admission_.answer_at_once(body); },
                      [this](std::string_view body) { return admission_.answer(body); }},
                     [](std::string_view /*body*/) { return admission::HttpReply(); }),
                 .limits = {},
                 .log = log_,
                 .bodies = http::BodyBudget(std::size_t{1} << 20U)},
        conversation_(service_, engine_) {
    static_cast<void>(templates_.update(templates::default_template_text(), "built-in template"));
  }

  /// The reply; valid until the next call.
  [[nodiscard]] const std::string& answer(const std::string& request) {
    out_.clear();
    conversation_.take(request, out_);
    return out_;
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

/// As an API server sends it.
[[nodiscard]] inline std::string request_with(const std::string& body) {
  return fmt::format(
      "POST /mutate?timeout=10s HTTP/1.1\r\nHost: webhook.shop.svc:443\r\n"
      "User-Agent: kube-apiserver-admission\r\nContent-Length: {}\r\n"
      "Accept: application/json, */*\r\nContent-Type: application/json\r\n"
      "Accept-Encoding: gzip\r\n\r\n{}",
      body.size(), body);
}

}  // namespace injector::tests
