// core/v1 Events on an API server, for the event recorder.

#pragma once

#include <stop_token>

#include "base/result.h"
#include "kube/rest_client.h"
#include "runtime/event_sink.h"

namespace injector::kube {

/// May be called from any thread.
class RestEventSink final : public runtime::EventSink {
 public:
  explicit RestEventSink(RestClient& client);

  [[nodiscard]] base::Result<void> create(const runtime::EventRecord& event,
                                          const std::stop_token& stop) override;
  [[nodiscard]] base::Result<void> patch(const runtime::EventRecord& event,
                                         const std::stop_token& stop) override;

 private:
  RestClient& client_;  // Not owned; outlives this.
};

}  // namespace injector::kube
