// The page and its JSON endpoints, as routes of an http::Server. All of them only read; docs/api.md
// describes each.
//
// The handlers may be called from any thread.

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/decide.h"
#include "http/message.h"

#include "dashboard/access.h"
#include "dashboard/live_feed.h"

namespace injector::dashboard {

/// Which rows of the list of Pods are wanted.
struct RowQuery {
  std::string search;      // Part of a namespace, name or owner; empty: all.
  std::string state;       // "missing"; empty: all.
  std::string name_space;  // Empty: all.
  std::size_t page = 0;
  std::size_t page_size = 100;
};

/// What a cluster has to say. May block; none is empty.
struct ClusterPages {
  std::function<base::Json()> overview;
  std::function<base::Json(const RowQuery& query)> workloads;
  std::function<base::Result<base::Json>(const std::string& name_space, const std::string& kind,
                                         const std::string& name)>
      workload;
};

struct PageSources {
  std::string version;
  std::function<cli::DecisionContext()> context;  // The template that serves, and the policy.
  std::function<base::Json()> templates;          // A list; docs/api.md has the shape.
  std::shared_ptr<http::Broadcast> events;
  ClusterPages cluster = {};  // Empty: there is none, and its views are not offered.
};

/// `access` outlives the routes by being shared.
[[nodiscard]] http::Routes page_routes(const std::shared_ptr<Access>& access, PageSources sources);

}  // namespace injector::dashboard
