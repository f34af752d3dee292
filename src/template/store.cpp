#include "template/store.h"

#include <algorithm>
#include <utility>

#include "core/native_sidecars.h"

namespace injector::templates {
namespace {

base::Result<void> first_failure(const std::vector<ParsedTemplate>& parsed) {
  for (const ParsedTemplate& each : parsed) {
    if (!each.result) {
      return each.result.error();
    }
  }
  return {};
}

std::vector<TemplateSlot> slots_of(const std::vector<ParsedTemplate>& parsed) {
  std::vector<TemplateSlot> slots;
  for (const ParsedTemplate& each : parsed) {
    slots.push_back(each.slot);
  }
  return slots;
}

}  // namespace

TemplateStore::TemplateStore(base::Logger log, TemplateOptions options)
    : log_(std::move(log)),
      options_(std::move(options)) {}

std::shared_ptr<const core::TemplateSet> TemplateStore::current() const {
  const base::MutexLock lock(mutex_);
  return current_;
}

bool TemplateStore::wait_for_change(const std::shared_ptr<const core::TemplateSet>& seen,
                                    const std::stop_token& stop) const {
  const base::MutexLock lock(mutex_);
  return changed_.wait(mutex_, stop, [&]() INJ_REQUIRES(mutex_) { return current_ != seen; });
}

base::Result<void> TemplateStore::update(std::string_view text, std::string_view origin) {
  return update({TemplateText{std::string(text), std::string(origin)}});
}

base::Result<void> TemplateStore::update(const std::vector<TemplateText>& texts) {
  std::vector<ParsedTemplate> all;
  for (const TemplateText& text : texts) {
    for (ParsedTemplate& each : parse(text)) {
      if (each.result) {
        serve(each.slot.source, each.result.value(), {each.result.value().origin});
      } else {
        report_failure(each.slot, each.result.error());
      }
      all.push_back(std::move(each));
    }
  }
  auto well = first_failure(all);
  if (well) {
    keep_only(TemplateSource::Text, slots_of(all));  // What cannot be read may hold the others.
  }
  return well;
}

std::vector<ParsedTemplate> TemplateStore::parse(const TemplateText& text) const {
  std::vector<ParsedTemplate> all;
  for (TemplateReport& report : check_templates(text.text, options_, text.name)) {
    all.push_back(parsed(std::move(report), text.origin));
  }
  return all;
}

ParsedTemplate TemplateStore::parsed(TemplateReport report, std::string_view origin) const {
  // In a text, an object is but another way to write a template.
  const TemplateSlot slot{TemplateSource::Text, report.name, report.name_space};
  if (!report.value) {
    return {slot, report.error(origin)};
  }
  if (auto passed = check(*report.value); !passed) {
    return {slot, base::annotate(std::move(passed).error(), origin)};
  }
  return {slot, std::move(report).served(origin)};
}

void TemplateStore::serve(core::Template tpl, const TemplateOrigin& origin) {
  serve(TemplateSource::Text, {std::make_shared<const core::Template>(std::move(tpl)), origin.name},
        origin);
}

void TemplateStore::serve(TemplateSource source, core::ServedTemplate served,
                          const TemplateOrigin& origin) {
  const TemplateSlot slot{source, served.tpl->name, served.name_space};
  const std::string hash = served.tpl->hash;
  bool shadowed = false;
  {
    const base::MutexLock lock(mutex_);
    Entry& entry = entries_[slot];
    entry.good = std::move(served);
    entry.remark = origin.remark;
    if (origin.newest) {
      entry.failure.reset();
      failure_.reset();
    }
    ++counts_.loaded;
    TemplateSlot twin = slot;
    twin.source = TemplateSource::Text;
    shadowed = source == TemplateSource::Object && entries_.contains(twin);
    rebuild();
  }
  if (origin.remark.empty()) {
    log_.info("template loaded", {{"origin", origin.name}, {"name", slot.name}, {"hash", hash}});
  } else {
    log_.warn(
        "template loaded",
        {{"origin", origin.name}, {"name", slot.name}, {"hash", hash}, {"remark", origin.remark}});
  }
  if (shadowed) {
    log_.warn("template of the ConfigMap does not serve: a SidecarTemplate has its name",
              {{"name", slot.name}, {"origin", origin.name}});
  }
}

// Objects come later, and of two with one name and scope a set keeps the later.
void TemplateStore::rebuild() {
  std::vector<core::ServedTemplate> served;
  for (const auto& [slot, entry] : entries_) {
    if (entry.good) {
      served.push_back(*entry.good);
    }
  }
  current_ = served.empty() ? nullptr
                            : std::make_shared<const core::TemplateSet>(std::move(served), native_);
  changed_.notify_all();
}

void TemplateStore::set_native_sidecars(core::NativeSidecars native) {
  {
    const base::MutexLock lock(mutex_);
    knows_native_ = true;
    if (native_ != native) {
      native_ = native;
      rebuild();
    }
  }
  if (native == core::NativeSidecars::No) {
    require(core::check_without_native);
  }
}

bool TemplateStore::knows_native_sidecars() const {
  const base::MutexLock lock(mutex_);
  return knows_native_;
}

void TemplateStore::require(std::function<base::Result<void>(const core::Template&)> check) {
  std::vector<std::pair<TemplateSlot, std::shared_ptr<const core::Template>>> serving;
  {
    const base::MutexLock lock(mutex_);
    check_ = std::move(check);
    for (const auto& [slot, entry] : entries_) {
      if (entry.good) {
        serving.emplace_back(slot, entry.good->tpl);
      }
    }
  }
  for (const auto& [slot, tpl] : serving) {
    auto passed = this->check(*tpl);
    if (passed) {
      continue;
    }
    {
      const base::MutexLock lock(mutex_);
      Entry& entry = entries_[slot];
      if (entry.good && entry.good->tpl == tpl) {
        entry.good.reset();
      }
      rebuild();
    }
    report_failure(slot, passed.error());
  }
}

base::Result<void> TemplateStore::check(const core::Template& tpl) const {
  std::function<base::Result<void>(const core::Template&)> check;
  {
    const base::MutexLock lock(mutex_);
    check = check_;
  }
  return check ? check(tpl) : base::Result<void>();
}

void TemplateStore::report_failure(const TemplateSlot& slot, const base::Error& error) {
  bool is_new = false;
  bool serving = false;
  {
    const base::MutexLock lock(mutex_);
    Entry& entry = entries_[slot];
    is_new = !entry.failure || entry.failure->message != error.message;
    serving = entry.good.has_value();
    entry.failure = error;
    ++counts_.failed;
  }
  if (is_new) {
    log_.error("template not usable",
               {{"error", error.message}, {"name", slot.name}, {"last_good_serves", serving}});
  }
}

void TemplateStore::report_failure(const base::Error& error) {
  bool is_new = false;
  bool serving = false;
  {
    const base::MutexLock lock(mutex_);
    is_new = !failure_ || failure_->message != error.message;
    serving = current_ != nullptr;
    failure_ = error;
    ++counts_.failed;
  }
  if (is_new) {
    log_.error("template not usable", {{"error", error.message}, {"last_good_serves", serving}});
  }
}

void TemplateStore::drop(const TemplateSlot& slot) {
  const base::MutexLock lock(mutex_);
  if (entries_.erase(slot) > 0) {
    rebuild();
  }
}

void TemplateStore::keep_only(TemplateSource source, const std::vector<TemplateSlot>& slots) {
  const base::MutexLock lock(mutex_);
  const std::size_t gone = std::erase_if(entries_, [&](const auto& each) {
    return each.first.source == source &&
           std::find(slots.begin(), slots.end(), each.first) == slots.end();
  });
  if (gone > 0) {
    rebuild();
  }
}

TemplateStore::Counts TemplateStore::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

base::Result<void> TemplateStore::ready() const {
  if (current() != nullptr) {
    return {};
  }
  const auto why = failure();
  return why ? *why : base::Error{base::ErrorCode::Unavailable, "no template yet"};
}

std::string TemplateStore::remark() const {
  const base::MutexLock lock(mutex_);
  std::string text;
  for (const auto& [slot, entry] : entries_) {
    if (!entry.remark.empty()) {
      text += (text.empty() ? "" : "; ") + entry.remark;
    }
  }
  return text;
}

std::optional<base::Error> TemplateStore::failure() const {
  const base::MutexLock lock(mutex_);
  if (failure_) {
    return failure_;
  }
  for (const auto& [slot, entry] : entries_) {
    if (entry.failure) {
      return entry.failure;
    }
  }
  return std::nullopt;
}

bool TemplateStore::serves(const TemplateSlot& slot) const {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(slot);
  return found != entries_.end() && found->second.good.has_value();
}

std::optional<base::Error> TemplateStore::failure(const TemplateSlot& slot) const {
  const base::MutexLock lock(mutex_);
  const auto found = entries_.find(slot);
  return found == entries_.end() ? std::nullopt : found->second.failure;
}

}  // namespace injector::templates
