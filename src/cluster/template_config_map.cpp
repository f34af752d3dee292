#include "cluster/template_config_map.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cluster/template_trial.h"
#include "kube/resource.h"
#include "template/parser.h"

namespace injector::cluster {
namespace {

using namespace std::chrono_literals;
using base::Json;

constexpr auto kRetry = 5s;  // Of what the API server did not do for us.

std::string describe(const ObjectName& name) {
  return fmt::format("configmap {}/{}", name.name_space, name.name);
}

std::string words(const core::ProbeVerdict& verdict) {
  if (verdict.problems.empty()) {
    return verdict.message;
  }
  std::string text;
  for (const core::ProbeProblem& problem : verdict.problems) {
    text += text.empty() ? "" : "; ";
    text += problem.path.empty() ? problem.message : problem.path + ": " + problem.message;
  }
  return text;
}

}  // namespace

TemplateConfigMap::TemplateConfigMap(kube::RestClient& client, const ObjectName& name,
                                     templates::TemplateStore& templates, core::Policy policy,
                                     const runtime::LoopContext& loop_context, LastGood keeping)
    : client_(client),
      name_(name),
      origin_(describe(name)),
      templates_(templates),
      policy_(std::move(policy)),
      loop_context_(loop_context),
      keeping_(keeping),
      last_good_(client, name.name_space, name.name + kLastGoodSuffix),
      running_(client, kube::kConfigMaps,
               {.name_space = name.name_space, .field_selector = "metadata.name=" + name.name},
               {.kind = "ConfigMap"}, loop_context) {
  running_.informer().add_handler({
      .on_add = [this](const runtime::Added&) { wake(); },
      .on_update = [this](const runtime::Updated&) { wake(); },
      .on_delete = [this](const runtime::Deleted&) { wake(); },
  });
  running_.start();
  thread_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
}

bool TemplateConfigMap::wait_for_sync(const std::stop_token& stop) {
  const base::MutexLock lock(mutex_);
  return changed_.wait(mutex_, stop, [this]() INJ_REQUIRES(mutex_) { return looked_; });
}

base::Result<void> TemplateConfigMap::kept() const {
  const base::MutexLock lock(mutex_);
  return kept_;
}

void TemplateConfigMap::wake() {
  {
    const base::MutexLock lock(mutex_);
    news_ = true;
  }
  changed_.notify_all();
}

void TemplateConfigMap::follow(const std::stop_token& stop) {
  if (!running_.informer().wait_for_sync(stop)) {
    return;
  }
  while (!stop.stop_requested()) {
    look(stop);
    {
      const base::MutexLock lock(mutex_);
      looked_ = true;
    }
    changed_.notify_all();
    keep(stop);
    wait_for_news(stop);
  }
}

void TemplateConfigMap::wait_for_news(const std::stop_token& stop) {
  const bool unfinished = to_keep_.has_value() || want_last_good_;
  const base::MutexLock lock(mutex_);
  const auto is_news = [this]() INJ_REQUIRES(mutex_) { return news_; };
  if (unfinished) {
    changed_.wait_for(mutex_, stop, kRetry, is_news);
  } else {
    changed_.wait(mutex_, stop, is_news);
  }
  news_ = false;
}

void TemplateConfigMap::look(const std::stop_token& stop) {
  const runtime::ObjectPtr object = running_.informer().store().get(name_.name_space, name_.name);
  std::string version = object ? "at " + object->resource_version : std::string();
  if (seen_ != version) {
    seen_ = std::move(version);
    want_last_good_ = false;
    if (object) {
      take(*object, stop);
    } else {
      take_builtin();
    }
  }
  if (want_last_good_) {
    serve_last_good(stop);
  }
}

void TemplateConfigMap::take(const runtime::Object& object, const std::stop_token& stop) {
  auto parsed = templates_.parse(object.json, origin_);
  if (!parsed) {
    refuse(parsed.error());
    return;
  }
  auto remark = try_out(parsed.value(), stop);
  if (!remark) {
    refuse(remark.error());
    return;
  }
  templates_.serve(std::move(parsed).value(), {origin_, std::move(remark).value()});
  auto json = base::read_json(object.json);
  const Json* data = json ? base::find(std::as_const(json.value()), "data") : nullptr;
  to_keep_ = data == nullptr ? std::optional<Json>() : std::optional<Json>(*data);
}

void TemplateConfigMap::take_builtin() {
  templates_.serve(
      templates::default_template(),
      {"built-in template", origin_ + " does not exist: the built-in template serves"});
  to_keep_ = Json::object({{"config", std::string(templates::default_template_text())}});
}

void TemplateConfigMap::refuse(const base::Error& error) {
  templates_.report_failure(error);
  want_last_good_ = templates_.current() == nullptr;
}

// The remark under which the template may serve, usually none; or why it may not.
base::Result<std::string> TemplateConfigMap::try_out(const core::Template& tpl,
                                                     const std::stop_token& stop) {
  if (tpl.hash == tried_) {
    return std::string();
  }
  const core::ProbeVerdict verdict = try_template(client_, name_.name_space, tpl, policy_, stop);
  switch (verdict.outcome) {
    case core::ProbeOutcome::Refused:
      return base::invalid(
          fmt::format("{}: the API server refuses a Pod with it: {}", origin_, words(verdict)));
    case core::ProbeOutcome::Undecided:
      return fmt::format("not tried on the API server: {}", verdict.message);
    case core::ProbeOutcome::Accepted:
      break;
  }
  tried_ = tpl.hash;
  return std::string();
}

void TemplateConfigMap::serve_last_good(const std::stop_token& stop) {
  const auto object = last_good_.read(stop);
  if (!object) {
    loop_context_.log.warn("last good template not read", {{"error", object.error().message}});
    return;  // Once more, later.
  }
  want_last_good_ = false;
  if (!object.value()) {
    return;
  }
  auto parsed = templates_.parse(base::write_json(*object.value()), last_good_.origin());
  if (!parsed) {
    loop_context_.log.error("last good template not usable", {{"error", parsed.error().message}});
    return;
  }
  templates_.serve(std::move(parsed).value(),
                   {.name = last_good_.origin(),
                    .remark = origin_ + " cannot be used: the last good template serves, from " +
                              last_good_.origin(),
                    .newest = false});
}

void TemplateConfigMap::keep(const std::stop_token& stop) {
  if (keeping_ == LastGood::ReadOnly) {
    to_keep_.reset();
  }
  if (!to_keep_) {
    return;
  }
  const auto written = last_good_.write(*to_keep_, stop);
  if (written) {
    to_keep_.reset();
  }
  bool is_new = false;
  {
    const base::MutexLock lock(mutex_);
    is_new = !written && (kept_ || kept_.error().message != written.error().message);
    kept_ = written;
  }
  if (is_new && written.error().code != base::ErrorCode::Cancelled) {
    loop_context_.log.warn("last good template not kept", {{"error", written.error().message}});
  }
}

}  // namespace injector::cluster
