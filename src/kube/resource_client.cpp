#include "kube/resource_client.h"

#include <chrono>
#include <optional>
#include <utility>

#include "base/json_text.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Json;
using base::Result;
using runtime::WatchEvent;
using runtime::WatchEventType;

// The server ends a watch at its timeout; one that it forgot is given up this much later.
constexpr std::chrono::seconds kGrace{30};

std::optional<WatchEventType> event_type(std::string_view name) {
  if (name == "ADDED") {
    return WatchEventType::Added;
  }
  if (name == "MODIFIED") {
    return WatchEventType::Modified;
  }
  if (name == "DELETED") {
    return WatchEventType::Deleted;
  }
  if (name == "BOOKMARK") {
    return WatchEventType::Bookmark;
  }
  if (name == "ERROR") {
    return WatchEventType::Error;
  }
  return std::nullopt;
}

Result<WatchEvent> parse_event(std::string_view line) {
  Result<Json> parsed = base::read_json(line);
  if (!parsed) {
    return Error{ErrorCode::Internal, "watch: a line is not JSON: " + parsed.error().message};
  }
  const auto type = event_type(base::text_of(base::find(parsed.value(), "type")));
  Json* object = base::find(parsed.value(), "object");
  if (!type || object == nullptr || !object->is_object()) {
    return Error{ErrorCode::Internal, "watch: a line is not an event"};
  }
  return WatchEvent{*type, std::move(*object)};
}

class EventStream final : public runtime::WatchStream {
 public:
  explicit EventStream(std::unique_ptr<LineStream> lines)
      : lines_(std::move(lines)) {}

  Result<std::optional<WatchEvent>> next(const std::stop_token& stop) override {
    Result<std::optional<std::string>> line = lines_->next(stop);
    if (!line) {
      return annotate(std::move(line).error(), "watch");
    }
    if (!line.value()) {
      return std::optional<WatchEvent>();
    }
    Result<WatchEvent> event = parse_event(*line.value());
    if (!event) {
      return std::move(event).error();
    }
    return std::optional<WatchEvent>(std::move(event).value());
  }

 private:
  std::unique_ptr<LineStream> lines_;
};

Query selection_query(Selection selection) {
  Query query = std::move(selection.query);
  if (!selection.label_selector.empty()) {
    query.emplace_back("labelSelector", std::move(selection.label_selector));
  }
  if (!selection.field_selector.empty()) {
    query.emplace_back("fieldSelector", std::move(selection.field_selector));
  }
  return query;
}

}  // namespace

ResourceClient::ResourceClient(RestClient& client, Resource resource, Selection selection)
    : client_(client),
      target_{std::move(resource), selection.name_space, {}, {}},
      query_(selection_query(std::move(selection))) {}

Result<runtime::ListPage> ResourceClient::list(const runtime::ListOptions& options,
                                               const std::stop_token& stop) {
  Query query = query_;
  if (options.limit > 0) {
    query.emplace_back("limit", std::to_string(options.limit));
  }
  // The token knows its version; the server refuses both together.
  if (!options.continue_token.empty()) {
    query.emplace_back("continue", options.continue_token);
  } else if (!options.resource_version.empty()) {
    query.emplace_back("resourceVersion", options.resource_version);
  }
  return client_.list(target_, query, stop);
}

Result<std::unique_ptr<runtime::WatchStream>> ResourceClient::watch(
    const runtime::WatchOptions& options, const std::stop_token& stop) {
  const Result<std::string> path = path_of(target_);
  if (!path) {
    return path.error();
  }
  Request request{.path = path.value(), .query = query_};
  request.query.emplace_back("watch", "true");
  if (!options.resource_version.empty()) {
    request.query.emplace_back("resourceVersion", options.resource_version);
  }
  if (options.allow_bookmarks) {
    request.query.emplace_back("allowWatchBookmarks", "true");
  }
  if (options.timeout.count() > 0) {
    request.query.emplace_back("timeoutSeconds", std::to_string(options.timeout.count()));
    request.timeout = options.timeout + kGrace;
  }
  Result<std::unique_ptr<LineStream>> lines = client_.stream(request, stop);
  if (!lines) {
    return std::move(lines).error();
  }
  return std::unique_ptr<runtime::WatchStream>(
      std::make_unique<EventStream>(std::move(lines).value()));
}

}  // namespace injector::kube
