#include "dashboard/live_feed.h"

#include <utility>

#include "base/json_text.h"
#include "base/printable.h"
#include "cli/explain_command.h"

namespace injector::dashboard {
namespace {

using base::Json;

constexpr std::size_t kKeptEvents = 200;

Json event_of(const EventSubject& subject, std::string_view type, WallTime now) {
  const auto since_epoch =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  Json event = Json::object();
  event["type"] = type;
  event["time"] = since_epoch.count();
  event["namespace"] = base::echoed(subject.name_space);
  event["name"] = base::echoed(subject.name);
  event["owner"] = base::echoed(subject.owner);
  return event;
}

}  // namespace

LiveFeed::LiveFeed()
    : broadcast_(std::make_shared<http::Broadcast>(kKeptEvents)) {}

void LiveFeed::add_decision(const EventSubject& subject, const core::Decision& decision,
                            WallTime now) {
  Json event = event_of(subject, "decision", now);
  event.update(cli::decision_json(decision));
  event["summary"] = cli::detail_of(decision);
  broadcast_->publish(http::event_message(base::write_json(event)));
}

void LiveFeed::add_pod(const EventSubject& subject, std::string_view what, std::string_view state,
                       WallTime now) {
  Json event = event_of(subject, "pod", now);
  event["what"] = what;
  event["state"] = state;
  broadcast_->publish(http::event_message(base::write_json(event)));
}

}  // namespace injector::dashboard
