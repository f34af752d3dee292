#include "template/store.h"

#include <utility>

namespace injector::templates {

TemplateStore::TemplateStore(base::Logger log, TemplateOptions options)
    : log_(std::move(log)),
      options_(options) {}

std::shared_ptr<const core::Template> TemplateStore::current() const {
  const base::MutexLock lock(mutex_);
  return current_;
}

bool TemplateStore::wait_for_change(const std::shared_ptr<const core::Template>& seen,
                                    const std::stop_token& stop) const {
  const base::MutexLock lock(mutex_);
  return changed_.wait(mutex_, stop, [&]() INJ_REQUIRES(mutex_) { return current_ != seen; });
}

base::Result<void> TemplateStore::update(std::string_view text, std::string_view origin) {
  auto parsed = parse(text, origin);
  if (!parsed) {
    report_failure(parsed.error());
    return std::move(parsed).error();
  }
  serve(std::move(parsed).value(), {std::string(origin)});
  return {};
}

base::Result<core::Template> TemplateStore::parse(std::string_view text,
                                                  std::string_view origin) const {
  auto parsed = parse_template(text, origin, options_);
  if (!parsed) {
    return parsed;
  }
  if (auto passed = check(parsed.value()); !passed) {
    return base::annotate(std::move(passed).error(), origin);
  }
  return parsed;
}

void TemplateStore::serve(core::Template tpl, const TemplateOrigin& origin) {
  const auto next = std::make_shared<const core::Template>(std::move(tpl));
  {
    const base::MutexLock lock(mutex_);
    current_ = next;
    remark_ = origin.remark;
    if (origin.newest) {
      failure_.reset();
    }
    ++counts_.loaded;
  }
  changed_.notify_all();
  if (origin.remark.empty()) {
    log_.info("template loaded", {{"origin", origin.name}, {"hash", next->hash}});
  } else {
    log_.warn("template loaded",
              {{"origin", origin.name}, {"hash", next->hash}, {"remark", origin.remark}});
  }
}

void TemplateStore::require(std::function<base::Result<void>(const core::Template&)> check) {
  {
    const base::MutexLock lock(mutex_);
    check_ = std::move(check);
  }
  const auto serving = current();
  if (serving == nullptr) {
    return;
  }
  if (auto passed = this->check(*serving); !passed) {
    {
      const base::MutexLock lock(mutex_);
      current_ = current_ == serving ? nullptr : current_;
    }
    changed_.notify_all();
    report_failure(passed.error());
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

TemplateStore::Counts TemplateStore::counts() const {
  const base::MutexLock lock(mutex_);
  return counts_;
}

base::Result<void> TemplateStore::ready() const {
  const base::MutexLock lock(mutex_);
  if (current_ != nullptr) {
    return {};
  }
  return failure_ ? *failure_ : base::Error{base::ErrorCode::Unavailable, "no template yet"};
}

std::string TemplateStore::remark() const {
  const base::MutexLock lock(mutex_);
  return remark_;
}

std::optional<base::Error> TemplateStore::failure() const {
  const base::MutexLock lock(mutex_);
  return failure_;
}

}  // namespace injector::templates
