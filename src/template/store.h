// The templates that serve: of each the last good version. Content that cannot be used never
// replaces its own last good version, and never the other templates; the failure is kept for
// whoever asks, and logged once.
//
// All functions may be called from any thread. A caller that needs the same templates from start to
// end takes current() once.

#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"
#include "core/template.h"
#include "core/template_set.h"
#include "template/parser.h"

namespace injector::templates {

/// Where a template comes from.
struct TemplateOrigin {
  std::string name;         // A file's name, "configmap ns/name".
  std::string remark = {};  // What somebody should know of it; see TemplateStore::remark().
  bool newest = true;       // False: it serves instead of newer content that cannot be used.
};

/// Of two templates with the same name and scope, an object's serves.
enum class TemplateSource {
  Text,    // A ConfigMap, or files.
  Object,  // A SidecarTemplate.
};

/// One template of one source, whatever its version.
struct TemplateSlot {
  TemplateSource source = TemplateSource::Text;
  std::string name{core::kDefaultTemplate};
  std::string name_space = {};  // The scope; empty: the whole cluster.

  auto operator<=>(const TemplateSlot&) const = default;
};

/// A text with templates, such as a file.
struct TemplateText {
  std::string text;
  std::string origin;
  std::string name{core::kDefaultTemplate};  // Of a bare template.
};

/// What one template of a text came to.
struct ParsedTemplate {
  TemplateSlot slot;
  base::Result<core::ServedTemplate> result;
};

class TemplateStore {
 public:
  struct Counts {
    std::uint64_t loaded = 0;
    std::uint64_t failed = 0;
  };

  explicit TemplateStore(base::Logger log, TemplateOptions options = {});

  /// Null until the first good template.
  [[nodiscard]] std::shared_ptr<const core::TemplateSet> current() const INJ_EXCLUDES(mutex_);

  /// Blocks until current() is not `seen` any more; false once `stop` is requested.
  [[nodiscard]] bool wait_for_change(const std::shared_ptr<const core::TemplateSet>& seen,
                                     const std::stop_token& stop) const INJ_EXCLUDES(mutex_);

  /// Takes new content of `origin` (a file's name, "configmap ns/name"), all there is of
  /// TemplateSource::Text. What is good serves from now on, and what is gone no longer does. Fails
  /// if something in it cannot be used: of that, the last good version goes on serving.
  base::Result<void> update(std::string_view text, std::string_view origin) INJ_EXCLUDES(mutex_);
  base::Result<void> update(const std::vector<TemplateText>& texts) INJ_EXCLUDES(mutex_);

  /// What a template has to pass besides being well-formed, such as what the API server can do.
  /// Holds from now on, and for those that serve: what fails serves no longer.
  void require(std::function<base::Result<void>(const core::Template&)> check) INJ_EXCLUDES(mutex_);

  /// What `placement: auto` means; Yes until somebody knows better. Without them, templates that
  /// cannot do without serve no longer.
  void set_native_sidecars(core::NativeSidecars native) INJ_EXCLUDES(mutex_);

  /// Whether somebody said so.
  [[nodiscard]] bool knows_native_sidecars() const INJ_EXCLUDES(mutex_);

  /// The first half of update(), for who has to look at the templates before they serve. Failures
  /// are the caller's to report.
  [[nodiscard]] std::vector<ParsedTemplate> parse(const TemplateText& text) const
      INJ_EXCLUDES(mutex_);

  // The second half, template by template.

  /// Content that is not the newest leaves the failure of the newest as it is.
  void serve(TemplateSource source, core::ServedTemplate served, const TemplateOrigin& origin)
      INJ_EXCLUDES(mutex_);
  /// A default template.
  void serve(core::Template tpl, const TemplateOrigin& origin) INJ_EXCLUDES(mutex_);

  /// Its last good version goes on serving.
  void report_failure(const TemplateSlot& slot, const base::Error& error) INJ_EXCLUDES(mutex_);

  /// It is gone, and its failure with it.
  void drop(const TemplateSlot& slot) INJ_EXCLUDES(mutex_);

  /// Drops all of `source` but these.
  void keep_only(TemplateSource source, const std::vector<TemplateSlot>& slots)
      INJ_EXCLUDES(mutex_);

  /// Content that did not even arrive, such as a file that is gone, or that was refused elsewhere.
  void report_failure(const base::Error& error) INJ_EXCLUDES(mutex_);

  [[nodiscard]] Counts counts() const INJ_EXCLUDES(mutex_);

  /// Fails while there is no template.
  [[nodiscard]] base::Result<void> ready() const INJ_EXCLUDES(mutex_);

  /// The first failure that keeps newer content from serving; empty when all is well.
  [[nodiscard]] std::optional<base::Error> failure() const INJ_EXCLUDES(mutex_);

  /// The failure of this one.
  [[nodiscard]] std::optional<base::Error> failure(const TemplateSlot& slot) const
      INJ_EXCLUDES(mutex_);

  /// Whether some version of this one serves.
  [[nodiscard]] bool serves(const TemplateSlot& slot) const INJ_EXCLUDES(mutex_);

  /// What somebody should know of the templates that serve: that it is the built-in one because
  /// there is no other, that nobody tried it. Usually empty.
  [[nodiscard]] std::string remark() const INJ_EXCLUDES(mutex_);

 private:
  struct Entry {
    std::optional<core::ServedTemplate> good;
    std::string remark;                  // On that one.
    std::optional<base::Error> failure;  // Of the newest content.
  };

  [[nodiscard]] base::Result<void> check(const core::Template& tpl) const INJ_EXCLUDES(mutex_);
  [[nodiscard]] ParsedTemplate parsed(TemplateReport report, std::string_view origin) const
      INJ_EXCLUDES(mutex_);
  void rebuild() INJ_REQUIRES(mutex_);

  const base::Logger log_;
  const TemplateOptions options_;
  mutable base::Mutex mutex_;
  mutable std::condition_variable_any changed_;  // current_ has.
  std::function<base::Result<void>(const core::Template&)> check_ INJ_GUARDED_BY(mutex_);
  core::NativeSidecars native_ INJ_GUARDED_BY(mutex_) = core::NativeSidecars::Yes;
  bool knows_native_ INJ_GUARDED_BY(mutex_) = false;
  std::map<TemplateSlot, Entry> entries_ INJ_GUARDED_BY(mutex_);  // Objects behind texts.
  std::shared_ptr<const core::TemplateSet> current_ INJ_GUARDED_BY(mutex_);  // Of their good ones.
  Counts counts_ INJ_GUARDED_BY(mutex_);
  std::optional<base::Error> failure_ INJ_GUARDED_BY(mutex_);  // Of no template in particular.
};

}  // namespace injector::templates
