#include "kube/rest_client.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "base/json_text.h"
#include "kube/endpoint.h"
#include "kube/request_limiter.h"
#include "kube/transport.h"
#include "kube/until.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;

constexpr int kMaxRetries = 10;
constexpr std::size_t kBlock = std::size_t{64} << 10U;
constexpr std::string_view kPageSize = "500";
constexpr const char* kJson = "application/json";

std::string describe(const Request& request) {
  return request.method + " " + request.path;
}

Until limits(const std::stop_token& stop, base::Duration timeout) {
  const Until forever{stop};
  return timeout > base::Duration(0) ? forever.within(timeout) : forever;
}

/// How long the server asks us to wait before the same request again; empty: it does not ask.
std::optional<std::chrono::seconds> retry_after(const ResponseHead& head) {
  const auto value = head.header("retry-after");
  if ((head.code != 429 && head.code < 500) || !value) {
    return std::nullopt;
  }
  std::uint32_t seconds = 0;
  const char* end = value->data() + value->size();
  const auto [stopped, error] = std::from_chars(value->data(), end, seconds);
  if (error != std::errc{} || stopped != end) {
    return std::nullopt;
  }
  return std::chrono::seconds(seconds);
}

bool fits(std::chrono::seconds wait, const Until& until) {
  return until.deadline - std::chrono::steady_clock::now() > wait;
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

Result<runtime::ListPage> to_page(Json list, const Resource& resource) {
  Json* items = base::find(list, "items");
  const Json* metadata = base::find(list, "metadata");
  const bool no_items = items == nullptr || items->is_null();  // Go writes an empty list so.
  if (metadata == nullptr || !(no_items || items->is_array())) {
    return Error{ErrorCode::Internal, "the answer is not a list"};
  }
  runtime::ListPage page;
  page.resource_version = base::text_of(base::find(*metadata, "resourceVersion"));
  page.continue_token = base::text_of(base::find(*metadata, "continue"));
  if (no_items) {
    return page;
  }
  page.items.reserve(items->size());
  for (Json& item : *items) {
    name_type(item, resource);
    page.items.push_back(std::move(item));
  }
  return page;
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

bool has_secrets(const AuthSettings& auth) {
  return !auth.token.empty() || !auth.token_file.empty() || !auth.username.empty() ||
         auth.exec.has_value();
}

/// kubectl proxy, which has credentials of its own and needs none of ours.
bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.rfind("127.", 0) == 0;
}

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string::npos;
}

}  // namespace

// ---- LineStream ----------------------------------------------------------------------------

LineStream::LineStream(std::unique_ptr<Exchange> exchange, std::size_t max_line,
                       base::TimePoint deadline)
    : exchange_(std::move(exchange)),
      max_line_(max_line),
      deadline_(deadline) {}

LineStream::~LineStream() = default;

std::optional<std::string> LineStream::take_line() {
  const std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    return std::nullopt;
  }
  std::string line = buffer_.substr(used_, end - used_);
  used_ = end + 1;
  scanned_ = used_;
  return line;
}

/// False: the answer is complete.
Result<bool> LineStream::fill(const std::stop_token& stop) {
  buffer_.erase(0, used_);
  scanned_ -= used_;
  used_ = 0;
  const std::size_t held = buffer_.size();
  if (held > max_line_) {
    return Error{ErrorCode::Internal, "a line is too long"};
  }
  buffer_.resize(held + kBlock);
  const Result<std::size_t> got =
      exchange_->read(std::span(buffer_).subspan(held), Until{stop, deadline_});
  buffer_.resize(held + (got ? got.value() : 0));
  if (!got) {
    return got.error();
  }
  return got.value() > 0;
}

Result<std::optional<std::string>> LineStream::next(const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) {
      return cancelled();
    }
    if (std::optional<std::string> line = take_line()) {
      if (blank(*line)) {
        continue;
      }
      return line;
    }
    const Result<bool> more = fill(stop);
    if (!more) {
      return more.error();
    }
    if (!more.value() && blank(buffer_)) {
      return std::optional<std::string>();
    }
    if (!more.value()) {
      return Error{ErrorCode::Unavailable, "the stream ended in the middle of a line"};
    }
  }
}

// ---- RestClient ----------------------------------------------------------------------------

RestClient::RestClient(std::unique_ptr<Transport> transport, RestOptions options,
                       std::string name_space)
    : options_(std::move(options)),
      name_space_(std::move(name_space)),
      limiter_(std::make_unique<RequestLimiter>(options_.qps, options_.burst)),
      transport_(std::move(transport)) {}

RestClient::~RestClient() = default;

