#include "runtime/event_recorder.h"

#include <utility>

namespace injector::runtime {
namespace {

using base::ErrorCode;

const char* name_of(EventType type) {
  return type == EventType::Normal ? "Normal" : "Warning";
}

}  // namespace

EventRecorder::EventRecorder(EventSink& sink, EventRecorderOptions options, const Ambient& ambient)
    : sink_(sink),
      options_(std::move(options)),
      ambient_(ambient),
      random_(ambient.seed),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void EventRecorder::record(const ObjectReference& about, EventType type, std::string reason,
                           std::string message) {
  EventRecord event;
  event.name_space = about.name_space.empty() ? "default" : about.name_space;
  event.involved = about;
  event.type = name_of(type);
  event.reason = std::move(reason);
  event.message = std::move(message);
  event.component = options_.component;
  event.host = options_.host;
  event.first = event.last = options_.wall_now();
  if (!push(std::move(event))) {
    ++dropped_;
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
  const base::TimePoint end = ambient_.clock.now() + options_.flush_limit;
  bool going = !interrupted.has_value() || flush_one(*interrupted);
  while (auto event = pop()) {
    going = going && ambient_.clock.now() < end;
    if (!going) {
      ++dropped_;
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
  auto write = correlator_.plan(std::move(event), ambient_.clock.now());
  if (!write.has_value()) {
    ++dropped_;
  }
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
    if (!ambient_.sleeper.sleep(delay_after(tries), stop)) {
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

void EventRecorder::drop(const EventRecord& event, std::string_view why) {
  ++dropped_;
  ambient_.log.warn("event dropped",
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
