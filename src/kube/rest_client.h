// The API server's verbs.
//
// - Every call takes a stop token and ends with Cancelled within 100 ms of a stop, also while it
//   looks up a name, connects, waits for the rate limiter or sits out a Retry-After.
// - What is sent again, and how often: kube/sender.h. Redirects are not followed.
// - Errors name method and path, and hold the server's reason, HTTP code and message.
//
// May be used from any thread, by many at once: idle connections are kept and shared.

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "base/until.h"
#include "kube/config.h"
#include "kube/line_stream.h"
#include "kube/request.h"
#include "kube/resource.h"
#include "kube/status.h"
#include "runtime/lister_watcher.h"

namespace injector::kube {

class Sender;

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
  RestClient(std::unique_ptr<Sender> sender, RestOptions options, std::string name_space);

  [[nodiscard]] base::Until limits_of(const Request& request, const std::stop_token& stop) const;

  const RestOptions options_;
  const std::string name_space_;
  std::unique_ptr<Sender> sender_;
};

}  // namespace injector::kube
