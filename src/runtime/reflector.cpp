#include "runtime/reflector.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "base/check.h"

namespace injector::runtime {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::chrono::seconds kShortestWatch{1};
constexpr int kWatchSecondsFrom = 300;
constexpr int kWatchSecondsTo = 600;

// The server cannot serve this version: it has forgotten it, or has not come to it yet. The second
// comes as a timeout whose message is all that tells it apart.
bool version_unusable(const Error& error) {
  return error.code == ErrorCode::Expired ||
         error.message.find("Too large resource version") != std::string::npos;
}

bool any_version(std::string_view version) {
  return version.empty() || version == "0";
}

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char digit) { return digit >= '0' && digit <= '9'; });
}

// Versions are decimal numbers without leading zeros; what does not look so is not compared.
bool older(std::string_view left, std::string_view right) {
  if (!is_number(left) || !is_number(right)) {
    return false;
  }
  return left.size() != right.size() ? left.size() < right.size() : left < right;
}

ErrorCode code_of_status(const base::Json& status) {
  const std::string_view reason = base::text_of(base::find(status, "reason"));
  const base::Json* const code = base::find(status, "code");
  const auto is = [&](int number) {
    return code != nullptr && code->is_number_integer() && code->get<std::int64_t>() == number;
  };
  if (is(410) || reason == "Expired" || reason == "Gone") {
    return ErrorCode::Expired;
  }
  return is(429) || reason == "TooManyRequests" ? ErrorCode::TooManyRequests : ErrorCode::Internal;
}

Error status_error(const base::Json& status) {
  return {code_of_status(status), "server sent an error event: " +
                                      std::string(base::text_of(base::find(status, "message")))};
}

}  // namespace

Reflector::Reflector(ListerWatcher& server, DeltaFifo& sink, ReflectorOptions options,
                     const LoopContext& loop_context)
    : server_(server),
      sink_(sink),
      options_(std::move(options)),
      loop_context_(loop_context),
      random_(loop_context.seed),
      backoff_(options_.backoff, loop_context.seed),
      lost_touch_at_(loop_context.clock.now()) {}

void Reflector::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    step(stop);
  }
  stream_.reset();
}

void Reflector::step(const std::stop_token& stop) {
  const State before = state_;
  state_ = next_state(stop);
  if (before == State::Stream && state_ != State::Stream) {
    lost_touch_at_ = loop_context_.clock.now();
  }
  in_touch_ = state_ == State::Stream;
}

Reflector::State Reflector::next_state(const std::stop_token& stop) {
  switch (state_) {
    case State::List:
      return list(stop);
    case State::Connect:
      return connect(stop);
    case State::Stream:
      return read(stop);
    case State::BackOffThenList:
      return back_off(State::List, stop);
    case State::BackOffThenConnect:
      return back_off(State::Connect, stop);
  }
  return state_;
}

base::Duration Reflector::out_of_touch(base::TimePoint now) const noexcept {
  if (in_touch_) {
    return base::Duration(0);
  }
  return std::chrono::duration_cast<base::Duration>(
      std::max(now - lost_touch_at_.load(), base::TimePoint::duration(base::Duration(1))));
}

Reflector::State Reflector::list(const std::stop_token& stop) {
  base::Result<Listing> listing = list_or_newest(stop);
  if (listing) {
    return accept(std::move(listing).value());
  }
  if (!stop.stop_requested()) {
    loop_context_.log.warn("list failed",
                           {{"kind", options_.kind}, {"error", listing.error().message}});
  }
  return State::BackOffThenList;
}

Reflector::State Reflector::connect(const std::stop_token& stop) {
  std::uniform_int_distribution<int> seconds(kWatchSecondsFrom, kWatchSecondsTo - 1);
  const WatchOptions options{version_, std::chrono::seconds(seconds(random_)), true};
  auto stream = server_.watch(options, stop);
  if (!stream) {
    const bool nobody = stream.error().code == ErrorCode::Unavailable;
    const State next = watch_failed(stream.error());
    return nobody ? State::BackOffThenConnect : next;
  }
  stream_ = std::move(stream).value();
  INJ_CHECK(stream_ != nullptr);
  stream_version_ = version_;
  stream_opened_ = loop_context_.clock.now();
  stream_events_ = 0;
  return State::Stream;
}

Reflector::State Reflector::read(const std::stop_token& stop) {
  auto event = stream_->next(stop);
  if (!event) {
    return broken(event.error());
  }
  if (!event.value().has_value()) {
    return closed();
  }
  ++stream_events_;
  const State next = apply(*std::move(event).value());
  if (next != State::Stream) {
    stream_.reset();
  }
  return next;
}

Reflector::State Reflector::back_off(State then, const std::stop_token& stop) {
  loop_context_.sleeper.sleep(backoff_.next(loop_context_.clock.now()), stop);
  return then;
}

std::string Reflector::list_version() const {
  if (need_newest_) {
    return "";
  }
  return version_.empty() ? "0" : version_;
}

base::Result<Reflector::Listing> Reflector::list_or_newest(const std::stop_token& stop) {
  const std::string version = list_version();
  base::Result<Listing> listing = list_at(version, stop);
  if (listing || version.empty() || !version_unusable(listing.error())) {
    return listing;
  }
  need_newest_ = true;
  return list_at("", stop);
}

