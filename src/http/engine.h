// cpp-httplib over memory: it parses the request line of a request that is to be answered, and
// writes the reply.
//
// It gets nothing else of what a client sends. Its own readers take input that two servers may
// understand differently, read a byte at a time, and parse `Range` by a recursive regular
// expression; http/head and http/chunked have read all that before, strictly.
//
// Each event loop has one. Belongs to one thread at a time.

#pragma once

#include <string>
#include <string_view>

#include <httplib.h>

#include "http/message.h"
#include "http/reply_text.h"

namespace injector::http {

class Engine final : private httplib::Server {
 public:
  Engine();

  /// Appends `reply` to `out`. `request_line` is one that parse_head() has accepted, without its
  /// line end.
  void answer(std::string_view request_line, Reply reply, const ReplyFrame& frame,
              std::string& out);

 private:
  void write(httplib::Response& response);
  void finish(httplib::Response& response) const;

  // Of the call in progress: httplib's callbacks carry no context of ours.
  Reply reply_;
  ReplyFrame frame_;
};

}  // namespace injector::http
