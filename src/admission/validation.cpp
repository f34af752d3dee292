#include "admission/validation.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"

namespace injector::admission {
namespace {

using templates::TemplateProblem;

constexpr int kBadRequest = 400;
constexpr int kUnprocessable = 422;
constexpr std::size_t kMessageBytes = 8192;  // kubectl prints all of it.

prometheus::Family<prometheus::Counter>& family(prometheus::Registry& registry) {
  return prometheus::BuildCounter()
      .Name("envoy_initializer_validation_requests_total")
      .Help("Reviews of a template before it is stored, by outcome.")
      .Register(registry);
}

// Lines count from the first of the text under the key config: that is what its author sees.
std::string text_of(const TemplateProblem& problem) {
  std::string text = problem.line == 0 ? "" : fmt::format("line {}: ", problem.line);
  if (!problem.path.empty()) {
    text += problem.path + ": ";
  }
  return text + problem.message;
}

std::string message_of(std::string_view key, const std::vector<TemplateProblem>& problems) {
  std::string message = fmt::format("the template in data.{} cannot be used, {} problem{}:", key,
                                    problems.size(), problems.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const std::string line = "\n  " + text_of(problems[i]);
    if (message.size() + line.size() > kMessageBytes) {
      return message + fmt::format("\n  and {} more", problems.size() - i);
    }
    message += line;
  }
  return message;
}

}  // namespace

Validation::Validation(TemplateConfigMapName ours, templates::TemplateOptions options,
                       prometheus::Registry& metrics, base::Logger log)
    : ours_(std::move(ours)),
      options_(std::move(options)),
      log_(std::move(log)),
      allowed_(family(metrics).Add({{"outcome", "allowed"}})),
      denied_(family(metrics).Add({{"outcome", "denied"}})),
      bad_requests_(family(metrics).Add({{"outcome", "error"}})) {}

HttpReply Validation::answer(std::string_view body) const {
  const auto request = read_review(body);
  if (!request) {
    bad_requests_.Increment();
    log_.warn("bad validation request", {{"error", request.error().message}});
    return {kBadRequest, request.error().message + "\n", "text/plain; charset=utf-8"};
  }
  const AdmissionResponse response = judge(request.value());
  (response.allowed ? allowed_ : denied_).Increment();
  if (!response.allowed) {
    log_.info("template refused", {{"namespace", base::echoed(request.value().name_space)},
                                   {"name", base::echoed(request.value().name)},
                                   {"dry_run", request.value().dry_run},
                                   {"detail", response.message},
                                   {"uid", base::echoed(request.value().uid)}});
  }
  return {200, write_review(request.value(), response)};
}

bool Validation::concerns_us(const AdmissionRequest& request) const {
  const bool written = request.operation == "CREATE" || request.operation == "UPDATE";
  return written && request.is_config_map() && !ours_.name.empty() &&
         request.name_space == ours_.name_space && request.name == ours_.name;
}

AdmissionResponse Validation::judge(const AdmissionRequest& request) const {
  AdmissionResponse response;
  if (!concerns_us(request)) {
    return response;
  }
  for (const auto& report : templates::check_templates(request.config_map, options_)) {
    for (const TemplateProblem& warning : report.warnings) {
      response.warnings.push_back(text_of(warning));
    }
    if (!report.value) {
      const std::string_view key =
          report.name == core::kDefaultTemplate ? "config" : std::string_view(report.name);
      response.allowed = false;
      response.code = kUnprocessable;
      response.message += response.message.empty() ? "" : "\n";
      response.message += message_of(key, report.problems);
    }
  }
  return response;
}

}  // namespace injector::admission
