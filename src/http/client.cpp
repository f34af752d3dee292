#include "http/client.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/mutex.h"

namespace injector::http {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;
using base::Until;

constexpr std::size_t kMaxIdle = 32;
constexpr base::Duration kMaxIdleTime = std::chrono::seconds(90);

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; });
}

}  // namespace

/// May be called from any thread.
class IdleConnections {
 public:
  /// One that is still good and was made with `context`; null: there is none.
  std::unique_ptr<ClientConnection> take(const tls::ClientContextPtr& context) {
    for (;;) {
      std::vector<Idle> outdated;  // Closed without the lock.
      std::unique_ptr<ClientConnection> connection = pop(outdated);
      if (connection == nullptr || (connection->context() == context && connection->healthy())) {
        return connection;
      }
    }
  }

  /// Keeps a connection whose last response has been read to its end.
  void give_back(std::unique_ptr<ClientConnection> connection) {
    Idle dropped;  // Closed after the lock is released.
    const base::TimePoint now = std::chrono::steady_clock::now();
    const base::MutexLock lock(mutex_);
    const bool outdated = !idle_.empty() && idle_.front().since < now - kMaxIdleTime;
    if (outdated || idle_.size() == kMaxIdle) {
      dropped = std::move(idle_.front());
      idle_.erase(idle_.begin());
    }
    idle_.push_back({std::move(connection), now});
  }

 private:
  struct Idle {
    std::unique_ptr<ClientConnection> connection;
    base::TimePoint since;
  };

  std::unique_ptr<ClientConnection> pop(std::vector<Idle>& outdated) {
    const base::TimePoint oldest = std::chrono::steady_clock::now() - kMaxIdleTime;
    const base::MutexLock lock(mutex_);
    if (idle_.empty() || idle_.back().since < oldest) {
      outdated = std::exchange(idle_, {});
      return nullptr;
    }
    std::unique_ptr<ClientConnection> connection = std::move(idle_.back().connection);
    idle_.pop_back();
    return connection;
  }

  base::Mutex mutex_;
  std::vector<Idle> idle_ INJ_GUARDED_BY(mutex_);  // The one used last is at the end.
};

Exchange::Exchange(std::unique_ptr<ClientConnection> connection,
                   std::shared_ptr<IdleConnections> idle)
    : connection_(std::move(connection)),
      idle_(std::move(idle)) {}

Exchange::~Exchange() = default;

/// Returns when the response's head is there.
Result<void> Exchange::send(const std::string& request, const Until& until) {
  INJ_TRY(connection_->write(request, until));
  while (!response_.has_head()) {
    INJ_TRY(connection_->read(response_, until));
  }
  return {};
}

Result<bool> Exchange::read(std::string& into, const Until& until) {
  INJ_TRY(until.check());
  std::string& content = response_.content();
  while (content.empty() && !response_.complete()) {
    INJ_TRY(connection_->read(response_, until));
  }
  if (content.empty()) {
    if (connection_ != nullptr && response_.reusable()) {
      idle_->give_back(std::move(connection_));
    }
    return false;
  }
  if (into.empty()) {
    into.swap(content);
  } else {
    into.append(content);
  }
  content.clear();
  return true;
}

Client::Client(Url server, tls::ClientSettings tls, std::optional<Proxy> proxy)
    : server_(std::move(server)),
      proxy_(std::move(proxy)),
      contexts_(std::move(tls)),
      idle_(std::make_shared<IdleConnections>()) {}

Client::~Client() = default;

Result<void> Client::check() {
  if (!server_.tls) {
    return {};
  }
  INJ_TRY(contexts_.get({}));
  return {};
}

Result<std::string> Client::request_text(const ClientRequest& request) const {
  // Through a proxy, plain HTTP asks for the whole address; https has a tunnel.
  const bool asks_proxy = proxy_.has_value() && !server_.tls;
  const std::string origin = asks_proxy ? "http://" + server_.authority() : "";
  std::string text =
      request.method + " " + origin + server_.prefix + request.target + " HTTP/1.1\r\n";
  bool bad = has_control(request.method) || has_control(request.target);
  const auto add = [&](const std::string& name, const std::string& value) {
    bad = bad || has_control(name) || has_control(value);
    text.append(name).append(": ").append(value).append("\r\n");
  };
  add("Host", server_.authority());
  for (const auto& [name, value] : request.headers) {
    add(name, value);
  }
  if (asks_proxy && !proxy_->authorization.empty()) {
    add("Proxy-Authorization", proxy_->authorization);
  }
  if (!request.body.empty() || request.method != "GET") {
    add("Content-Length", std::to_string(request.body.size()));
  }
  if (bad) {
    return base::invalid("a control character cannot be sent in a request's head");
  }
  return text.append("\r\n").append(request.body);
}

Result<std::unique_ptr<ClientConnection>> Client::connect(const tls::ClientContextPtr& context,
                                                          const Until& until) {
  return ClientConnection::open(
      resolver_, {server_, proxy_, context, contexts_.name_for(server_.host)}, until);
}

Attempt Client::send(const ClientRequest& request, const tls::ClientIdentity& identity, Reuse reuse,
                     const Until& until) {
  const auto text = request_text(request);
  if (!text) {
    return {.error = text.error()};
  }
  const auto context = server_.tls ? contexts_.get(identity) : tls::ClientContextPtr();
  if (!context) {
    return {.error = context.error()};
  }
  auto connection = reuse == Reuse::Allowed ? idle_->take(context.value()) : nullptr;
  const bool reused = connection != nullptr;
  if (!reused) {
    auto opened = connect(context.value(), until);
    if (!opened) {
      return {.error = std::move(opened).error()};
    }
    connection = std::move(opened).value();
  }
  auto exchange = std::make_unique<Exchange>(std::move(connection), idle_);
  if (auto sent = exchange->send(text.value(), until); !sent) {
    const bool broken = sent.error().code == ErrorCode::Unavailable && until.check().has_value();
    return {.error = std::move(sent).error(), .broken = broken, .reused = reused};
  }
  if (proxy_ && exchange->head().code == 407) {
    return {.error = {ErrorCode::Unavailable, "proxy " + proxy_->url.text() + ": 407 " +
                                                  std::string(exchange->head().reason)}};
  }
  return {.exchange = std::move(exchange), .error = {}, .broken = false, .reused = reused};
}

}  // namespace injector::http
