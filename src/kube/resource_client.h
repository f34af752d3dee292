// One resource of one or all namespaces as a reflector wants it.

#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "kube/resource.h"
#include "kube/rest_client.h"
#include "runtime/lister_watcher.h"

namespace injector::kube {

struct Selection {
  std::string name_space{};  // Empty: all.
  std::string label_selector{};
  std::string field_selector{};
  Query query{};  // More parameters for list and watch, such as includeUninitialized=true.
};

/// May be called from any thread.
class ResourceClient final : public runtime::ListerWatcher {
 public:
  ResourceClient(RestClient& client, Resource resource, Selection selection);

  [[nodiscard]] base::Result<runtime::ListPage> list(const runtime::ListOptions& options,
                                                     const std::stop_token& stop) override;

  /// The stream's events are parsed line by line. Half a line at its end is a broken stream
  /// (Unavailable), a line that is no event is Internal, an ERROR event is delivered as such.
  [[nodiscard]] base::Result<std::unique_ptr<runtime::WatchStream>> watch(
      const runtime::WatchOptions& options, const std::stop_token& stop) override;

 private:
  RestClient& client_;  // Not owned; outlives this.
  const Target target_;
  const Query query_;
};

}  // namespace injector::kube