base::Result<Reflector::Listing> Reflector::list_at(const std::string& version,
                                                    const std::stop_token& stop) {
  // A server answers a list at a given version from its cache only if it is not asked for pages.
  const bool pages = any_version(version) || paged_at_zero_;
  Listing listing;
  base::Result<void> fetched =
      fetch(ListOptions{version, pages ? options_.page_size : 0, {}}, listing, stop);
  if (listing.pages > 1 && version == "0") {
    paged_at_zero_ = true;
  }
  if (!fetched && fetched.error().code == ErrorCode::Expired && listing.pages > 0) {
    listing = {};
    fetched = fetch(ListOptions{version, 0, {}}, listing, stop);
  }
  if (!fetched) {
    return std::move(fetched).error();
  }
  return listing;
}

base::Result<void> Reflector::fetch(ListOptions options, Listing& into,
                                    const std::stop_token& stop) {
  while (true) {
    base::Result<ListPage> page = server_.list(options, stop);
    if (!page) {
      return std::move(page).error();
    }
    const std::string token = page.value().continue_token;
    take_page(std::move(page).value(), into);
    if (token.empty()) {
      return {};
    }
    if (token == options.continue_token) {
      return Error{ErrorCode::Internal, "server repeats a continue token"};
    }
    options.continue_token = token;
    options.resource_version.clear();  // The token carries it.
  }
}

void Reflector::take_page(ListPage page, Listing& into) {
  if (into.pages++ == 0) {
    into.version = std::move(page.resource_version);
  }
  for (base::Json& item : page.items) {
    base::Result<ObjectPtr> object = admit(item);
    if (object) {
      into.objects.push_back(std::move(object).value());
    } else {
      loop_context_.log.warn("listed object skipped",
                             {{"kind", options_.kind}, {"error", object.error().message}});
    }
  }
}

Reflector::State Reflector::accept(Listing listing) {
  if (!need_newest_ && older(listing.version, version_)) {
    loop_context_.log.warn(
        "list is older than what was seen",
        {{"kind", options_.kind}, {"listed", listing.version}, {"seen", version_}});
    need_newest_ = true;
    return State::BackOffThenList;
  }
  need_newest_ = false;
  version_ = std::move(listing.version);
  sink_.replace(listing.objects);
  return State::Connect;
}

Reflector::State Reflector::apply(WatchEvent event) {
  if (event.type == WatchEventType::Error) {
    return watch_failed(status_error(event.object));
  }
  if (event.type == WatchEventType::Bookmark) {
    advance(base::text_of(base::find(event.object, "metadata", "resourceVersion")), event.type);
  } else {
    apply_change(std::move(event));
  }
  return State::Stream;
}

void Reflector::apply_change(WatchEvent event) {
  base::Result<ObjectPtr> admitted = admit(event.object);
  if (!admitted) {
    loop_context_.log.warn("watched object skipped",
                           {{"kind", options_.kind}, {"error", admitted.error().message}});
    return;
  }
  ObjectPtr object = std::move(admitted).value();
  advance(object->resource_version, event.type);
  if (event.type == WatchEventType::Added) {
    sink_.add(object);
  } else if (event.type == WatchEventType::Modified) {
    sink_.update(object);
  } else {
    sink_.remove(std::move(object));
  }
}

// A watch from no particular version opens with what is there as Added, in any order: only what
// comes after that says how far we are.
void Reflector::advance(std::string_view version, WatchEventType type) {
  if (any_version(stream_version_) && type == WatchEventType::Added) {
    return;
  }
  if (version.empty() || older(version, version_)) {
    loop_context_.log.warn("watch event without a newer version",
                           {{"kind", options_.kind}, {"version", version}, {"seen", version_}});
    return;
  }
  version_ = version;
}

Reflector::State Reflector::closed() {
  stream_.reset();
  if (stream_events_ == 0 && loop_context_.clock.now() - stream_opened_ < kShortestWatch) {
    loop_context_.log.warn("watch closed at once, without an event", {{"kind", options_.kind}});
    return State::BackOffThenList;
  }
  return State::Connect;
}

// A connection that breaks is as good as closed: nothing is lost, the next watch resumes. An answer
// that makes no sense is not.
Reflector::State Reflector::broken(const Error& error) {
  if (error.code == ErrorCode::Unavailable) {
    return closed();
  }
  stream_.reset();
  return error.code == ErrorCode::Cancelled ? State::Connect : watch_failed(error);
}

Reflector::State Reflector::watch_failed(const Error& error) {
  if (error.code != ErrorCode::Cancelled) {
    loop_context_.log.warn("watch failed", {{"kind", options_.kind}, {"error", error.message}});
  }
  if (error.code == ErrorCode::Expired) {
    return expired();
  }
  return error.code == ErrorCode::TooManyRequests ? State::BackOffThenConnect
                                                  : State::BackOffThenList;
}

Reflector::State Reflector::expired() {
  const base::TimePoint now = loop_context_.clock.now();
  const bool again = expired_at_ && now - *expired_at_ < kShortestWatch;
  expired_at_ = now;
  return again ? State::BackOffThenList : State::List;
}

base::Result<ObjectPtr> Reflector::admit(base::Json& object) const {
  const std::string_view kind = base::text_of(base::find(object, "kind"));
  // The items of a list carry no kind of their own.
  if (!options_.kind.empty() && !kind.empty() && kind != options_.kind) {
    return base::invalid("unexpected kind " + std::string(kind));
  }
  try {
    if (options_.transform) {
      options_.transform(object);
    }
  } catch (const std::exception& error) {
    return base::invalid(std::string("transform: ") + error.what());
  }
  return make_object(object);
}

}  // namespace injector::runtime
