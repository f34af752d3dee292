// Keeps the driver's networks as the Network objects want them. The status of an object says how
// that goes, and an Event tells of each new status.

#pragma once

#include "base/json_text.h"
#include "kube/write_status.h"
#include "runtime/controller.h"
#include "runtime/event_recorder.h"
#include "runtime/object.h"

#include "network.h"

namespace injector::examples {

class NetworkController {
 public:
  /// What it works with is not owned and outlives it.
  NetworkController(kube::RestClient& client, NetworkDriver& driver, runtime::EventRecorder& events)
      : client_(client),
        driver_(driver),
        events_(events) {}

  /// `object` is null if it is gone. Called from several threads, for different keys.
  runtime::Outcome reconcile(const std::string& key, const runtime::ObjectPtr& object,
                             const std::stop_token& stop) {
    if (object == nullptr) {
      return runtime::Outcome::of(driver_.remove(key));
    }
    const base::Json json = base::read_json(object->json).value();
    const auto wanted = parse_network(json);
    if (!wanted) {  // Nothing to change or to retry: that takes another spec.
      return runtime::Outcome::of(report(json, wanted.error(), stop));
    }
    const auto made = bring_about(key, wanted.value());
    const auto told = report(json, made, stop);
    return runtime::Outcome::of(made ? told : made);
  }

 private:
  base::Result<void> bring_about(const std::string& key, const Network& wanted) {
    const auto found = driver_.find(key);
    if (!found) {
      return driver_.create(key, wanted);
    }
    return found.value() == wanted ? base::Result<void>() : driver_.update(key, wanted);
  }

  base::Result<void> report(const base::Json& object, const base::Result<void>& made,
                            const std::stop_token& stop) {
    const std::string phase = made ? "Ready" : "Failed";
    const std::string message = made ? "The network is there." : made.error().message;
    const base::Json status = {{"phase", phase},
                               {"message", message},
                               {"observedGeneration", object.at("metadata").at("generation")}};
    const auto news = kube::write_status(client_, kNetworks, object, status, stop);
    if (news && news.value()) {
      const auto type = made ? runtime::EventType::Normal : runtime::EventType::Warning;
      events_.record(runtime::reference_to(object), type, phase, message);
    }
    return news ? base::Result<void>() : news.error();
  }

  kube::RestClient& client_;
  NetworkDriver& driver_;
  runtime::EventRecorder& events_;
};

}  // namespace injector::examples
