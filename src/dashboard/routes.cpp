#include "dashboard/routes.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json_text.h"
#include "template/parser.h"

#include "dashboard/assets.h"
#include "dashboard/playground.h"
#include "dashboard/query.h"

namespace injector::dashboard {
namespace {

using base::Json;
using http::Method;
using http::Reply;
using http::Request;
using http::Route;

constexpr const char* kWorkloads = "/api/v1/workloads";
constexpr std::size_t kMaxPageSize = 500;

Reply json_reply(int status, const Json& value) {
  return {status, base::write_json(value) + "\n", "application/json", security_headers()};
}

Reply failure_reply(const base::Error& error) {
  Json body = Json::object();
  body["error"] = error.message;
  return json_reply(error.code == base::ErrorCode::NotFound ? 404 : 400, body);
}

Reply answer_playground(const PageSources& sources, std::string_view body) {
  const auto json = base::read_json(body);
  if (!json) {
    return failure_reply(json.error());
  }
  const auto request = read_playground_request(json.value());
  return request ? json_reply(200, decide_playground(request.value(), sources.context()))
                 : failure_reply(request.error());
}

Json about(const PageSources& sources) {
  const cli::DecisionContext context = sources.context();
  Json views = sources.cluster.overview ? Json({"overview", "workloads", "live", "playground"})
                                        : Json({"playground", "live"});
  return Json({{"name", "envoy-initializer"},
               {"version", sources.version},
               {"views", std::move(views)},
               {"annotation", context.policy.key},
               {"builtInTemplate", templates::default_template_text()}});
}

std::size_t number_or(const std::string& text, std::size_t otherwise) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

RowQuery row_query(std::string_view text) {
  auto parameters = parse_query(text);
  RowQuery query;
  query.search = std::move(parameters["search"]);
  query.state = std::move(parameters["state"]);
  query.name_space = std::move(parameters["namespace"]);
  query.page = number_or(parameters["page"], query.page);
  query.page_size =
      std::clamp<std::size_t>(number_or(parameters["pageSize"], query.page_size), 1, kMaxPageSize);
  return query;
}

Reply answer_workloads(const ClusterPages& cluster, const Request& request) {
  const auto parts = path_behind(request.path, kWorkloads);
  if (parts.empty()) {
    return json_reply(200, cluster.workloads(row_query(request.query)));
  }
  if (parts.size() != 3) {
    return failure_reply({base::ErrorCode::NotFound, "use /api/v1/workloads/NAMESPACE/KIND/NAME"});
  }
  const auto found = cluster.workload(parts[0], parts[1], parts[2]);
  return found ? json_reply(200, found.value()) : failure_reply(found.error());
}

using SharedSources = std::shared_ptr<const PageSources>;

Route api_route(Method method, std::string path, const std::shared_ptr<Access>& access,
                Route::Handler handler) {
  Route route{method, std::move(path), std::move(handler)};
  route.may_block = true;
  route.guard = [access](const http::RequestHead& head) { return access->check_api(head); };
  return route;
}

Route asset_route(const Asset& asset, const std::shared_ptr<Access>& access) {
  Route route{Method::Get, std::string(asset.path), [asset](const Request&) {
                return Reply{200, std::string(asset.body), std::string(asset.content_type),
                             security_headers()};
              }};
  route.guard = [access](const http::RequestHead& head) { return access->check_page(head); };
  return route;
}

void add_cluster_routes(const std::shared_ptr<Access>& access, const SharedSources& sources,
                        http::Routes& routes) {
  routes.push_back(api_route(Method::Get, "/api/v1/overview", access, [sources](const Request&) {
    return json_reply(200, sources->cluster.overview());
  }));
  routes.push_back(api_route(Method::Get, kWorkloads, access, [sources](const Request& request) {
    return answer_workloads(sources->cluster, request);
  }));
  routes.back().subtree = true;
}

}  // namespace

http::Routes page_routes(const std::shared_ptr<Access>& access, PageSources given) {
  const auto sources = std::make_shared<const PageSources>(std::move(given));
  http::Routes routes;
  for (const Asset& asset : assets()) {
    routes.push_back(asset_route(asset, access));
  }
  routes.push_back(api_route(
      Method::Post, "/api/v1/decide", access,
      [sources](const Request& request) { return answer_playground(*sources, request.body); }));
  routes.push_back(api_route(Method::Get, "/api/v1/about", access, [sources](const Request&) {
    return json_reply(200, about(*sources));
  }));
  routes.push_back(api_route(Method::Get, "/api/v1/templates", access, [sources](const Request&) {
    Json body = Json::object();
    body["templates"] = sources->templates();
    return json_reply(200, body);
  }));
  routes.push_back(api_route(Method::Get, "/api/v1/events", access, {}));
  routes.back().stream = sources->events;
  routes.back().stream_headers = security_headers();
  if (sources->cluster.overview) {
    add_cluster_routes(access, sources, routes);
  }
  return routes;
}

}  // namespace injector::dashboard