Result<std::unique_ptr<RestClient>> RestClient::create(const ClientConfig& config,
                                                       RestOptions options) {
  const Result<Endpoint> endpoint = parse_endpoint(config.server, true);
  if (!endpoint) {
    return endpoint.error();
  }
  if (!endpoint.value().tls && has_secrets(config.auth) && !is_loopback(endpoint.value().host)) {
    return base::invalid(
        config.server +
        ": credentials are not sent over plain HTTP, where anybody on the way can read them; use "
        "the server's https:// address, or a user without a token or password");
  }
  auto transport = std::make_unique<Transport>(
      endpoint.value(), config,
      TransportOptions{options.user_agent, options.broken_retry, options.metrics});
  INJ_TRY(transport->check());
  return std::unique_ptr<RestClient>(
      new RestClient(std::move(transport), std::move(options), config.name_space));
}

Result<std::unique_ptr<Exchange>> RestClient::open(const Request& request, const Until& until) {
  const HttpRequest http{request.method, request.path + query_string(request.query),
                         request.content_type, request.body};
  for (int retries = 0;; ++retries) {
    INJ_TRY(limiter_->wait(until));
    auto exchange = transport_->open(http, until);
    if (!exchange) {
      return exchange;
    }
    const auto wait = retry_after(exchange.value()->head());
    if (!wait || retries == kMaxRetries || !fits(*wait, until)) {
      return exchange;
    }
    if (auto read = finish(*exchange.value(), until); !read && !until.check()) {
      return std::move(read).error();
    }
    INJ_TRY(sleep_for(*wait, until));
  }
}

Result<Response> RestClient::finish(Exchange& exchange, const Until& until) const {
  Response response;
  response.code = exchange.head().code;
  for (;;) {
    const std::size_t held = response.body.size();
    response.body.resize(held + std::max(kBlock, held));
    const Result<std::size_t> got = exchange.read(std::span(response.body).subspan(held), until);
    response.body.resize(held + (got ? got.value() : 0));
    if (!got) {
      return got.error();
    }
    if (got.value() == 0) {
      return response;
    }
    if (response.body.size() > options_.max_response) {
      return Error{ErrorCode::Internal, "the answer is too long"};
    }
  }
}

Result<Response> RestClient::send(const Request& request, const std::stop_token& stop) {
  const Until until = limits(stop, request.timeout.value_or(options_.timeout));
  for (int retries = 0;; ++retries) {
    auto exchange = open(request, until);
    if (!exchange) {
      return annotate(std::move(exchange).error(), describe(request));
    }
    Result<Response> response = finish(*exchange.value(), until);
    if (response) {
      return response;
    }
    const bool broke = response.error().code == ErrorCode::Unavailable && until.check();
    if (!broke || request.method != "GET" || retries == kMaxRetries ||
        !sleep_for(options_.broken_retry, until)) {
      return annotate(std::move(response).error(), describe(request));
    }
  }
}

Result<Json> RestClient::call(const Request& request, const std::stop_token& stop) {
  Result<Response> response = send(request, stop);
  if (!response) {
    return std::move(response).error();
  }
  const Response& answer = response.value();
  if (!answer.ok()) {
    return annotate(to_error(parse_status(answer.code, answer.body)), describe(request));
  }
  if (answer.code == 204) {
    return Json();
  }
  Result<Json> value = base::read_json(answer.body);
  if (!value) {
    return annotate(Error{ErrorCode::Internal, "the answer is not JSON: " + value.error().message},
                    describe(request));
  }
  return value;
}

Result<std::unique_ptr<LineStream>> RestClient::stream(const Request& request,
                                                       const std::stop_token& stop) {
  const Until whole = limits(stop, request.timeout.value_or(base::Duration(0)));
  const Until start = options_.timeout > base::Duration(0) ? whole.within(options_.timeout) : whole;
  auto exchange = open(request, start);
  if (!exchange) {
    return annotate(std::move(exchange).error(), describe(request));
  }
  const int code = exchange.value()->head().code;
  if (code >= 200 && code < 300) {
    return std::make_unique<LineStream>(std::move(exchange).value(), options_.max_response,
                                        whole.deadline);
  }
  Result<Response> refusal = finish(*exchange.value(), start);
  return annotate(
      refusal ? to_error(parse_status(code, refusal.value().body)) : std::move(refusal).error(),
      describe(request));
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
  Request request{.path = path.value(), .query = query};
  Result<Json> list = call(request, stop);
  if (!list) {
    return std::move(list).error();
  }
  Result<runtime::ListPage> page = to_page(std::move(list).value(), target.resource);
  return page ? std::move(page) : annotate(std::move(page).error(), describe(request));
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
