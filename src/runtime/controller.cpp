#include "runtime/controller.h"

#include <exception>
#include <thread>
#include <utility>
#include <vector>

namespace injector::runtime {

Controller::Controller(ControllerOptions options, Reconcile reconcile,
                       const LoopContext& loop_context)
    : name_(std::move(options.name)),
      workers_(options.workers),
      reconcile_(std::move(reconcile)),
      log_(loop_context.log),
      queue_(loop_context.clock, options.metrics) {}

void Controller::run(const std::stop_token& stop) {
  log_.info("controller started", {{"controller", name_}, {"workers", workers_}});
  std::vector<std::jthread> workers;
  for (std::size_t count = 0; count < workers_; ++count) {
    // The workers share the caller's token: `stop` reaches all of them at once.
    workers.emplace_back([this, &stop] { work(stop); });
  }
  workers.clear();  // Joins.
  log_.info("controller stopped", {{"controller", name_}});
}

void Controller::work(const std::stop_token& stop) {
  while (const auto lease = queue_.take(stop)) {
    settle(lease->key(), reconcile_safely(lease->key(), stop));
  }
}

Outcome Controller::reconcile_safely(const std::string& key, const std::stop_token& stop) {
  try {
    return reconcile_(key, stop);
  } catch (const std::exception& error) {
    return thrown(key, error.what());
  } catch (...) {
    return thrown(key, "not a std::exception");
  }
}

Outcome Controller::thrown(const std::string& key, const char* what) {
  log_.error("reconcile threw", {{"controller", name_}, {"key", key}, {"error", what}});
  return Outcome::retry(what);
}

void Controller::settle(const std::string& key, const Outcome& outcome) {
  if (outcome.kind == Outcome::Kind::Retry) {
    log_.info("reconcile will be retried", {{"controller", name_},
                                            {"key", key},
                                            {"retries", queue_.retries(key)},
                                            {"why", outcome.why}});
    queue_.add_rate_limited(key);
    return;
  }
  queue_.forget(key);
  if (outcome.kind == Outcome::Kind::RequeueAfter) {
    queue_.add_after(key, outcome.delay);
  } else if (outcome.kind == Outcome::Kind::GiveUp) {
    log_.error("reconcile gave up", {{"controller", name_}, {"key", key}, {"why", outcome.why}});
  }
}

}  // namespace injector::runtime
