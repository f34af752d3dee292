// A small HTTP proxy on a real socket: CONNECT, and plain requests with a whole address. It may ask
// for a user and password, and remembers the heads of what it was asked.

#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/mutex.h"

namespace injector::tests {

class TestProxy {
 public:
  /// `authorization`: what the Proxy-Authorization header must hold; empty: anything.
  explicit TestProxy(std::string authorization = {})
      : authorization_(std::move(authorization)),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = at(0);
    socklen_t size = sizeof address;
    ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener_.get(), 16);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this] { accept_loop(); });
  }

  /// Connections must have been closed by the client.
  ~TestProxy() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
  }

  TestProxy(const TestProxy&) = delete;
  TestProxy& operator=(const TestProxy&) = delete;

  [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(port_); }

  [[nodiscard]] std::vector<std::string> heads() const {
    const base::MutexLock lock(mutex_);
    return heads_;
  }

 private:
  static sockaddr_in at(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }

  static void send_all(int fd, const std::string& text) {
    static_cast<void>(::send(fd, text.data(), text.size(), MSG_NOSIGNAL));
  }

  void accept_loop() {
    for (;;) {
      base::FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) {
        return;
      }
      connections_.emplace_back([this, client = std::move(client)] { serve(client.get()); });
    }
  }

  void serve(int client) {
    std::string head;
    char byte = 0;
    while (!head.ends_with("\r\n\r\n") && ::recv(client, &byte, 1, 0) == 1) {
      head += byte;
    }
    {
      const base::MutexLock lock(mutex_);
      heads_.push_back(head);
    }
    const std::string wanted = "\r\nProxy-Authorization: " + authorization_ + "\r\n";
    if (!authorization_.empty() && head.find(wanted) == std::string::npos) {
      return send_all(client,
                      "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n"
                      "Connection: close\r\n\r\n");
    }
    const base::FileDescriptor server(connect_to(head));
    if (!server) {
      return send_all(client, "HTTP/1.1 502 Bad Gateway\r\nConnection: close\r\n\r\n");
    }
    if (head.starts_with("CONNECT ")) {
      send_all(client, "HTTP/1.1 200 Connection established\r\n\r\n");
    } else {
      send_all(server.get(), head);
    }
    relay(client, server.get());
  }

  /// Every host is this machine to it; the port counts.
  static int connect_to(const std::string& head) {
    const std::size_t space = head.find(' ', head.find(' ') + 1);
    const std::string target = head.substr(0, std::min(head.find('/', head.find("//") + 2), space));
    const sockaddr_in address = at(std::stoi(target.substr(target.rfind(':') + 1)));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(fd);
      return -1;
    }
    return fd;
  }

  static void relay(int left, int right) {
    std::array<char, 16384> block{};
    for (;;) {
      std::array<pollfd, 2> polled{{{left, POLLIN, 0}, {right, POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), -1);
      const bool from_left = polled[0].revents != 0;
      const ssize_t got = ::recv(from_left ? left : right, block.data(), block.size(), 0);
      if (got <= 0) {
        return;
      }
      send_all(from_left ? right : left, {block.data(), static_cast<std::size_t>(got)});
    }
  }

  const std::string authorization_;
  base::FileDescriptor listener_;
  int port_ = 0;
  mutable base::Mutex mutex_;
  std::vector<std::string> heads_ INJ_GUARDED_BY(mutex_);
  std::vector<std::jthread> connections_;  // Of the accepting thread.
  std::jthread acceptor_;
};

}  // namespace injector::tests
