#include "kube/rest_client.h"

#include <algorithm>
#include <utility>

#include "base/json_text.h"
#include "base/until.h"
#include "http/client.h"
#include "kube/list_reader.h"
#include "kube/sender.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

constexpr std::string_view kPageSize = "500";
constexpr const char* kJson = "application/json";

std::string describe(const Request& request) {
  return request.method + " " + request.path;
}

base::Until limits(const std::stop_token& stop, base::Duration timeout) {
  const base::Until forever{stop};
  return timeout > base::Duration(0) ? forever.within(timeout) : forever;
}

const char* content_type(PatchType type) {
  switch (type) {
    case PatchType::Strategic:
      return "application/strategic-merge-patch+json";
    case PatchType::Merge:
      return "application/merge-patch+json";
    case PatchType::Json:
      break;
  }
  return "application/json-patch+json";
}

Query write_query(const WriteOptions& options) {
  Query query = options.query;
  if (options.dry_run) {
    query.emplace_back("dryRun", "All");
  }
  if (!options.field_manager.empty()) {
    query.emplace_back("fieldManager", options.field_manager);
  }
  return query;
}

/// The path of an object or collection that one request can mean: a namespaced one has a namespace.
Result<std::string> exact_path(const Target& target) {
  if (target.resource.namespaced && target.name_space.empty()) {
    return base::invalid(describe(target) + ": a namespace is needed");
  }
  return path_of(target);
}

Result<std::string> object_path(const Target& target) {
  if (target.name.empty()) {
    return base::invalid(describe(target) + ": a name is needed");
  }
  return exact_path(target);
}

Json delete_body(const DeleteOptions& options) {
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (options.dry_run) {
    body["dryRun"] = Json::array({"All"});
  }
  if (!options.propagation.empty()) {
    body["propagationPolicy"] = options.propagation;
  }
  if (options.grace_period) {
    body["gracePeriodSeconds"] = options.grace_period->count();
  }
  if (!options.uid.empty()) {
    body["preconditions"]["uid"] = options.uid;
  }
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  return body;
}

/// List items come without their type; a watch's objects have it. Make them alike.
void name_type(Json& item, const Resource& resource) {
  if (!item.is_object() || resource.kind.empty()) {
    return;
  }
  if (base::find(item, "apiVersion") == nullptr) {
    base::append_member(item, "apiVersion", resource.api_version());
  }
  if (base::find(item, "kind") == nullptr) {
    base::append_member(item, "kind", resource.kind);
  }
}

/// Reads a list as it comes in: its text is never there as a whole.
Result<runtime::ListPage> read_page(http::Exchange& exchange, const Resource& resource,
                                    std::size_t max_item, const base::Until& until) {
  runtime::ListPage page;
  ListReader reader(max_item, [&](Json item) {
    name_type(item, resource);
    page.items.push_back(std::move(item));
  });
  std::string block;
  for (bool more = true; more; block.clear()) {
    INJ_ASSIGN(more, exchange.read(block, until));
    INJ_TRY(reader.take(block));
  }
  INJ_ASSIGN(const ListMetadata metadata, reader.finish());
  page.resource_version = metadata.resource_version;
  page.continue_token = metadata.continue_token;
  return page;
}

/// The whole body.
Result<Response> read_whole(http::Exchange& exchange, std::size_t max_body,
                            const base::Until& until) {
  Response response;
  response.code = exchange.head().code;
  for (bool more = true; more;) {
    INJ_ASSIGN(more, exchange.read(response.body, until));
    if (response.body.size() > max_body) {
      return Error{ErrorCode::Internal, "the response is too long"};
    }
  }
  return response;
}

Error refusal_error(const Request& request, const Response& refusal) {
  return annotate(to_error(parse_status(refusal.code, refusal.body)), describe(request));
}

bool is_success(const http::Exchange& exchange) {
  return exchange.head().code >= 200 && exchange.head().code < 300;
}

void set_parameter(Query& query, const std::string& name, std::string value) {
  const auto found = std::find_if(query.begin(), query.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  if (found != query.end()) {
    found->second = std::move(value);
  } else {
    query.emplace_back(name, std::move(value));
  }
}

}  // namespace

RestClient::RestClient(std::unique_ptr<Sender> sender, RestOptions options, std::string name_space)
    : options_(std::move(options)),
      name_space_(std::move(name_space)),
      sender_(std::move(sender)) {}

RestClient::~RestClient() = default;

Result<std::unique_ptr<RestClient>> RestClient::create(const ClientConfig& config,
                                                       RestOptions options) {
  INJ_ASSIGN(auto sender, Sender::create(config, options));
  return std::unique_ptr<RestClient>(
      new RestClient(std::move(sender), std::move(options), config.name_space));
}

base::Until RestClient::limits_of(const Request& request, const std::stop_token& stop) const {
  return limits(stop, request.timeout.value_or(options_.timeout));
}

Result<Response> RestClient::send(const Request& request, const std::stop_token& stop) {
  const base::Until until = limits_of(request, stop);
  Response response;
  INJ_TRY(
      sender_->send(request, until, [&](std::unique_ptr<http::Exchange> exchange) -> Result<void> {
        INJ_ASSIGN(response, read_whole(*exchange, options_.max_response, until));
        return {};
      }));
  return response;
}

