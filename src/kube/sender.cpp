#include "kube/sender.h"

#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Until;

constexpr int kMaxRetries = 10;
constexpr std::size_t kSmallBody = std::size_t{64} << 10U;

/// How long the server asks us to wait before the same request again; empty: it does not ask.
std::optional<base::Duration> retry_after(const http::ResponseHead& head) {
  const std::string_view value = head.header("Retry-After");
  if ((head.code != 429 && head.code < 500) || value.empty()) {
    return std::nullopt;
  }
  std::uint32_t seconds = 0;
  const char* end = value.data() + value.size();
  const auto [stopped, error] = std::from_chars(value.data(), end, seconds);
  if (error != std::errc{} || stopped != end) {
    return std::nullopt;
  }
  return std::chrono::seconds(seconds);
}

bool fits(base::Duration wait, const Until& until) {
  return until.deadline - std::chrono::steady_clock::now() > wait;
}

/// Reads a short body that nobody wants, so that the connection can be used again.
void drain(http::Exchange& exchange, const Until& until) {
  std::string body;
  while (body.size() < kSmallBody) {
    const auto more = exchange.read(body, until);
    if (!more || !more.value()) {
      return;
    }
  }
}

http::ClientRequest to_http(const Request& request, const Credential& credential,
                            const std::string& user_agent) {
  http::ClientRequest out{request.method,
                          request.path + query_string(request.query),
                          {{"User-Agent", user_agent}, {"Accept", "application/json"}},
                          request.body};
  if (!credential.authorization.empty()) {
    out.headers.emplace_back("Authorization", credential.authorization);
  }
  if (!request.content_type.empty()) {
    out.headers.emplace_back("Content-Type", request.content_type);
  }
  return out;
}

bool has_secrets(const AuthSettings& auth) {
  return !auth.token.empty() || !auth.token_file.empty() || !auth.username.empty() ||
         auth.exec.has_value();
}

/// kubectl proxy, which has credentials of its own and needs none of ours.
bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

/// rest_client_requests_total, client-go's name and labels.
class Sender::Counter {
 public:
  explicit Counter(prometheus::Registry& registry)
      : family_(prometheus::BuildCounter()
                    .Name("rest_client_requests_total")
                    .Help("Number of HTTP requests, partitioned by status code and method.")
                    .Register(registry)) {}

  void count(const std::string& method, const std::string& code) {
    family_.Add({{"code", code}, {"method", method}}).Increment();
  }

 private:
  prometheus::Family<prometheus::Counter>& family_;
};

/// What the attempts of one call have in common.
struct Sender::Call {
  bool last = false;     // Whatever comes is final.
  bool renewed = false;  // The credentials, after a 401.
  http::Client::Reuse reuse = http::Client::Reuse::Allowed;
};

struct Sender::Outcome {
  Result<void> result;
  std::optional<base::Duration> again{};  // Send it again after this time; empty: it is final.
};

Result<std::unique_ptr<Sender>> Sender::create(const ClientConfig& config,
                                               const RestOptions& options) {
  auto server = http::parse_url(config.server, true);
  if (!server) {
    return annotate(std::move(server).error(), "server");
  }
  if (!server.value().tls && has_secrets(config.auth) && !is_loopback(server.value().host)) {
    return base::invalid(
        config.server +
        ": credentials are not sent over plain HTTP, where anybody on the way can read them; use "
        "the server's https:// address, or a user without a token or password");
  }
  auto sender = std::make_unique<Sender>(std::move(server).value(), config, options);
  INJ_TRY(sender->client_.check());
  return sender;
}

Sender::Sender(http::Url server, const ClientConfig& config, const RestOptions& options)
    : options_(options),
      limiter_(options.qps, options.burst),
      credentials_(make_credentials(config.auth)),
      client_(std::move(server), config.tls, config.proxy) {
  if (options_.metrics != nullptr) {
    counter_ = std::make_unique<Counter>(*options_.metrics);
  }
}

Sender::~Sender() = default;

/// Nobody learns our secrets over plain HTTP.
Result<Credential> Sender::credential(const Until& until) {
  return client_.server().tls ? credentials_->get(until) : Credential{};
}

/// True: there are other credentials now than those that were refused.
bool Sender::renew(const Credential& refused, const Until& until) {
  credentials_->refuse(refused);
  const Result<Credential> fresh = credential(until);
  return !fresh || fresh.value().authorization != refused.authorization ||
         fresh.value().identity != refused.identity;
}

void Sender::count(const std::string& method, const http::Exchange* exchange) {
  if (counter_ != nullptr) {
    counter_->count(method,
                    exchange != nullptr ? std::to_string(exchange->head().code) : "<error>");
  }
}

Result<void> Sender::send(const Request& request, const Until& until, const Read& read) {
  auto done = send_until_done(request, until, read);
  return done ? done : annotate(std::move(done).error(), request.method + " " + request.path);
}

Result<void> Sender::send_until_done(const Request& request, const Until& until, const Read& read) {
  Call call;
  for (int retries = 0;; ++retries) {
    call.last = retries == kMaxRetries;
    Outcome outcome = send_once(request, call, until, read);
    if (!outcome.again || call.last) {
      return outcome.result;
    }
    if (auto slept = base::sleep_for(*outcome.again, until); !slept) {
      return slept.error().code == ErrorCode::Cancelled ? slept : outcome.result;
    }
  }
}

Sender::Outcome Sender::send_once(const Request& request, Call& call, const Until& until,
                                  const Read& read) {
  if (auto may = limiter_.wait(until); !may) {
    return {std::move(may)};
  }
  const Result<Credential> us = credential(until);
  if (!us) {
    return {us.error()};
  }
  http::Attempt attempt = client_.send(to_http(request, us.value(), options_.user_agent),
                                       us.value().identity, call.reuse, until);
  count(request.method, attempt.exchange.get());
  const bool repeatable = request.method == "GET";
  if (attempt.exchange == nullptr) {
    const base::Duration pause = attempt.reused ? base::Duration(0) : options_.broken_retry;
    call.reuse = http::Client::Reuse::No;
    return {std::move(attempt.error),
            attempt.broken && repeatable ? std::optional(pause) : std::nullopt};
  }
  const http::ResponseHead& head = attempt.exchange->head();
  std::optional<base::Duration> again = retry_after(head);
  if (head.code == 401 && !std::exchange(call.renewed, true) && renew(us.value(), until)) {
    again = base::Duration(0);
  }
  if (again && fits(*again, until) && !call.last) {
    Error error{ErrorCode::Unavailable, "HTTP " + std::to_string(head.code)};
    drain(*attempt.exchange, until);
    return {std::move(error), again};
  }
  Result<void> result = read(std::move(attempt.exchange));
  const bool broke =
      !result && result.error().code == ErrorCode::Unavailable && until.check().has_value();
  return {std::move(result),
          broke && repeatable ? std::optional(options_.broken_retry) : std::nullopt};
}

}  // namespace injector::kube
