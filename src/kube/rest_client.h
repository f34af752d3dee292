// The API server's verbs.
//
// - Every call takes a stop token and ends with Cancelled within 100 ms of a stop, also while it
//   connects, waits for the rate limiter or sits out a Retry-After. (Resolving a host name is the
//   exception: the system's resolver cannot be interrupted.)
// - 429 and 5xx that carry Retry-After in seconds are tried again, 10 times at most, as long as the
//   wait fits into the request's timeout. A connection that breaks is tried again for GET only.
// - 401 gets fresh credentials, once. Redirects are not followed.
// - Errors name method and path, and hold the server's reason, HTTP code and message.
//
// May be used from any thread, by many at once: idle connections are kept and shared.

#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/config.h"
#include "kube/resource.h"
#include "kube/status.h"
#include "runtime/lister_watcher.h"

namespace prometheus {
class Registry;
}

namespace injector::kube {

class Exchange;
class RequestLimiter;
class Transport;
struct Until;

struct RestOptions {
  // client-go's own default of 5 and 10 starves a controller; this is what most controllers run
  // with. Not positive: no limit.
  double qps = 20;
  int burst = 30;

  base::Duration timeout = std::chrono::seconds(30);  // A whole call, retries included. 0: none.
  base::Duration broken_retry = std::chrono::seconds(1);  // Before a broken GET is tried again.
  std::size_t max_response = std::size_t{256} << 20U;  // Bytes of a body, or of a line of a watch.
  std::string user_agent = "envoy-initializer";
  prometheus::Registry* metrics = nullptr;  // Not owned; outlives the client. May be null.
};

/// A call in HTTP's words, for what the verbs below do not cover.
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

enum class PatchType { Strategic, Merge, Json };

struct Patch {
  PatchType type = PatchType::Strategic;
  base::Json body{};
};

struct WriteOptions {
  bool dry_run = false;
  std::string field_manager{};
  Query query{};  // More parameters, such as includeUninitialized.
};

struct DeleteOptions {
  bool dry_run = false;
  std::string
      propagation{};  // "Background", "Foreground", "Orphan"; empty: the resource's default.
  std::optional<std::chrono::seconds> grace_period{};
  std::string uid{};               // Precondition.
  std::string resource_version{};  // Precondition.
};

struct EvictOptions {
  std::string policy_version = "v1";  // "v1beta1" before 1.22; see eviction_version().
  bool dry_run = false;
  std::string uid{};  // Precondition: evict that Pod, not its namesake.
};

/// An answer without an end, line by line. Used by one thread; may outlive its client.
class LineStream {
 public:
  LineStream(std::unique_ptr<Exchange> exchange, std::size_t max_line, base::TimePoint deadline);
  ~LineStream();
  LineStream(const LineStream&) = delete;
  LineStream& operator=(const LineStream&) = delete;

  /// The next line that is not blank, without its newline. Empty: the answer ended in good order
  /// after a whole line. An Error: it broke off, or `stop` was requested.
  [[nodiscard]] base::Result<std::optional<std::string>> next(const std::stop_token& stop);

 private:
  [[nodiscard]] std::optional<std::string> take_line();
  [[nodiscard]] base::Result<bool> fill(const std::stop_token& stop);

  std::unique_ptr<Exchange> exchange_;
  std::size_t max_line_;
  base::TimePoint deadline_;
  std::string buffer_;
  std::size_t used_ = 0;     // Bytes of buffer_ that were handed out.
  std::size_t scanned_ = 0;  // No newline between used_ and here.
};

class RestClient {
 public:
  /// Fails on settings that cannot work: a bad server address, PEM that does not parse, credentials
  /// for an http:// server. (To one on this machine the requests go without them: kubectl proxy.)
  [[nodiscard]] static base::Result<std::unique_ptr<RestClient>> create(const ClientConfig& config,
                                                                        RestOptions options);
  ~RestClient();
  RestClient(const RestClient&) = delete;
  RestClient& operator=(const RestClient&) = delete;

  [[nodiscard]] base::Result<base::Json> get(const Target& target, const std::stop_token& stop);
  /// `target` names the collection; the object brings its name.
  [[nodiscard]] base::Result<base::Json> create_object(const Target& target,
                                                       const base::Json& object,
                                                       const WriteOptions& options,
                                                       const std::stop_token& stop);
  [[nodiscard]] base::Result<base::Json> update(const Target& target, const base::Json& object,
                                                const WriteOptions& options,
                                                const std::stop_token& stop);
  [[nodiscard]] base::Result<base::Json> patch(const Target& target, const Patch& patch,
                                               const WriteOptions& options,
                                               const std::stop_token& stop);
  /// The deleted object, or a Status.
  [[nodiscard]] base::Result<base::Json> remove(const Target& target, const DeleteOptions& options,
                                                const std::stop_token& stop);
  /// TooManyRequests: a disruption budget forbids it for now.
  [[nodiscard]] base::Result<void> evict(const std::string& name_space, const std::string& pod,
                                         const EvictOptions& options, const std::stop_token& stop);

  /// One page. Items get the apiVersion and kind that the server leaves out in lists.
  [[nodiscard]] base::Result<runtime::ListPage> list(const Target& target, const Query& query,
                                                     const std::stop_token& stop);
  /// All pages, 500 objects each, handed to `visit` one by one as they arrive; false from it ends
  /// the list. A continue token that expires on the way is an Error (Expired).
  [[nodiscard]] base::Result<void> for_each(const Target& target, const Query& query,
                                            const std::function<bool(base::Json object)>& visit,
                                            const std::stop_token& stop);

  /// Any HTTP answer is a value; no answer is an Error.
  [[nodiscard]] base::Result<Response> send(const Request& request, const std::stop_token& stop);
  /// A 2xx answer as JSON; everything else as to_error().
  [[nodiscard]] base::Result<base::Json> call(const Request& request, const std::stop_token& stop);
  /// Opens an answer without an end. The request's timeout is for the whole stream; none if unset.
  [[nodiscard]] base::Result<std::unique_ptr<LineStream>> stream(const Request& request,
                                                                 const std::stop_token& stop);

  [[nodiscard]] const std::string& default_namespace() const noexcept { return name_space_; }

 private:
  RestClient(std::unique_ptr<Transport> transport, RestOptions options, std::string name_space);

  [[nodiscard]] base::Result<std::unique_ptr<Exchange>> open(const Request& request,
                                                             const Until& until);
  [[nodiscard]] base::Result<Response> finish(Exchange& exchange, const Until& until) const;

  const RestOptions options_;
  const std::string name_space_;
  std::unique_ptr<RequestLimiter> limiter_;
  std::unique_ptr<Transport> transport_;
};

}  // namespace injector::kube
