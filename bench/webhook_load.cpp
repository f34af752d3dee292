// A constant answer over TLS, by our server and by httplib::SSLServer as it comes and tuned, for a
// load generator to compare. See bench/webhook_load.sh.
//
//   webhook_load FOLDER    writes a certificate and its key there, prints three ports, and for
//   every
//                          line of standard input what has happened so far; serves until it ends

#include <chrono>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>
#include <string_view>
#include <thread>

#include <httplib.h>

#include "base/log.h"
#include "tls/certificate.h"
#include "tls/serving_certificate.h"
#include "webhook/server.h"

namespace injector {
namespace {

const std::string kAnswer(300, 'a');

/// Of the whole process: tells more than the clock on a machine that does other things as well.
std::int64_t cpu_microseconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1'000;
}

int answer_constantly(httplib::Server& server) {
  server.Post("/mutate", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(kAnswer, "application/json");
  });
  return server.bind_to_any_port("127.0.0.1");
}

int run(const std::filesystem::path& folder) {
  const tls::Validity one_day{std::chrono::system_clock::now(), std::chrono::hours(24)};
  const auto ca = tls::make_ca("bench", one_day).value();
  const auto pair = tls::make_serving_certificate(ca, {"localhost", "127.0.0.1"}, one_day).value();
  const std::string certificate_path = (folder / "tls.crt").string();
  const std::string key_path = (folder / "tls.key").string();
  std::ofstream(certificate_path) << pair.certificate.pem();
  std::ofstream(key_path) << pair.key.pem();

  const base::Logger log = base::Logger::silent();
  const auto certificate =
      tls::ServingCertificate::create({pair.certificate.pem(), pair.key.pem(), ""}, log).value();
  webhook::ServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto constant = [](std::string_view) { return webhook::HttpReply{200, kAnswer}; };
  webhook::Server ours(options, webhook::mutate_routes(constant), certificate.get(), log);
  if (auto started = ours.start(); !started) {
    std::cerr << started.error().message << "\n";
    return 1;
  }

  httplib::SSLServer untuned(certificate_path.c_str(), key_path.c_str());
  httplib::SSLServer tuned(certificate_path.c_str(), key_path.c_str());
  tuned.set_tcp_nodelay(true);
  tuned.set_keep_alive_max_count(std::numeric_limits<std::size_t>::max());
  tuned.new_task_queue = [] { return new httplib::ThreadPool(128); };
  const int untuned_port = answer_constantly(untuned);
  const int tuned_port = answer_constantly(tuned);
  std::jthread untuned_thread([&untuned] { untuned.listen_after_bind(); });
  std::jthread tuned_thread([&tuned] { tuned.listen_after_bind(); });

  std::cout << ours.port() << " " << untuned_port << " " << tuned_port << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const webhook::ServerStats stats = ours.stats();
    std::cout << cpu_microseconds() << " " << stats.accepted << " " << stats.workers << std::endl;
  }
  untuned.stop();
  tuned.stop();
  return ours.stop(std::chrono::seconds(5)) ? 0 : 1;
}

}  // namespace
}  // namespace injector

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: webhook_load FOLDER\n";
    return 2;
  }
  return injector::run(argv[1]);
}
