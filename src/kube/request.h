// A call to the API server in HTTP's words, and how a client makes its calls.

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/clock.h"
#include "kube/resource.h"

namespace prometheus {
class Registry;
}

namespace injector::kube {

struct RestOptions {
  // client-go's own default of 5 and 10 starves a controller; this is what most controllers run
  // with. Not positive: no limit.
  double qps = 20;
  int burst = 30;

  base::Duration timeout = std::chrono::seconds(30);  // A whole call, retries included. 0: none.
  base::Duration broken_retry = std::chrono::seconds(1);  // Before a broken GET is tried again.
  /// Bytes of a body, of a line of a watch, or of an object in a list.
  std::size_t max_response = std::size_t{256} << 20U;
  std::string user_agent = "envoy-initializer";
  prometheus::Registry* metrics = nullptr;  // Not owned; outlives the client. May be null.
};

struct Request {
  std::string method = "GET";
  std::string path{};  // Escaped, as path_of() makes it.
  Query query{};
  std::string content_type{};
  std::string body{};
  std::optional<base::Duration> timeout{};  // Instead of RestOptions::timeout.
};

struct Response {
  int code = 0;
  std::string body{};

  [[nodiscard]] bool ok() const noexcept { return code >= 200 && code < 300; }
};

}  // namespace injector::kube
