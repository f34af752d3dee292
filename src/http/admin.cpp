#include "http/admin.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <sstream>
#include <string_view>
#include <utility>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

namespace injector::http {
namespace {

using base::Result;

constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kMetricsText = "text/plain; version=0.0.4; charset=utf-8";

/// The lines of one probe and whether all went well.
class Report {
 public:
  void add(const std::string& name, const Result<void>& result) {
    lines_ += (result ? "[+]" : "[-]") + name + (result ? " ok" : " failed: ");
    lines_ += result ? "" : result.error().message;
    lines_ += "\n";
    passed_ = passed_ && result.has_value();
  }

  /// A failure that is worth a line and does not make the probe fail.
  void add_note(const std::string& name, const Result<void>& result) {
    lines_ += result ? "[+]" + name + " ok\n"
                     : "[!]" + name +
                           " failed, the last good state serves: " + result.error().message + "\n";
  }

  [[nodiscard]] Reply reply(const std::string& probe, bool verbose) && {
    if (!passed_) {
      return {503, std::move(lines_) + probe + " check failed\n", kText};
    }
    return {200, verbose ? std::move(lines_) + probe + " check passed\n" : "ok", kText};
  }

 private:
  std::string lines_;
  bool passed_ = true;
};

bool wants_details(const Request& request) {
  const std::string_view query = request.query;
  return query == "verbose" || query.starts_with("verbose&") || query.starts_with("verbose=") ||
         query.find("&verbose") != std::string_view::npos;
}

Reply metrics_page(const Collectables& sources) {
  std::vector<prometheus::MetricFamily> families;
  for (const auto& source : sources) {
    auto collected = source->Collect();
    std::move(collected.begin(), collected.end(), std::back_inserter(families));
  }
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return {200, std::move(text).str(), kMetricsText};
}

Result<void> run_check(const Health::Check& check) {
  try {
    return check();
  } catch (const std::exception& error) {
    return base::Error{base::ErrorCode::Internal, error.what()};
  }
}

template <class Checks>
Report run_checks(const Checks& checks) {
  Report report;
  report.add("ping", {});
  for (const auto& check : checks) {
    report.add(check.name, run_check(check.check));
  }
  return report;
}

}  // namespace

void Health::add_readiness_check(std::string name, Check check) {
  const base::MutexLock lock(mutex_);
  readiness_.push_back({std::move(name), std::move(check)});
}

void Health::add_note(std::string name, Check check) {
  const base::MutexLock lock(mutex_);
  notes_.push_back({std::move(name), std::move(check)});
}

void Health::add_liveness_check(std::string name, Check check) {
  const base::MutexLock lock(mutex_);
  liveness_.push_back({std::move(name), std::move(check)});
}

Reply Health::liveness(bool verbose) const {
  std::vector<NamedCheck> checks;
  {
    const base::MutexLock lock(mutex_);
    checks = liveness_;
  }
  Report report = run_checks(checks);
  return std::move(report).reply("livez", verbose);
}

Reply Health::readiness(bool verbose) const {
  std::vector<NamedCheck> checks;
  std::vector<NamedCheck> notes;
  {
    const base::MutexLock lock(mutex_);
    checks = readiness_;
    notes = notes_;
  }
  Report report = run_checks(checks);
  for (const NamedCheck& note : notes) {
    report.add_note(note.name, run_check(note.check));
  }
  report.add("shutdown", draining_ ? Result<void>(base::Error{base::ErrorCode::Unavailable,
                                                              "process is shutting down"})
                                   : Result<void>());
  return std::move(report).reply("readyz", verbose);
}

Routes admin_routes(const Health& health, Collectables metrics, std::string version) {
  const auto live = [&health](const Request& request) {
    return health.liveness(wants_details(request));
  };
  const auto ready = [&health](const Request& request) {
    return health.readiness(wants_details(request));
  };
  return {
      {Method::Get, "/healthz", live},
      {Method::Get, "/livez", live},
      {Method::Get, "/readyz", ready},
      {Method::Get, "/metrics",
       [sources = std::move(metrics)](const Request&) { return metrics_page(sources); }},
      {Method::Get, "/version",
       [json = std::move(version)](const Request&) {
         return Reply{200, json};
       }},
  };
}

}  // namespace injector::http
