#include "kube/transport.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/registry.h>

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr int kMaxBroken = 10;
constexpr std::size_t kSmallBody = std::size_t{64} << 10U;

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

/// Reads a short rest of an answer that nobody wants, so that the connection can be used again.
void drain(Exchange& exchange, const Until& until) {
  std::array<char, 4096> block{};
  for (std::size_t total = 0; total < kSmallBody;) {
    const Result<std::size_t> got = exchange.read(block, until);
    if (!got || got.value() == 0) {
      return;
    }
    total += got.value();
  }
}

}  // namespace

Exchange::Exchange(std::unique_ptr<Connection> connection, std::shared_ptr<ConnectionPool> pool)
    : connection_(std::move(connection)),
      pool_(std::move(pool)),
      reader_(*connection_) {}

Result<void> Exchange::read_head(const Until& until) {
  Result<ResponseHead> head = reader_.read_head(until);
  if (!head) {
    return std::move(head).error();
  }
  head_ = std::move(head).value();
  return {};
}

Result<std::size_t> Exchange::read(std::span<char> into, const Until& until) {
  if (connection_ == nullptr) {
    return std::size_t{0};
  }
  Result<std::size_t> got = reader_.read_body(into, until);
  if (got && got.value() == 0 && reader_.reusable()) {
    pool_->give_back(std::move(connection_));
  }
  return got;
}

/// rest_client_requests_total, client-go's name and labels.
class Transport::Counter {
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

/// An answer, or why there is none.
struct Transport::Attempt {
  std::unique_ptr<Exchange> exchange;
  Error error;
  bool broken = false;  // The connection was there, and then it was not.
  bool reused = false;
};

Transport::Transport(Endpoint endpoint, const ClientConfig& config, TransportOptions options)
    : endpoint_(std::move(endpoint)),
      options_(std::move(options)),
      contexts_(config.tls),
      credentials_(make_credentials(config.auth)),
      pool_(std::make_shared<ConnectionPool>()) {
  if (options_.metrics != nullptr) {
    counter_ = std::make_unique<Counter>(*options_.metrics);
  }
}

Transport::~Transport() = default;

Result<void> Transport::check() {
  if (!endpoint_.tls) {
    return {};
  }
  const Result<SslContext> context = contexts_.get({});
  return context ? Result<void>() : context.error();
}

/// Nobody learns our secrets over plain HTTP.
Result<Credential> Transport::credential(const Until& until) {
  return endpoint_.tls ? credentials_->get(until) : Credential{};
}

Result<std::string> Transport::head_of(const HttpRequest& request,
                                       const Credential& credential) const {
  std::string head = request.method + " " + endpoint_.prefix + request.target + " HTTP/1.1\r\n";
  const auto add = [&](const char* name, const std::string& value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  for (const std::string* text : {&request.method, &request.target, &request.content_type,
                                  &credential.authorization, &options_.user_agent}) {
    if (has_control(*text)) {
      return base::invalid("a control character cannot be sent in a request's head");
    }
  }
  add("Host", endpoint_.authority());
  add("User-Agent", options_.user_agent);
  add("Accept", "application/json");
  if (!credential.authorization.empty()) {
    add("Authorization", credential.authorization);
  }
  if (!request.content_type.empty()) {
    add("Content-Type", request.content_type);
  }
  if (!request.body.empty() || request.method != "GET") {
    add("Content-Length", std::to_string(request.body.size()));
  }
  return head + "\r\n";
}

Transport::Attempt Transport::attempt(const HttpRequest& request, const Credential& credential,
                                      Reuse reuse, const Until& until) {
  Attempt outcome;
  const auto failed = [&](Error error) {
    outcome.error = std::move(error);
    return std::move(outcome);
  };
  const Result<std::string> head = head_of(request, credential);
  if (!head) {
    return failed(head.error());
  }
  const Result<SslContext> context =
      endpoint_.tls ? contexts_.get(credential.identity) : SslContext();
  if (!context) {
    return failed(context.error());
  }
  std::unique_ptr<Connection> connection =
      reuse == Reuse::Allowed ? pool_->take(context.value()) : nullptr;
  outcome.reused = connection != nullptr;
  if (connection == nullptr) {
    auto opened =
        Connection::open(endpoint_, context.value(), contexts_.name_for(endpoint_.host), until);
    if (!opened) {
      return failed(annotate(std::move(opened).error(), endpoint_.authority()));
    }
    connection = std::move(opened).value();
  }
  Connection& wire = *connection;
  auto exchange = std::make_unique<Exchange>(std::move(connection), pool_);
  Result<void> answered = wire.write(head.value() + request.body, until);
  if (answered) {
    answered = exchange->read_head(until);
  }
  if (!answered) {
    outcome.broken = answered.error().code == ErrorCode::Unavailable && until.check().has_value();
    return failed(std::move(answered).error());
  }
  outcome.exchange = std::move(exchange);
  return outcome;
}

Result<std::unique_ptr<Exchange>> Transport::open_patiently(const HttpRequest& request,
                                                            const Credential& credential,
                                                            const Until& until) {
  Reuse reuse = Reuse::Allowed;
  for (int broken = 0;; ++broken) {
    Attempt outcome = attempt(request, credential, reuse, until);
    if (counter_ != nullptr) {
      counter_->count(request.method, outcome.exchange != nullptr
                                          ? std::to_string(outcome.exchange->head().code)
                                          : "<error>");
    }
    if (outcome.exchange != nullptr) {
      return std::move(outcome.exchange);
    }
    if (!outcome.broken || request.method != "GET" || broken == kMaxBroken) {
      return std::move(outcome.error);
    }
    // The server closed an idle connection as we took it: no reason to wait.
    const base::Duration pause = outcome.reused ? base::Duration(0) : options_.broken_retry;
    reuse = Reuse::No;
    if (auto slept = sleep_for(pause, until); !slept) {
      return annotate(std::move(slept).error(), outcome.error.message);
    }
  }
}

Result<std::unique_ptr<Exchange>> Transport::open(const HttpRequest& request, const Until& until) {
  const Result<Credential> first = credential(until);
  if (!first) {
    return first.error();
  }
  auto answer = open_patiently(request, first.value(), until);
  if (!answer || answer.value()->head().code != 401) {
    return answer;
  }
  credentials_->refuse(first.value());
  const Result<Credential> second = credential(until);
  if (!second) {
    return second.error();
  }
  const bool same = second.value().authorization == first.value().authorization &&
                    second.value().identity == first.value().identity;
  if (same) {
    return answer;
  }
  drain(*answer.value(), until);
  return open_patiently(request, second.value(), until);
}

}  // namespace injector::kube