Result<Json> RestClient::call(const Request& request, const std::stop_token& stop) {
  INJ_ASSIGN(const Response response, send(request, stop));
  if (!response.ok()) {
    return refusal_error(request, response);
  }
  if (response.code == 204) {
    return Json();
  }
  Result<Json> value = base::read_json(response.body);
  if (!value) {
    return annotate(
        Error{ErrorCode::Internal, "the response is not JSON: " + value.error().message},
        describe(request));
  }
  return value;
}

Result<std::unique_ptr<LineStream>> RestClient::stream(const Request& request,
                                                       const std::stop_token& stop) {
  const base::Until whole = limits(stop, request.timeout.value_or(base::Duration(0)));
  const base::Until start =
      options_.timeout > base::Duration(0) ? whole.within(options_.timeout) : whole;
  std::unique_ptr<http::Exchange> stream;
  Response refusal;
  INJ_TRY(
      sender_->send(request, start, [&](std::unique_ptr<http::Exchange> exchange) -> Result<void> {
        if (is_success(*exchange)) {
          stream = std::move(exchange);
          return {};
        }
        INJ_ASSIGN(refusal, read_whole(*exchange, options_.max_response, start));
        return {};
      }));
  if (stream == nullptr) {
    return refusal_error(request, refusal);
  }
  return std::make_unique<LineStream>(std::move(stream), options_.max_response, whole.deadline);
}

// ---- Verbs ---------------------------------------------------------------------------------

Result<Json> RestClient::get(const Target& target, const std::stop_token& stop) {
  const Result<std::string> path = object_path(target);
  if (!path) {
    return path.error();
  }
  return call({.path = path.value()}, stop);
}

Result<Json> RestClient::create_object(const Target& target, const Json& object,
                                       const WriteOptions& options, const std::stop_token& stop) {
  const Result<std::string> path = exact_path(target);
  if (!path) {
    return path.error();
  }
  return call({.method = "POST",
               .path = path.value(),
               .query = write_query(options),
               .content_type = kJson,
               .body = base::write_json(object)},
              stop);
}

Result<Json> RestClient::update(const Target& target, const Json& object,
                                const WriteOptions& options, const std::stop_token& stop) {
  const Result<std::string> path = object_path(target);
  if (!path) {
    return path.error();
  }
  return call({.method = "PUT",
               .path = path.value(),
               .query = write_query(options),
               .content_type = kJson,
               .body = base::write_json(object)},
              stop);
}

Result<Json> RestClient::patch(const Target& target, const Patch& patch,
                               const WriteOptions& options, const std::stop_token& stop) {
  const Result<std::string> path = object_path(target);
  if (!path) {
    return path.error();
  }
  return call({.method = "PATCH",
               .path = path.value(),
               .query = write_query(options),
               .content_type = content_type(patch.type),
               .body = base::write_json(patch.body)},
              stop);
}

Result<Json> RestClient::remove(const Target& target, const DeleteOptions& options,
                                const std::stop_token& stop) {
  const Result<std::string> path = object_path(target);
  if (!path) {
    return path.error();
  }
  return call({.method = "DELETE",
               .path = path.value(),
               .content_type = kJson,
               .body = base::write_json(delete_body(options))},
              stop);
}

Result<void> RestClient::evict(const std::string& name_space, const std::string& pod,
                               const EvictOptions& options, const std::stop_token& stop) {
  Json body = {{"apiVersion", "policy/" + options.policy_version}, {"kind", "Eviction"}};
  body["metadata"] = {{"name", pod}, {"namespace", name_space}};
  body["deleteOptions"] = delete_body({.dry_run = options.dry_run,
                                       .propagation = {},
                                       .grace_period = {},
                                       .uid = options.uid,
                                       .resource_version = {}});
  const Target target{kPods, name_space, pod, "eviction"};
  const Result<std::string> path = object_path(target);
  if (!path) {
    return path.error();
  }
  const Result<Json> done = call({.method = "POST",
                                  .path = path.value(),
                                  .query = write_query({.dry_run = options.dry_run}),
                                  .content_type = kJson,
                                  .body = base::write_json(body)},
                                 stop);
  return done ? Result<void>() : done.error();
}

Result<runtime::ListPage> RestClient::list(const Target& target, const Query& query,
                                           const std::stop_token& stop) {
  const Result<std::string> path = path_of(target);
  if (!path) {
    return path.error();
  }
  const Request request{.path = path.value(), .query = query};
  const base::Until until = limits_of(request, stop);
  runtime::ListPage page;
  Response refusal{.code = 200};
  INJ_TRY(
      sender_->send(request, until, [&](std::unique_ptr<http::Exchange> exchange) -> Result<void> {
        if (is_success(*exchange)) {
          INJ_ASSIGN(page, read_page(*exchange, target.resource, options_.max_response, until));
          return {};
        }
        INJ_ASSIGN(refusal, read_whole(*exchange, options_.max_response, until));
        return {};
      }));
  return refusal.ok() ? Result<runtime::ListPage>(std::move(page))
                      : refusal_error(request, refusal);
}

Result<void> RestClient::for_each(const Target& target, const Query& query,
                                  const std::function<bool(Json object)>& visit,
                                  const std::stop_token& stop) {
  Query parameters = query;
  set_parameter(parameters, "limit", std::string(kPageSize));
  for (;;) {
    Result<runtime::ListPage> page = list(target, parameters, stop);
    if (!page) {
      return std::move(page).error();
    }
    for (Json& item : page.value().items) {
      if (!visit(std::move(item))) {
        return {};
      }
    }
    if (page.value().continue_token.empty()) {
      return {};
    }
    set_parameter(parameters, "continue", page.value().continue_token);
  }
}

}  // namespace injector::kube
