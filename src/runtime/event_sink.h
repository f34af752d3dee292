// What the event recorder needs of an API server: v1 Events that are created, then counted up. The
// real one is in kube; the fast tests script their own.

#pragma once

#include <chrono>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace injector::runtime {

/// Which object an Event is about: v1 ObjectReference.
struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string name_space;  // Empty: cluster-scoped; its Events stand in "default".
  std::string name;
  std::string uid;
  std::string resource_version{};
  std::string field_path{};

  friend bool operator==(const ObjectReference&, const ObjectReference&) = default;
};

/// The reference to an object as the API server sends it.
[[nodiscard]] ObjectReference reference_to(const base::Json& object);

/// A v1 Event as it should stand on the server.
struct EventRecord {
  std::string name_space;  // Of the Event itself.
  std::string name;        // "<object>.<hex nanoseconds>"; repeats keep the first one's name.
  ObjectReference involved;
  std::string type;  // "Normal" or "Warning".
  std::string reason;
  std::string message;
  std::string component;  // source.component
  std::string host;       // source.host; may be empty.
  std::chrono::system_clock::time_point first;
  std::chrono::system_clock::time_point last;
  int count = 1;
};

/// May be called from any thread.
class EventSink {
 public:
  virtual ~EventSink() = default;

  [[nodiscard]] virtual base::Result<void> create(const EventRecord& event,
                                                  const std::stop_token& stop) = 0;

  /// Writes count, message and lastTimestamp of the Event with that name. NotFound: it is gone
  /// (Events live an hour), and the recorder creates it anew.
  [[nodiscard]] virtual base::Result<void> patch(const EventRecord& event,
                                                 const std::stop_token& stop) = 0;
};

}  // namespace injector::runtime
