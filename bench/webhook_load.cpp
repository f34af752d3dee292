// Three servers for a load generator to compare: real admissions by our server, a constant answer
// by our server, a constant answer by an untuned httplib::SSLServer. See bench/servers.
//
//   webhook_load FOLDER            writes tls.crt, tls.key and reviews of three sizes there, prints
//   three
//                                  ports, serves until stdin ends

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>
#include <prometheus/registry.h>

#include "admission/admission.h"
#include "base/log.h"
#include "http/server.h"
#include "template/store.h"
#include "tests/support/sample_review.h"
#include "tls/certificate.h"
#include "tls/serving_certificate.h"

namespace injector {
namespace {

const std::string kAnswer(300, 'a');

int run(const std::filesystem::path& folder) {
  const tls::Validity one_day{std::chrono::system_clock::now(), std::chrono::hours(24)};
  const auto ca = tls::make_ca("bench", one_day).value();
  const auto pair = tls::make_serving_certificate(ca, {"localhost", "127.0.0.1"}, one_day).value();
  const std::string certificate_path = (folder / "tls.crt").string();
  const std::string key_path = (folder / "tls.key").string();
  std::ofstream(certificate_path) << pair.certificate.pem();
  std::ofstream(key_path) << pair.key.pem();

  for (const std::size_t kib : {4, 64, 1024}) {
    std::ofstream(folder / fmt::format("review-{}k.json", kib))
        << tests::sample_review(kib << 10U, tests::Asks::Yes);
  }

  const base::Logger log(base::LogFormat::Json, base::LogLevel::Info);
  const auto certificate =
      tls::ServingCertificate::create({pair.certificate.pem(), pair.key.pem(), ""}, log).value();
  http::ServerOptions options;
  options.listen = "127.0.0.1:0";
  const auto constant = [](std::string_view) { return admission::HttpReply{200, kAnswer}; };
  http::Server ours(options, admission::mutate_routes(constant), certificate.get(), log);
  if (auto started = ours.start(); !started) {
    std::cerr << started.error().message << "\n";
    return 1;
  }

  templates::TemplateStore templates(log);
  static_cast<void>(templates.update(templates::default_template_text(), "built-in template"));
  prometheus::Registry registry;
  admission::AdmissionMetrics metrics(registry);
  const admission::Admission admission({templates}, metrics, log);
  http::Server real(options,
                    admission::webhook_routes(
                        {[&](std::string_view body) { return admission.answer_at_once(body); },
                         [&](std::string_view body) { return admission.answer(body); }},
                        constant),
                    certificate.get(), log);
  if (auto started = real.start(); !started) {
    std::cerr << started.error().message << "\n";
    return 1;
  }

  httplib::SSLServer stock(certificate_path.c_str(), key_path.c_str());
  stock.Post("/mutate", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(kAnswer, "application/json");
  });
  const int stock_port = stock.bind_to_any_port("127.0.0.1");
  std::jthread stock_thread([&stock] { stock.listen_after_bind(); });

  std::cout << real.port() << " " << ours.port() << " " << stock_port << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const http::ServerStats stats = (line == "real" ? real : ours).stats();
    std::cout << "connections accepted " << stats.accepted << ", threads " << stats.threads
              << std::endl;
  }
  stock.stop();
  real.stop(std::chrono::seconds(5));
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
