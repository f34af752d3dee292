// The template that serves: the last good one. Content that cannot be used never replaces it; the
// failure is kept for whoever asks, and logged once.
//
// All functions may be called from any thread. A caller that needs one template from start to end
// takes current() once.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "core/template.h"
#include "template/parser.h"

namespace injector::templates {

/// Where a template comes from.
struct TemplateOrigin {
  std::string name;         // A file's name, "configmap ns/name".
  std::string remark = {};  // What somebody should know of it; see TemplateStore::remark().
  bool newest = true;       // False: it serves instead of newer content that cannot be used.
};

class TemplateStore {
 public:
  struct Counts {
    std::uint64_t loaded = 0;
    std::uint64_t failed = 0;
  };

  explicit TemplateStore(base::Logger log, TemplateOptions options = {});

  /// Null until the first good template.
  [[nodiscard]] std::shared_ptr<const core::Template> current() const INJ_EXCLUDES(mutex_);

  /// Blocks until current() is not `seen` any more; false once `stop` is requested.
  [[nodiscard]] bool wait_for_change(const std::shared_ptr<const core::Template>& seen,
                                     const std::stop_token& stop) const INJ_EXCLUDES(mutex_);

  /// Takes new content of `origin` (a file's name, "configmap ns/name"): serves it from now on, or
  /// fails and changes nothing.
  base::Result<void> update(std::string_view text, std::string_view origin) INJ_EXCLUDES(mutex_);

  /// What a template has to pass besides being well-formed, such as what the API server can do.
  /// Holds from now on, and for the template that serves: if that fails, none serves.
  void require(std::function<base::Result<void>(const core::Template&)> check) INJ_EXCLUDES(mutex_);

  /// The first half of update(), for who has to look at the template before it serves. A failure is
  /// the caller's to report.
  [[nodiscard]] base::Result<core::Template> parse(std::string_view text,
                                                   std::string_view origin) const
      INJ_EXCLUDES(mutex_);

  /// The second half. Content that is not the newest leaves the failure of the newest as it is.
  void serve(core::Template tpl, const TemplateOrigin& origin) INJ_EXCLUDES(mutex_);

  /// Content that did not even arrive, such as a file that is gone, or that was refused elsewhere.
  void report_failure(const base::Error& error) INJ_EXCLUDES(mutex_);

  [[nodiscard]] Counts counts() const INJ_EXCLUDES(mutex_);

  /// Fails while there is no template.
  [[nodiscard]] base::Result<void> ready() const INJ_EXCLUDES(mutex_);

  /// The failure that keeps newer content from serving; empty when all is well.
  [[nodiscard]] std::optional<base::Error> failure() const INJ_EXCLUDES(mutex_);

  /// What somebody should know of the template that serves: that it is the built-in one because
  /// there is no other, that nobody tried it. Usually empty.
  [[nodiscard]] std::string remark() const INJ_EXCLUDES(mutex_);

 private:
  [[nodiscard]] base::Result<void> check(const core::Template& tpl) const INJ_EXCLUDES(mutex_);

  const base::Logger log_;
  const TemplateOptions options_;
  mutable base::Mutex mutex_;
  mutable std::condition_variable_any changed_;  // current_ has.
  std::function<base::Result<void>(const core::Template&)> check_ INJ_GUARDED_BY(mutex_);
  std::shared_ptr<const core::Template> current_ INJ_GUARDED_BY(mutex_);
  std::string remark_ INJ_GUARDED_BY(mutex_);  // On current_.
  Counts counts_ INJ_GUARDED_BY(mutex_);
  std::optional<base::Error> failure_ INJ_GUARDED_BY(mutex_);  // Of the newest content.
};

}  // namespace injector::templates
