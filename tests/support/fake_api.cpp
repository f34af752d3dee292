#include "tests/support/fake_api.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <csignal>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tests/support/certificates.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {
namespace {

/// Made once a process: the openssl command takes its time.
struct Files {
  TempDir dir;
  CertificateAuthority authority{dir};
  KeyPair server = authority.issue_server("fake-api");
};

Files& files() {
  static Files instance;
  return instance;
}

void check(bool good, const char* what) {
  if (!good) {
    throw std::runtime_error(std::string("fake API: ") + what);
  }
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

std::string hex(std::size_t number) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  return {digits.data(), end};
}

}  // namespace

struct FakeApi::Tls {
  explicit Tls(Security security)
      : context(SSL_CTX_new(TLS_server_method())) {
    check(SSL_CTX_use_certificate_chain_file(context, files().server.cert_file.c_str()) == 1,
          "certificate");
    check(SSL_CTX_use_PrivateKey_file(context, files().server.key_file.c_str(), SSL_FILETYPE_PEM) ==
              1,
          "key");
    if (security == Security::ClientCertificate) {
      check(SSL_CTX_load_verify_locations(context, files().authority.cert_file().c_str(),
                                          nullptr) == 1,
            "authority");
      SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
  }

  ~Tls() { SSL_CTX_free(context); }

  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  SSL_CTX* context;
};

/// One accepted socket, blocking. shut_down() may be called from any thread.
class FakeApi::Connection final : public Peer {
 public:
  Connection(int fd, SSL_CTX* context, int number)
      : fd_(fd),
        ssl_(context != nullptr ? SSL_new(context) : nullptr),
        number_(number) {
    if (ssl_ != nullptr) {
      SSL_set_fd(ssl_, fd_);
    }
  }

  ~Connection() override {
    SSL_free(ssl_);
    ::close(fd_);
  }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool handshake() { return ssl_ == nullptr || SSL_accept(ssl_) == 1; }

  bool send(std::string_view bytes) override {
    while (!bytes.empty()) {
      ERR_clear_error();
      const auto size = static_cast<int>(bytes.size());
      const ssize_t sent = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), size)
                                           : ::write(fd_, bytes.data(), bytes.size());
      if (sent <= 0) {
        return false;
      }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void close() override {
    if (ssl_ != nullptr) {
      SSL_shutdown(ssl_);
    }
    cut();
  }

  void cut() override {
    ended_ = true;
    shut_down();
  }

  void reset() override {
    const linger now{1, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    ended_ = true;  // The close in the destructor sends the RST.
  }

  void wait_gone() override {
    while (fill()) {
    }
    ended_ = true;
  }

  void shut_down() const { ::shutdown(fd_, SHUT_RDWR); }

  [[nodiscard]] bool ended() const noexcept { return ended_; }

  bool read_request(Request& request) {
    const std::size_t head_end = find_head_end();
    if (head_end == std::string::npos) {
      return false;
    }
    parse_head(buffer_.substr(0, head_end), request);
    buffer_.erase(0, head_end + 4);
    const std::string length = request.header("content-length");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    while (buffer_.size() < size) {
      if (!fill()) {
        return false;
      }
    }
    request.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    request.client = peer_name();
    request.connection = number_;
    return true;
  }

 private:
  std::size_t find_head_end() {
    for (;;) {
      const std::size_t end = buffer_.find("\r\n\r\n");
      if (end != std::string::npos || !fill()) {
        return end;
      }
    }
  }

  static void parse_head(const std::string& head, Request& request) {
    const std::size_t first = head.find(' ');
    const std::size_t second = head.find(' ', first + 1);
    request.method = head.substr(0, first);
    request.target = head.substr(first + 1, second - first - 1);
    for (std::size_t at = head.find("\r\n"); at != std::string::npos;) {
      const std::size_t end = std::min(head.find("\r\n", at + 2), head.size());
      const std::string line = head.substr(at + 2, end - at - 2);
      const std::size_t colon = line.find(": ");
      request.headers[lower(line.substr(0, colon))] = line.substr(colon + 2);
      at = end == head.size() ? std::string::npos : end;
    }
  }

  bool fill() {
    std::array<char, 8192> block{};
    ERR_clear_error();
    const ssize_t got = ssl_ != nullptr ? SSL_read(ssl_, block.data(), block.size())
                                        : ::read(fd_, block.data(), block.size());
    if (got <= 0) {
      return false;
    }
    buffer_.append(block.data(), static_cast<std::size_t>(got));
    return true;
  }

  [[nodiscard]] std::string peer_name() const {
    X509* certificate = ssl_ != nullptr ? SSL_get1_peer_certificate(ssl_) : nullptr;
    if (certificate == nullptr) {
      return {};
    }
    std::array<char, 128> name{};
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name.data(),
                              name.size());
    X509_free(certificate);
    return name.data();
  }

