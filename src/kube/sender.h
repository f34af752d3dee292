// Sends requests with our credentials, at our rate; and the one place where a request is sent
// again:
//
//   - 429 and 5xx that carry Retry-After in seconds: after that time;
//   - a connection that broke, before or in the middle of the response: GET only, after
//     RestOptions::broken_retry, or at once if it had been idle and the server may have closed it;
//   - 401: at once, where there are other credentials to be had; once per call.
//
// At most 10 times per call, all reasons together, and only while the wait fits into the call's
// deadline. A server that nobody answers at is an error at once. What calls us (reflectors, work
// queues, the elector, the event recorder) makes its next call by its own growing pauses, and does
// not repeat a failed call otherwise.
//
// May be used from any thread, by many at once.

#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "base/until.h"
#include "http/client.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/request.h"
#include "kube/request_limiter.h"

namespace injector::kube {

class Sender {
 public:
  /// Reads a response. If it fails with Unavailable before the deadline, the connection broke; it
  /// is called again for the next response then. It must not block for other reasons.
  using Read = std::function<base::Result<void>(std::unique_ptr<http::Exchange> exchange)>;

  /// Fails on settings that cannot work; see RestClient::create().
  [[nodiscard]] static base::Result<std::unique_ptr<Sender>> create(const ClientConfig& config,
                                                                    const RestOptions& options);
  Sender(http::Url server, const ClientConfig& config, const RestOptions& options);
  ~Sender();
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Has `read` read the response, whatever its code. Errors name method and path.
  [[nodiscard]] base::Result<void> send(const Request& request, const base::Until& until,
                                        const Read& read);

 private:
  class Counter;
  struct Call;
  struct Outcome;

  [[nodiscard]] base::Result<void> send_until_done(const Request& request, const base::Until& until,
                                                   const Read& read);
  [[nodiscard]] Outcome send_once(const Request& request, Call& call, const base::Until& until,
                                  const Read& read);
  [[nodiscard]] base::Result<Credential> credential(const base::Until& until);
  [[nodiscard]] bool renew(const Credential& refused, const base::Until& until);
  void count(const std::string& method, const http::Exchange* exchange);

  const RestOptions options_;
  RequestLimiter limiter_;
  std::unique_ptr<CredentialSource> credentials_;
  http::Client client_;
  std::unique_ptr<Counter> counter_;
};

}  // namespace injector::kube
