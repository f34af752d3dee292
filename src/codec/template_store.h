// The template that serves: the last good one. Content that cannot be used never replaces it; the
// failure is kept for whoever asks, and logged once.
//
// All functions may be called from any thread. A caller that needs one template from start to end
// takes current() once.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "codec/template.h"
#include "core/template.h"

namespace injector::codec {

class TemplateStore {
 public:
  struct Counts {
    std::uint64_t loaded = 0;
    std::uint64_t failed = 0;
  };

  explicit TemplateStore(base::Logger log, TemplateOptions options = {});

  /// Null until the first good template.
  [[nodiscard]] std::shared_ptr<const core::Template> current() const INJ_EXCLUDES(mutex_);

  /// Takes new content of `origin` (a file's name, "configmap ns/name"): serves it from now on, or
  /// fails and changes nothing.
  base::Result<void> update(std::string_view text, std::string_view origin) INJ_EXCLUDES(mutex_);

  /// Content that did not even arrive: a file that is gone, a ConfigMap that was deleted.
  void report_failure(const base::Error& error) INJ_EXCLUDES(mutex_);

  [[nodiscard]] Counts counts() const INJ_EXCLUDES(mutex_);

  /// Fails while there is no template.
  [[nodiscard]] base::Result<void> ready() const INJ_EXCLUDES(mutex_);

  /// The failure that keeps newer content from serving; empty when all is well.
  [[nodiscard]] std::optional<base::Error> failure() const INJ_EXCLUDES(mutex_);

 private:
  const base::Logger log_;
  const TemplateOptions options_;
  mutable base::Mutex mutex_;
  std::shared_ptr<const core::Template> current_ INJ_GUARDED_BY(mutex_);
  Counts counts_ INJ_GUARDED_BY(mutex_);
  std::optional<base::Error> failure_ INJ_GUARDED_BY(mutex_);  // Of the newest content.
};

}  // namespace injector::codec
