#include "codec/template_store.h"

#include <utility>

namespace injector::codec {

TemplateStore::TemplateStore(base::Logger log, TemplateOptions options)
    : log_(std::move(log)),
      options_(options) {}

std::shared_ptr<const core::Template> TemplateStore::current() const {
  const base::MutexLock lock(mutex_);
  return current_;
}

base::Result<void> TemplateStore::update(std::string_view text, std::string_view origin) {
  auto parsed = parse_template(text, origin, options_);
  if (!parsed) {
    report_failure(parsed.error());
    return std::move(parsed).error();
  }
  auto next = std::make_shared<const core::Template>(std::move(parsed).value());
  {
    const base::MutexLock lock(mutex_);
    current_ = next;
    failure_.reset();
    ++counts_.loaded;
  }
  log_.info("template loaded", {{"origin", origin}, {"hash", next->hash}});
  return {};
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

std::optional<base::Error> TemplateStore::failure() const {
  const base::MutexLock lock(mutex_);
  return failure_;
}

}  // namespace injector::codec
