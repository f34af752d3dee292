#include "http/resolver.h"

#include <array>
#include <ctime>
#include <string>
#include <utility>

namespace injector::http {
namespace {

constexpr timespec kPoll{0, 50'000'000};  // How long a stop may take to be seen.

base::Error not_found(const std::string& host, int failure) {
  return {base::ErrorCode::Unavailable, "resolve " + host + ": " + ::gai_strerror(failure)};
}

}  // namespace

/// Stays in place while the C library works on it.
struct Resolver::Lookup {
  explicit Lookup(const Url& url)
      : host(url.host),
        port(url.port) {
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    request.ar_name = host.c_str();
    request.ar_service = port.c_str();
    request.ar_request = &hints;
  }

  ~Lookup() { AddressesFree()(request.ar_result); }

  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  [[nodiscard]] bool running() { return ::gai_error(&request) == EAI_INPROGRESS; }

  const std::string host;
  const std::string port;
  addrinfo hints{};
  gaicb request{};
};

Resolver::Resolver() = default;

Resolver::~Resolver() {
  for (std::unique_ptr<Lookup>& lookup : abandoned_) {
    if (lookup->running()) {
      static_cast<void>(lookup.release());
    }
  }
}

void Resolver::abandon(std::unique_ptr<Lookup> lookup) {
  static_cast<void>(::gai_cancel(&lookup->request));  // Works if it has not begun.
  const base::MutexLock lock(mutex_);
  std::erase_if(abandoned_, [](const auto& old) { return !old->running(); });
  abandoned_.push_back(std::move(lookup));
}

base::Result<Addresses> Resolver::resolve(const Url& url, const base::Until& until) {
  auto lookup = std::make_unique<Lookup>(url);
  addrinfo numeric = lookup->hints;
  numeric.ai_flags |= AI_NUMERICHOST;
  if (::getaddrinfo(url.host.c_str(), url.port.c_str(), &numeric, &lookup->request.ar_result) ==
      0) {
    return Addresses(std::exchange(lookup->request.ar_result, nullptr));
  }
  std::array<gaicb*, 1> list{&lookup->request};
  if (const int failed = ::getaddrinfo_a(GAI_NOWAIT, list.data(), 1, nullptr); failed != 0) {
    return not_found(url.host, failed);
  }
  while (lookup->running()) {
    if (auto go_on = until.check(); !go_on) {
      abandon(std::move(lookup));
      return annotate(std::move(go_on).error(), "resolve " + url.host);
    }
    static_cast<void>(::gai_suspend(list.data(), 1, &kPoll));
  }
  if (const int failed = ::gai_error(&lookup->request); failed != 0) {
    return not_found(url.host, failed);
  }
  return Addresses(std::exchange(lookup->request.ar_result, nullptr));
}

}  // namespace injector::http
