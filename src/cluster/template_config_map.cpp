#include "cluster/template_config_map.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "cluster/template_trial.h"
#include "kube/discovery.h"
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
  const bool unfinished = to_keep_.has_value() || want_last_good_ || !native_known_;
  const base::MutexLock lock(mutex_);
  const auto is_news = [this]() INJ_REQUIRES(mutex_) { return news_; };
  if (unfinished) {
    changed_.wait_for(mutex_, stop, kRetry, is_news);
  } else {
    changed_.wait(mutex_, stop, is_news);
  }
  news_ = false;
}

void TemplateConfigMap::learn_native_sidecars(const std::stop_token& stop) {
  if (native_known_ || templates_.knows_native_sidecars()) {
    native_known_ = true;
    return;
  }
  const auto served = kube::serves_native_sidecars(client_, stop);
  native_known_ = served.has_value();
  if (served) {
    templates_.set_native_sidecars(served.value() ? core::NativeSidecars::Yes
                                                  : core::NativeSidecars::No);
  } else {
    loop_context_.log.warn("server version not known", {{"error", served.error().message}});
  }
}

void TemplateConfigMap::look(const std::stop_token& stop) {
  learn_native_sidecars(stop);
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
  std::vector<templates::TemplateSlot> slots;
  failed_.clear();
  bare_.clear();
  for (templates::ParsedTemplate& each : templates_.parse({object.json, origin_})) {
    slots.push_back(each.slot);
    take_one(std::move(each), stop);
  }
  templates_.keep_only(templates::TemplateSource::Text, slots);
  want_last_good_ = !bare_.empty();
  auto json = base::read_json(object.json);
  const Json* data = json ? base::find(std::as_const(json.value()), "data") : nullptr;
  if (data != nullptr && failed_.size() < slots.size()) {
    good_data_ = with_last_good(*data);
    to_keep_ = good_data_;
  }
}

void TemplateConfigMap::take_one(templates::ParsedTemplate parsed, const std::stop_token& stop) {
  if (!parsed.result) {
    refuse(parsed.slot, parsed.result.error());
    return;
  }
  auto remark = try_out(*parsed.result.value().tpl, stop);
  if (!remark) {
    refuse(parsed.slot, remark.error());
    return;
  }
  templates_.serve(parsed.slot.source, std::move(parsed.result).value(),
                   {origin_, std::move(remark).value()});
}

// The data that serves: of a key that cannot be used, what it was when it could.
Json TemplateConfigMap::with_last_good(Json data) const {
  for (const templates::TemplateSlot& slot : failed_) {
    const std::string key = slot.name == core::kDefaultTemplate ? "config" : slot.name;
    if (const Json* good = base::find(good_data_, key)) {
      data[key] = *good;
    } else {
      data.erase(key);
    }
  }
  return data;
}

void TemplateConfigMap::take_builtin() {
  templates_.keep_only(templates::TemplateSource::Text, {templates::TemplateSlot()});
  templates_.serve(
      templates::default_template(),
      {"built-in template", origin_ + " does not exist: the built-in template serves"});
  good_data_ = Json::object({{"config", std::string(templates::default_template_text())}});
  to_keep_ = good_data_;
}

void TemplateConfigMap::refuse(const templates::TemplateSlot& slot, const base::Error& error) {
  templates_.report_failure(slot, error);
  failed_.push_back(slot);
  if (!templates_.serves(slot)) {
    bare_.push_back(slot);
  }
}

// The remark under which the template may serve, usually none; or why it may not.
base::Result<std::string> TemplateConfigMap::try_out(const core::Template& tpl,
                                                     const std::stop_token& stop) {
  if (tried_.contains(tpl.hash)) {
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
  constexpr std::size_t kRemembered = 1000;
  if (tried_.size() >= kRemembered) {
    tried_.clear();
  }
  tried_.insert(tpl.hash);
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
  for (auto& each : templates_.parse({base::write_json(*object.value()), last_good_.origin()})) {
    if (std::find(bare_.begin(), bare_.end(), each.slot) == bare_.end()) {
      continue;
    }
    if (!each.result) {
      loop_context_.log.error("last good template not usable",
                              {{"error", each.result.error().message}});
      continue;
    }
    templates_.serve(each.slot.source, std::move(each.result).value(),
                     {.name = last_good_.origin(),
                      .remark = origin_ + " cannot be used: the last good template serves, from " +
                                last_good_.origin(),
                      .newest = false});
  }
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
