#include "runtime/event_recorder.h"

#include <utility>

#include "base/printable.h"

namespace injector::runtime {
namespace {

using base::ErrorCode;

const char* name_of(EventType type) {
  return type == EventType::Normal ? "Normal" : "Warning";
}

// Longer than any API server lets a name or the like become.
bool is_plausible(const ObjectReference& about) {
  constexpr std::size_t kLongest = 512;
  const auto short_enough = [](const std::string& text) { return text.size() <= kLongest; };
  return short_enough(about.api_version) && short_enough(about.kind) &&
         short_enough(about.name_space) && short_enough(about.name) && short_enough(about.uid) &&
         short_enough(about.resource_version) && short_enough(about.field_path);
}

prometheus::Counter* drop_counter(prometheus::Registry* registry) {
  return registry == nullptr ? nullptr
                             : &prometheus::BuildCounter()
                                    .Name("envoy_initializer_events_dropped_total")
                                    .Help("Events that never reached the server.")
                                    .Register(*registry)
                                    .Add({});
}

}  // namespace

EventRecorder::EventRecorder(EventSink& sink, EventRecorderOptions options,
                             const LoopContext& loop_context)
    : sink_(sink),
      options_(std::move(options)),
      loop_context_(loop_context),
      dropped_metric_(drop_counter(options_.metrics)),
      correlator_(options_.hash_key),
      random_(loop_context.seed),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void EventRecorder::record(const ObjectReference& about, EventType type, std::string reason,
                           std::string message) {
  if (!is_plausible(about)) {
    count_dropped();
    return;
  }
  EventRecord event;
  event.name_space = about.name_space.empty() ? "default" : about.name_space;
  event.involved = about;
  event.type = name_of(type);
  event.reason = std::move(reason);
  event.message = base::shortened(message, kMessageLimit);
  event.component = options_.component;
  event.host = options_.host;
  event.first = event.last = options_.wall_now();
  if (!push(std::move(event))) {
    count_dropped();
  }
}

bool EventRecorder::push(EventRecord event) {
  const base::MutexLock lock(mutex_);
  if (line_.size() >= options_.queue_limit) {
    return false;
  }
  line_.push_back(std::move(event));
  arrived_.notify_one();
  return true;
}

void EventRecorder::run(const std::stop_token& stop) {
  while (auto event = next(stop)) {
    const auto write = plan(*std::move(event));
    if (write.has_value() && !deliver(*write, stop)) {
      flush(write);
      return;
    }
  }
  flush(std::nullopt);
}

// Everything that is left gets one chance, until nobody answers any more or the time is up.
void EventRecorder::flush(const std::optional<PlannedWrite>& interrupted) {
  const base::TimePoint end = loop_context_.clock.now() + options_.flush_limit;
  bool going = !interrupted.has_value() || flush_one(*interrupted);
  while (auto event = pop()) {
    going = going && loop_context_.clock.now() < end;
    if (!going) {
      count_dropped();
    } else if (const auto write = plan(*std::move(event))) {
      going = flush_one(*write);
    }
  }
}

bool EventRecorder::flush_one(const PlannedWrite& write) {
  const std::stop_token never;  // We are being stopped already.
  if (write_once(write, never) == Delivery::NobodyAnswers) {
    drop(write.event, "stopped before it was written");
    return false;
  }
  return true;
}

std::optional<EventRecord> EventRecorder::next(const std::stop_token& stop) {
  const base::MutexLock lock(mutex_);
  arrived_.wait(mutex_, stop, [this]() INJ_REQUIRES(mutex_) { return !line_.empty(); });
  return stop.stop_requested() ? std::nullopt : pop_front();
}

std::optional<EventRecord> EventRecorder::pop() {
  const base::MutexLock lock(mutex_);
  return pop_front();
}

std::optional<EventRecord> EventRecorder::pop_front() {
  if (line_.empty()) {
    return std::nullopt;
  }
  EventRecord event = std::move(line_.front());
  line_.pop_front();
  return event;
}

std::optional<PlannedWrite> EventRecorder::plan(EventRecord event) {
  auto write = correlator_.plan(std::move(event), loop_context_.clock.now());
  if (!write.has_value()) {
    count_dropped();
    return write;
  }
  write->event.message = base::shortened(write->event.message, kMessageLimit);  // May be combined.
  return write;
}

bool EventRecorder::deliver(const PlannedWrite& write, const std::stop_token& stop) {
  for (int tries = 1; write_once(write, stop) == Delivery::NobodyAnswers; ++tries) {
    if (stop.stop_requested()) {
      return false;
    }
    if (tries >= options_.tries) {
      drop(write.event, "nobody answers");
      return true;
    }
    if (!loop_context_.sleeper.sleep(delay_after(tries), stop)) {
      return false;
    }
  }
  return true;
}

EventRecorder::Delivery EventRecorder::write_once(const PlannedWrite& write,
                                                  const std::stop_token& stop) {
  base::Result<void> answer =
      write.repeat ? sink_.patch(write.event, stop) : sink_.create(write.event, stop);
  if (write.repeat && !answer && answer.error().code == ErrorCode::NotFound) {
    answer = sink_.create(write.event, stop);
  }
  // It may exist because an earlier try arrived although its answer did not.
  if (answer || answer.error().code == ErrorCode::AlreadyExists) {
    return Delivery::Settled;
  }
  if (answer.error().code == ErrorCode::Unavailable ||
      answer.error().code == ErrorCode::Cancelled) {
    return Delivery::NobodyAnswers;
  }
  drop(write.event, answer.error().message);
  return Delivery::Settled;
}

void EventRecorder::count_dropped() {
  ++dropped_;
  if (dropped_metric_ != nullptr) {
    dropped_metric_->Increment();
  }
}

void EventRecorder::drop(const EventRecord& event, std::string_view why) {
  count_dropped();
  loop_context_.log.warn("event dropped",
                         {{"reason", event.reason}, {"object", event.involved.name}, {"why", why}});
}

// The first one is random, so that many clients do not come back to a restarted server at once.
base::Duration EventRecorder::delay_after(int tries) {
  if (tries > 1) {
    return options_.retry_delay;
  }
  std::uniform_int_distribution<base::Duration::rep> part(0, options_.retry_delay.count());
  return base::Duration(part(random_));
}

}  // namespace injector::runtime
