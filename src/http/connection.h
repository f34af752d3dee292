// One client's connection, and the lists that a loop keeps its connections in: one for each phase
// of a connection's life, the one that has been in it for longest at the front. As each phase has
// one time limit, the front is also the next to run out of time, and the first to go where room is
// needed.
//
// Belongs to its loop's thread.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "http/broadcast.h"
#include "http/conversation.h"
#include "http/stream.h"

namespace injector::http {

/// In the order in which connections are closed to make room for others.
enum class Phase : std::size_t {
  Closing,    // We said goodbye; the rest of what the client sends is thrown away.
  Handshake,  // TLS is not established yet.
  Fresh,      // Not a byte of a request so far.
  FirstHead,  // A part of the first one's head has come.
  Idle,       // Between two requests.
  Streaming,  // Follows a Broadcast, and has been sent all of it so far.
  Head,
  Body,
  Reply,  // Waits for the client to take it.
  Busy,   // A handler that may block is at work. Never closed to make room.
  Dead,   // Closed; destroyed at the end of the turn.
};

inline constexpr std::size_t kPhases = static_cast<std::size_t>(Phase::Dead) + 1;

/// True between requests: nothing is lost where the connection is closed.
[[nodiscard]] inline bool is_quiet_phase(Phase phase) noexcept {
  return phase == Phase::Fresh || phase == Phase::Idle;
}

struct Connection {
  using List = std::list<std::unique_ptr<Connection>>;

  Connection(base::FileDescriptor socket, Service& service, Engine& engine)
      : stream(std::move(socket)),
        conversation(service, engine) {}

  Stream stream;
  Conversation conversation;
  Phase phase = Phase::Fresh;
  base::TimePoint since{};             // When the phase began.
  std::uint64_t answered = 0;          // Of conversation.replies(), when the phase began.
  std::uint32_t interest = 0;          // What epoll watches it for.
  bool runnable = false;               // Has input that epoll will not tell of.
  bool gone = false;                   // The client left while its request was being worked on.
  std::optional<Follower> follower{};  // Of a stream.
  std::string out;                     // To be sent...
  std::size_t sent = 0;                // ...of which this much has been.
  List::iterator place;                // In the list of its phase.
};

class ConnectionLists {
 public:
  [[nodiscard]] Connection& add(std::unique_ptr<Connection> connection, Phase phase,
                                base::TimePoint now) {
    Connection::List& list = of(phase);
    Connection& added = *list.emplace_back(std::move(connection));
    added.place = std::prev(list.end());
    added.phase = phase;
    added.since = now;
    return added;
  }

  /// To the end of the phase's list, from now on.
  void move(Connection& connection, Phase phase, base::TimePoint now) {
    Connection::List& list = of(phase);
    list.splice(list.end(), of(connection.phase), connection.place);
    connection.phase = phase;
    connection.since = now;
  }

  [[nodiscard]] Connection::List& of(Phase phase) noexcept {
    return lists_[static_cast<std::size_t>(phase)];
  }

  /// Not counting the dead.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t count = 0;
    for (std::size_t phase = 0; phase + 1 < kPhases; ++phase) {
      count += lists_[phase].size();
    }
    return count;
  }

 private:
  std::array<Connection::List, kPhases> lists_;
};

}  // namespace injector::http
