// A raw HTTP client over TLS or plain TCP on 127.0.0.1, for tests that must control every byte.
// Every wait ends after kPatienceSeconds, so that a broken server fails a test instead of hanging
// it.

#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/file_descriptor.h"
#include "tests/support/test_certificates.h"
#include "tls/certificate.h"
#include "tls/handles.h"

namespace injector::tests {

struct HttpAnswer {
  int status = 0;
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;

  [[nodiscard]] std::string header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? "" : found->second;
  }
};

struct TlsClientOptions {
  bool tls = true;
  int max_version = 0;  // 0: the newest.
  const tls::KeyPair* certificate = nullptr;
  const tls::Certificate* ca = nullptr;  // Verified where given.
};

class TlsClient {
 public:
  /// A socket that is not connected yet.
  TlsClient()
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}

  /// Connects and shakes hands; connected() tells whether that went well.
  explicit TlsClient(std::uint16_t port, const TlsClientOptions& options = {})
      : TlsClient() {
    connect_to(port, options);
  }

  void connect_to(std::uint16_t port, const TlsClientOptions& options) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{kPatienceSeconds, 0};
    const int on = 1;
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connected_ =
        ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    if (connected_ && options.tls) {
      shake_hands(options);
    }
  }

  [[nodiscard]] bool connected() const { return connected_; }

  /// Why the handshake failed.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  [[nodiscard]] SSL* ssl() const { return ssl_.get(); }

  [[nodiscard]] int fd() const { return socket_.get(); }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send_some(bytes);
      if (count <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  /// The next answer, by its Content-Length; nothing if the connection ends before.
  std::optional<HttpAnswer> receive(bool head_only = false) {
    std::size_t end = 0;
    while ((end = in_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) {
        return std::nullopt;
      }
    }
    HttpAnswer answer = parse_head(in_.substr(0, end));
    const auto length = head_only || answer.status == 100
                            ? 0U
                            : std::strtoul(answer.header("content-length").c_str(), nullptr, 10);
    while (in_.size() < end + 4 + length) {
      if (!fill()) {
        return std::nullopt;
      }
    }
    answer.body = in_.substr(end + 4, length);
    in_.erase(0, end + 4 + length);
    return answer;
  }

  std::optional<HttpAnswer> ask(std::string_view request) {
    return send(request) ? receive() : std::nullopt;
  }

  /// Waits for the server to close; true if it did, without a byte more than was received.
  bool wait_for_close() {
    if (!in_.empty()) {
      return false;
    }
    return !fill() && !timed_out_;
  }

  /// What comes up to the end of `mark`; nothing if the connection ends before.
  std::optional<std::string> receive_until(std::string_view mark) {
    std::size_t at = 0;
    while ((at = in_.find(mark)) == std::string::npos) {
      if (!fill()) {
        return std::nullopt;
      }
    }
    std::string text = in_.substr(0, at + mark.size());
    in_.erase(0, text.size());
    return text;
  }

  /// Everything until the server closes.
  std::string receive_all() {
    while (fill()) {
    }
    return std::exchange(in_, {});
  }

 private:
  void shake_hands(const TlsClientOptions& options) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (options.max_version != 0) {
      // Old protocols need the lowest security level to be offered at all.
      SSL_CTX_set_security_level(context_.get(), 0);
      SSL_CTX_set_min_proto_version(context_.get(), 0);
      SSL_CTX_set_max_proto_version(context_.get(), options.max_version);
    }
    if (options.certificate != nullptr) {
      SSL_CTX_use_certificate(context_.get(), options.certificate->certificate.handle());
      SSL_CTX_use_PrivateKey(context_.get(), options.certificate->key.handle());
    }
    if (options.ca != nullptr) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), options.ca->handle());
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    }
    constexpr std::array<unsigned char, 12> kProtocols{2,   'h', '2', 8,   'h', 't',
                                                       't', 'p', '/', '1', '.', '1'};
    SSL_CTX_set_alpn_protos(context_.get(), kProtocols.data(), kProtocols.size());
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_.get());
    ERR_clear_error();
    connected_ = SSL_connect(ssl_.get()) == 1;
    failure_ = connected_ ? "" : tls::take_openssl_reason();
  }

  ssize_t send_some(std::string_view bytes) {
    if (!ssl_) {
      return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    ERR_clear_error();
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
  }

  bool fill() {
    std::array<char, 16384> block{};
    errno = 0;
    ERR_clear_error();
    const ssize_t count = ssl_ ? SSL_read(ssl_.get(), block.data(), static_cast<int>(block.size()))
                               : ::recv(socket_.get(), block.data(), block.size(), 0);
    timed_out_ = count < 0 && errno == EAGAIN;
    if (count > 0) {
      in_.append(block.data(), static_cast<std::size_t>(count));
    }
    return count > 0;
  }

  static HttpAnswer parse_head(std::string_view head) {
    HttpAnswer answer;
    answer.status = head.size() > 12 ? std::atoi(std::string(head.substr(9, 3)).c_str()) : 0;
    for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;) {
      const std::size_t next = head.find("\r\n", at + 2);
      add_header(head.substr(at + 2, next == std::string_view::npos ? next : next - at - 2),
                 answer);
      at = next;
    }
    return answer;
  }

  static void add_header(std::string_view line, HttpAnswer& answer) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) {
      return;
    }
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers.emplace(std::move(name), line.substr(colon + 2));
  }

  base::FileDescriptor socket_;
  tls::SslContextPtr context_;
  tls::SslPtr ssl_;
  std::string in_;
  std::string failure_;
  bool connected_ = false;
  bool timed_out_ = false;
};

/// A POST of JSON with its length.
inline std::string post(const std::string& body, const std::string& more_headers = "") {
  return "POST /mutate?timeout=10s HTTP/1.1\r\nHost: webhook\r\nContent-Type: "
         "application/json\r\n" +
         more_headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace injector::tests
