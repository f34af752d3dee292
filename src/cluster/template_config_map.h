// The template in a ConfigMap, followed by an informer on exactly that object:
//
//   it can be used      serves, and is kept as the last good one (NAME-last-good beside it)
//   it cannot           what serves goes on serving; after a restart that is the last good one
//   it does not exist   the built-in template serves, and is kept likewise; so deleting the
//                       ConfigMap is the way back to the built-in template
//
// "Can be used" means: the linter finds nothing, and the API server accepts a dry run of a Pod with
// it. A dry run that says nothing (no right to it, nobody there) does not stop a template; it
// serves with a remark.
//
// Works on a thread of its own; what it finds is in the TemplateStore.

#pragma once

#include <condition_variable>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"
#include "cluster/last_good_template.h"
#include "cluster/running_informer.h"
#include "core/policy.h"
#include "kube/rest_client.h"
#include "runtime/loop_context.h"
#include "template/store.h"

namespace injector::cluster {

/// Whether what serves is written down for the next start. A dry run reads only.
enum class LastGood { Keep, ReadOnly };

class TemplateConfigMap {
 public:
  /// `client` and `templates` are not owned and outlive this.
  TemplateConfigMap(kube::RestClient& client, const ObjectName& name,
                    templates::TemplateStore& templates, core::Policy policy,
                    const runtime::LoopContext& loop_context, LastGood keeping = LastGood::Keep);

  /// Blocks until the ConfigMap was looked at once, or `stop`: then false.
  [[nodiscard]] bool wait_for_sync(const std::stop_token& stop) INJ_EXCLUDES(mutex_);

  /// Why the template that serves is not kept for the next start; well otherwise.
  [[nodiscard]] base::Result<void> kept() const INJ_EXCLUDES(mutex_);

 private:
  void follow(const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  void wait_for_news(const std::stop_token& stop) INJ_EXCLUDES(mutex_);
  void wake() INJ_EXCLUDES(mutex_);

  void learn_native_sidecars(const std::stop_token& stop);
  void look(const std::stop_token& stop);
  void take(const runtime::Object& object, const std::stop_token& stop);
  void take_one(templates::ParsedTemplate parsed, const std::stop_token& stop);
  void take_builtin();
  void refuse(const templates::TemplateSlot& slot, const base::Error& error);
  [[nodiscard]] base::Json with_last_good(base::Json data) const;
  [[nodiscard]] base::Result<std::string> try_out(const core::Template& tpl,
                                                  const std::stop_token& stop);
  void serve_last_good(const std::stop_token& stop);
  void keep(const std::stop_token& stop) INJ_EXCLUDES(mutex_);

  kube::RestClient& client_;  // Not owned.
  const ObjectName name_;
  const std::string origin_;
  templates::TemplateStore& templates_;  // Not owned.
  const core::Policy policy_;
  const runtime::LoopContext loop_context_;
  const LastGood keeping_;

  // Of the following thread.
  LastGoodTemplate last_good_;
  std::optional<std::string> seen_;  // The version looked at last; empty text: there was none.
  std::set<std::string> tried_;      // Hashes of templates that passed a dry run.
  base::Json good_data_;             // Of the ConfigMap, key by key, what served last.
  std::vector<templates::TemplateSlot> failed_{};  // Of the version looked at last.
  std::vector<templates::TemplateSlot> bare_{};    // Of these, those with nothing that serves.
  std::optional<base::Json> to_keep_;  // Data of the template that serves, until it is kept.
  bool native_known_ = false;          // Whether the cluster runs native sidecars.
  bool want_last_good_ = false;        // There are such, and it could not be asked for yet.

  mutable base::Mutex mutex_;
  std::condition_variable_any changed_;
  bool news_ INJ_GUARDED_BY(mutex_) = false;
  bool looked_ INJ_GUARDED_BY(mutex_) = false;
  base::Result<void> kept_ INJ_GUARDED_BY(mutex_);

  RunningInformer running_;
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace injector::cluster