  const int fd_;
  SSL* const ssl_;  // Null: plain.
  const int number_;
  bool ended_ = false;
  std::string buffer_;
};

std::string FakeApi::Request::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

void FakeApi::Peer::respond(int code, std::string_view body, std::string_view headers) {
  std::string answer = "HTTP/1.1 " + std::to_string(code) + " Scripted\r\n";
  answer.append(headers).append("Content-Length: ").append(std::to_string(body.size()));
  answer.append("\r\n\r\n").append(body);
  send(answer);
}

void FakeApi::Peer::refuse(int code, std::string_view reason, std::string_view headers) {
  std::string body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":")";
  body.append(reason).append(R"(","message":"scripted refusal","code":)");
  body.append(std::to_string(code)).append("}");
  respond(code, body, headers);
}

void FakeApi::Peer::start_chunked() {
  send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
}

bool FakeApi::Peer::send_chunk(std::string_view bytes) {
  return send(hex(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n");
}

FakeApi::FakeApi(Handler handler, Security security)
    : handler_(std::move(handler)),
      security_(security) {
  if (security != Security::Plain) {
    tls_ = std::make_unique<Tls>(security);
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  check(::bind(listener_, generic, size) == 0 && ::listen(listener_, 128) == 0 &&
            ::getsockname(listener_, generic, &size) == 0,
        "listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this] { accept_loop(); });
}

FakeApi::~FakeApi() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
    for (const auto& connection : open_) {
      connection->shut_down();
    }
  }
  ::shutdown(listener_, SHUT_RDWR);  // Ends accept().
  acceptor_.join();
  threads_.clear();
  ::close(listener_);
}

void FakeApi::accept_loop() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) {
      return;
    }
    const base::MutexLock lock(mutex_);
    if (stopping_) {
      ::close(fd);
      return;
    }
    SSL_CTX* context = tls_ != nullptr ? tls_->context : nullptr;
    open_.push_back(std::make_unique<Connection>(fd, context, ++count_));
    Connection& connection = *open_.back();
    threads_.emplace_back([this, &connection] { serve(connection); });
  }
}

void FakeApi::serve(Connection& connection) {
  // A client that hangs up must not end the test program.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
  Request request;
  for (bool good = connection.handshake(); good && connection.read_request(request);) {
    {
      const base::MutexLock lock(mutex_);
      requests_.push_back(request);
    }
    handler_(request, connection);
    request = {};
    good = !connection.ended();
  }
  const base::MutexLock lock(mutex_);
  open_.remove_if([&](const auto& open) { return open.get() == &connection; });
}

std::string FakeApi::url() const {
  return (tls_ != nullptr ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
}

kube::ClientConfig FakeApi::config() const {
  kube::ClientConfig config;
  config.server = url();
  config.tls.authority.file = tls_ != nullptr ? files().authority.cert_file() : "";
  return config;
}

std::vector<FakeApi::Request> FakeApi::requests() const {
  const base::MutexLock lock(mutex_);
  return requests_;
}

int FakeApi::connections() const {
  const base::MutexLock lock(mutex_);
  return count_;
}

std::string TestCertificates::authority() {
  return files().authority.cert_file();
}

tls::ClientSettings TestCertificates::client(const std::string& name) {
  const KeyPair pair = files().authority.issue_client(name, "testers");
  tls::ClientSettings tls;
  tls.authority.file = authority();
  tls.certificate.file = pair.cert_file;
  tls.key.file = pair.key_file;
  return tls;
}

}  // namespace injector::tests
