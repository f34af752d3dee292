// Clients that are slow or silent on purpose, and what runs out because of them.

#include <algorithm>
#include <atomic>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <catch2/catch.hpp>

#include "http/cpus.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"

namespace injector::tests {
namespace {

constexpr const char* kGet = "GET /livez HTTP/1.1\r\nHost: admin\r\n\r\n";

http::Route live() {
  return {http::Method::Get, "/livez", [](const http::Request&) { return http::Reply{200, "ok"}; }};
}

http::ServerOptions local(std::size_t max_connections, std::size_t threads) {
  http::ServerOptions options;
  options.listen = "127.0.0.1:0";
  options.max_connections = max_connections;
  options.threads = threads;
  return options;
}

TEST_CASE("server: 64 half-open handshakes delay nobody", "[http]") {
  const TestServer test;
  std::deque<TlsClient> half_open;
  for (int i = 0; i < 64; ++i) {
    half_open.push_back(test.connect({.tls = false}));
    REQUIRE(half_open.back().send(std::string("\x16\x03\x01\x02\x00\x01", 6)));
  }
  for (int i = 0; i < 20; ++i) {
    REQUIRE(test.connect().ask(post("{}")).value().status == 200);
  }
  // None of them had to go for it.
  CHECK(test.server->stats().evicted == 0);
  CHECK(test.server->stats().connections >= 64);
}

TEST_CASE("server: 64 unfinished requests delay nobody, on a plain port neither", "[http]") {
  http::Server server(local(1024, 1), {live()}, nullptr, base::Logger::silent());
  REQUIRE(server.start());
  std::deque<TlsClient> unfinished;
  for (int i = 0; i < 64; ++i) {
    unfinished.emplace_back(server.port(), TlsClientOptions{.tls = false});
    REQUIRE(unfinished.back().send("GET /livez HT"));
  }
  REQUIRE(eventually([&server] { return server.stats().connections == 64; }));
  TlsClient probe(server.port(), {.tls = false});
  CHECK(probe.ask(kGet).value().status == 200);
}

TEST_CASE("server: at its limit the oldest handshake goes before any idle connection", "[http]") {
  const auto threads = GENERATE(std::size_t{1}, std::size_t{3});
  TestServer test(quickly(echo), local(8, threads));
  TlsClient idle = test.connect();
  REQUIRE(idle.ask(post("{}")).value().status == 200);
  std::deque<TlsClient> half_open;
  for (int i = 0; i < 40; ++i) {
    half_open.push_back(test.connect({.tls = false}));
    half_open.back().send("\x16\x03");
  }
  TlsClient newcomer = test.connect();
  CHECK(newcomer.ask(post("{}")).value().status == 200);
  CHECK(idle.ask(post("{}")).value().status == 200);
  CHECK(half_open.front().receive_all().empty());
  CHECK(test.server->stats().connections <= 8);
}

TEST_CASE("server: at its limit unfinished requests make room", "[http]") {
  TestServer test(quickly(echo), local(4, 1));
  std::deque<TlsClient> unfinished;
  for (int i = 0; i < 12; ++i) {
    unfinished.push_back(test.connect());
    const std::string whole = post("a body");
    unfinished.back().send(whole.substr(0, whole.size() - (i % 2 == 0 ? 3 : 30)));
  }
  CHECK(test.connect().ask(post("{}")).value().status == 200);
}

/// Leaves the process no descriptor but those that it has.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int highest = 0;
    for (int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC); fd >= 0;) {
      fillers_.push_back(fd);
      highest = std::max(highest, fd);
      const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      // Once two in a row are the highest ones, there are no holes below.
      if (fillers_.size() > 64 && next == highest + 1) {
        ::close(next);
        break;
      }
      fd = next;
    }
    const rlimit tight{static_cast<rlim_t>(highest) + 1, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &tight);
  }

  ~NoMoreFiles() {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    for (const int fd : fillers_) {
      ::close(fd);
    }
  }

  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
  std::vector<int> fillers_;
};

TEST_CASE("server: where descriptors run out an idle connection makes room", "[http]") {
  LogLines log;
  http::Server server(local(1024, 1), {live()}, nullptr, log.logger());
  REQUIRE(server.start());
  TlsClient idle(server.port(), {.tls = false});
  REQUIRE(idle.ask(kGet).value().status == 200);
  TlsClient newcomer;  // Has its socket before there are none left.
  {
    const NoMoreFiles none;
    newcomer.connect_to(server.port(), {.tls = false});
    CHECK(newcomer.ask(kGet).value().status == 200);
  }
  CHECK(idle.wait_for_close());
  CHECK(server.stats().evicted == 1);
  CHECK(log.count("cannot accept connections") == 1);
}

TEST_CASE("server: starting raises the limit on open files to the hard one", "[http]") {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit lower{std::min<rlim_t>(256, before.rlim_max), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &lower) == 0);
  http::Server server(local(8, 1), {live()}, nullptr, base::Logger::silent());
  REQUIRE(server.start());
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  CHECK(after.rlim_cur == before.rlim_max);
}

TEST_CASE("server: large bodies at once are bounded, and memory is given back", "[http]") {
  http::ServerOptions options = local(64, 1);
  options.limits.body_bytes = 1'000'000;
  options.limits.body_bytes_in_flight = 2'000'000;
  TestServer test(quickly(echo), options);
  const std::string large = post(std::string(900'000, 'a'));
  std::deque<TlsClient> unfinished;
  for (int i = 0; i < 2; ++i) {
    unfinished.push_back(test.connect());
    REQUIRE(unfinished.back().send(large.substr(0, large.size() - 1)));
  }
  REQUIRE(eventually([&test] { return test.server->stats().body_bytes_in_flight > 1'700'000; }));
  TlsClient third = test.connect();
  third.send(large);
  const auto refused = third.receive();
  REQUIRE(refused);
  CHECK(refused->status == 429);
  CHECK(refused->header("retry-after") == "1");
  CHECK(test.connect().ask(post("{}")).value().status == 200);
  for (TlsClient& client : unfinished) {
    CHECK(client.ask("a").value().status == 200);
  }
  CHECK(test.server->stats().body_bytes_in_flight == 0);
  CHECK(test.server->stats().refused_bodies == 1);
}

TEST_CASE("cpus: a control group's quota counts as whole CPUs, the least of them all", "[http]") {
  const TempDir root;
  std::filesystem::create_directory(root.path() / "a");
  const auto quota = [&root](const std::string& group, const std::string& text) {
    root.write(group + "cpu.max", text);
  };
  CHECK_FALSE(http::cgroup_cpus("0::/\n", root.path()));
  quota("", "max 100000\n");
  CHECK_FALSE(http::cgroup_cpus("0::/\n", root.path()));
  quota("", "50000 100000\n");
  CHECK(http::cgroup_cpus("0::/\n", root.path()) == 1U);
  quota("", "250000 100000\n");
  CHECK(http::cgroup_cpus("1:cpu:/x\n0::/a/b\n", root.path()) == 3U);
  quota("a/", "150000 100000\n");
  CHECK(http::cgroup_cpus("1:cpu:/x\n0::/a/b\n", root.path()) == 2U);
  CHECK(http::available_cpus() >= 1);
}

}  // namespace
}  // namespace injector::tests
