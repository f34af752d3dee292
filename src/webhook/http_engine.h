// One request's way through cpp-httplib: it parses and writes, this class routes, refuses and
// decides whether the connection can take another request.
//
// httplib's callbacks carry no context of ours, so an engine serves one request at a time and holds
// that context itself. Each worker has its own.

#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include <httplib.h>

#include "base/log.h"
#include "webhook/connection.h"
#include "webhook/http.h"
#include "webhook/server.h"

namespace injector::webhook {

/// A whole reply, for where there is no request to answer. The connection is to be closed after it.
[[nodiscard]] std::string closing_reply(std::string_view status_line, std::string_view text);

class HttpEngine final : private httplib::Server {
 public:
  /// The references are not owned and outlive the engine.
  HttpEngine(const Routes& routes, const ServerLimits& limits, const std::atomic<bool>& draining,
             const base::Logger& log);

  /// Answers the request whose head `connection` has read. True: it may send another.
  [[nodiscard]] bool answer(Connection& connection);

 private:
  void set_up(httplib::Request& request);
  HandlerResponse before_routing(const httplib::Request& request, httplib::Response& response);
  void answer_post(const httplib::Request& request, httplib::Response& response,
                   const httplib::ContentReader& read);
  void finish(const httplib::Request& request, httplib::Response& response);

  [[nodiscard]] bool refuse(const httplib::Request& request, httplib::Response& response) const;
  [[nodiscard]] std::optional<HttpReply> refusal(const httplib::Request& request) const;
  [[nodiscard]] std::optional<HttpReply> framing_refusal(const httplib::Request& request) const;
  [[nodiscard]] const Route* route_of(const httplib::Request& request) const noexcept;
  [[nodiscard]] std::optional<HttpReply> read_body(const httplib::Request& request,
                                                   const httplib::ContentReader& read,
                                                   std::string& body) const;
  void run(const Route& route, const httplib::Request& request, std::string_view body,
           httplib::Response& response) const;

  const Routes& routes_;
  const ServerLimits& limits_;
  const std::atomic<bool>& draining_;
  const base::Logger& log_;

  Connection* connection_ = nullptr;  // The request's, during answer().
  bool client_stays_ = false;         // It wants to send another request...
  bool body_read_ = false;            // ...and the next byte would be its first.
  bool stays_ = false;                // What the reply told the client.
};

}  // namespace injector::webhook
