#include "cluster/fresh_namespaces.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include "core/opt_in.h"

namespace injector::cluster {
namespace {

using SteadyTime = std::chrono::steady_clock;

constexpr std::size_t kMissingAtMost = 256;  // Names remembered; more are forgotten all at once.

prometheus::ClientMetric counted(std::uint64_t number, const char* result) {
  prometheus::ClientMetric metric;
  metric.label.push_back({"result", result});
  metric.counter.value = static_cast<double>(number);
  return metric;
}

}  // namespace

FreshNamespaces::FreshNamespaces(NamespaceSource source, core::Policy policy,
                                 const base::Clock& clock, base::Logger log,
                                 FreshNamespacesOptions options)
    : source_(std::move(source)),
      policy_(std::move(policy)),
      clock_(clock),
      log_(std::move(log)),
      options_(options) {}

std::optional<NamespaceFacts> FreshNamespaces::find_at_once(const std::string& name) {
  NamespaceFacts cached = source_.cached(name);
  const bool believed = cached && is_up_to_date() && asks(*cached);
  if (believed || known_missing(name, clock_.now())) {
    return cached;
  }
  return std::nullopt;
}

NamespaceFacts FreshNamespaces::find(const std::string& name) {
  if (auto known = find_at_once(name)) {
    return *std::move(known);
  }
  NamespaceFacts cached = source_.cached(name);
  const auto deadline = SteadyTime::now() + options_.timeout;
  if (!may_ask(clock_.now(), cached && is_up_to_date()) || !wait_for_turn(deadline)) {
    count_spared();
    return cached;
  }
  return fetch(name, std::move(cached), deadline);
}

bool FreshNamespaces::is_up_to_date() const {
  return source_.out_of_touch() == base::Duration(0);
}

bool FreshNamespaces::asks(const core::MetaFacts& facts) const {
  return core::opt_in(core::PodFacts{}, &facts, policy_).answer == core::Answer::Yes;
}

// Only what the cache could answer as well is limited in number.
bool FreshNamespaces::may_ask(base::TimePoint now, bool up_to_date) {
  const base::MutexLock lock(mutex_);
  if (!window_ || now - *window_ >= std::chrono::seconds(1)) {
    window_ = now;
    in_window_ = 0;
  }
  return ++in_window_ <= options_.a_second || !up_to_date;
}

bool FreshNamespaces::wait_for_turn(SteadyTime::time_point deadline) {
  const base::MutexLock lock(mutex_);
  const bool free = turn_.wait_until(
      mutex_, deadline, [this]() INJ_REQUIRES(mutex_) { return running_ < options_.at_once; });
  running_ += free ? 1 : 0;
  return free;
}

NamespaceFacts FreshNamespaces::fetch(const std::string& name, NamespaceFacts cached,
                                      SteadyTime::time_point deadline) {
  const auto left = std::chrono::duration_cast<base::Duration>(deadline - SteadyTime::now());
  auto answer = source_.fetch(name, std::max(left, base::Duration(1)));
  finish(name, answer);
  if (answer) {
    return std::make_shared<const core::MetaFacts>(std::move(answer).value());
  }
  return answer.error().code == base::ErrorCode::NotFound ? nullptr : cached;
}

void FreshNamespaces::finish(const std::string& name, const base::Result<core::MetaFacts>& answer) {
  const bool not_found = !answer && answer.error().code == base::ErrorCode::NotFound;
  const bool failed = !answer && !not_found;
  const base::TimePoint now = clock_.now();
  bool is_new = false;
  {
    const base::MutexLock lock(mutex_);
    --running_;
    ++(failed ? counts_.failed : counts_.answered);
    if (not_found) {
      if (missing_.size() >= kMissingAtMost) {
        missing_.clear();
      }
      missing_[name] = now;
    }
    is_new = failed && !failing_;
    failing_ = failed;
  }
  turn_.notify_one();
  if (is_new) {
    log_.warn("namespace not looked up", {{"namespace", name}, {"error", answer.error().message}});
  }
}

bool FreshNamespaces::known_missing(const std::string& name, base::TimePoint now) {
  const base::MutexLock lock(mutex_);
  const auto found = missing_.find(name);
  if (found == missing_.end()) {
    return false;
  }
  if (now - found->second < options_.missing) {
    return true;
  }
  missing_.erase(found);
  return false;
}

void FreshNamespaces::count_spared() {
  const base::MutexLock lock(mutex_);
  ++counts_.spared;
}

FreshNamespaces::Counts FreshNamespaces::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

std::vector<prometheus::MetricFamily> NamespaceMetrics::Collect() const {
  prometheus::MetricFamily age;
  age.name = "envoy_initializer_namespace_cache_age_seconds";
  age.help = "How long the Namespaces have not been watched; 0 while they are.";
  age.type = prometheus::MetricType::Gauge;
  age.metric.resize(1);
  age.metric.front().gauge.value =
      std::chrono::duration<double>(namespaces_.out_of_touch()).count();
  const FreshNamespaces::Counts counts = namespaces_.counts();
  prometheus::MetricFamily looks;
  looks.name = "envoy_initializer_namespace_lookups_total";
  looks.help = "Namespaces asked of the API server for an admission, by result.";
  looks.type = prometheus::MetricType::Counter;
  looks.metric = {counted(counts.answered, "answered"), counted(counts.failed, "failed"),
                  counted(counts.spared, "spared")};
  return {age, looks};
}

}  // namespace injector::cluster
