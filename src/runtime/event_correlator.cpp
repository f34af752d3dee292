#include "runtime/event_correlator.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace injector::runtime {
namespace {

constexpr std::string_view kCombined = "(combined from similar events): ";

// Each part with its length in front, so that no two lists of parts make one key.
std::string key_from(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view part : parts) {
    key += fmt::format("{}:{}", part.size(), part);
  }
  return key;
}

std::string object_key(const EventRecord& event) {
  const ObjectReference& about = event.involved;
  return key_from({event.component, event.host, about.api_version, about.kind, about.name_space,
                   about.name, about.uid});
}

}  // namespace

std::optional<PlannedWrite> EventCorrelator::plan(EventRecord event, base::TimePoint now) {
  const Hash key = combine_similar(event, now);
  PlannedWrite write = count_repeat(std::move(event), key);
  if (is_spam(write.event, now)) {
    return std::nullopt;
  }
  return write;
}

// Returns what counts as the same event: with the message, or, if combined, without.
EventCorrelator::Hash EventCorrelator::combine_similar(EventRecord& event, base::TimePoint now) {
  const std::string shared = object_key(event) + key_from({event.type, event.reason});
  Similar& similar = similar_.find_or_insert(keyed_hash(key_, shared), Similar{{}, now});
  if (now - similar.last > kSimilarWithin) {
    similar.messages.clear();
  }
  similar.last = now;
  similar.messages.insert(keyed_hash(key_, event.message));
  if (similar.messages.size() < kSimilarMessages) {
    return keyed_hash(key_, shared + key_from({event.involved.field_path, event.message}));
  }
  similar.messages.erase(similar.messages.begin());  // Any: only their number matters.
  event.message.insert(0, kCombined);
  return keyed_hash(key_, shared);
}

PlannedWrite EventCorrelator::count_repeat(EventRecord event, Hash key) {
  Written& written = written_.find_or_insert(key, Written{});
  const bool repeat = written.count > 0;
  if (!repeat) {
    written.name = new_name(event);
    written.first = event.first;
  }
  event.name = written.name;
  event.first = written.first;
  event.count = ++written.count;
  return {std::move(event), repeat};
}

bool EventCorrelator::is_spam(const EventRecord& event, base::TimePoint now) {
  TokenBucket& about_it = spam_.find_or_insert(keyed_hash(key_, object_key(event)),
                                               TokenBucket(kSpamPerSecond, kSpamBurst));
  TokenBucket& around_it = namespaces_.find_or_insert(
      keyed_hash(key_, event.name_space), TokenBucket(kNamespacePerSecond, kNamespaceBurst));
  return !about_it.try_take(now) || !around_it.try_take(now);
}

std::string EventCorrelator::new_name(const EventRecord& event) {
  const auto stamp =
      std::chrono::duration_cast<std::chrono::nanoseconds>(event.first.time_since_epoch()).count();
  last_stamp_ = std::max(last_stamp_ + 1, static_cast<std::int64_t>(stamp));
  return fmt::format("{}.{:x}", event.involved.name, last_stamp_);
}

}  // namespace injector::runtime
