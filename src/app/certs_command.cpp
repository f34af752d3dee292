// certs: a CA and a serving certificate for those who bring their own.

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "app/command_line.h"
#include "app/flag_checks.h"
#include "tls/certificate.h"

namespace injector::app {
namespace {

struct CertsFlags {
  std::vector<std::string> names;
  std::string out;
  int days = 365;
  bool keep_ca_key = false;
};

// Never replaces a file: a key that is overwritten is lost.
base::Result<void> write_new(const std::filesystem::path& path, const std::string& text,
                             mode_t mode) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (file >= 0) {
    ::close(file);
  }
  if (!written) {
    return base::Error{base::ErrorCode::Internal,
                       fmt::format("{}: {}", path.string(),
                                   std::error_code(reason, std::generic_category()).message())};
  }
  return {};
}

int run_certs(const CertsFlags& flags) {
  const tls::Validity validity{std::chrono::system_clock::now(),
                               std::chrono::hours(24 * flags.days)};
  const auto ca = tls::make_ca("envoy-initializer CA", validity);
  if (!ca) {
    return fail(ca.error());
  }
  const auto pair = tls::make_serving_certificate(ca.value(), flags.names, validity);
  if (!pair) {
    return fail(pair.error());
  }
  std::error_code error;
  std::filesystem::create_directories(flags.out, error);

  struct File {
    const char* name;
    std::string text;
    mode_t mode;
  };

  constexpr mode_t kPublic = 0644;
  constexpr mode_t kPrivate = 0600;
  std::vector<File> files = {{"ca.crt", ca.value().certificate.pem(), kPublic},
                             {"tls.crt", pair.value().certificate.pem(), kPublic},
                             {"tls.key", pair.value().key.pem(), kPrivate}};
  if (flags.keep_ca_key) {
    files.push_back({"ca.key", ca.value().key.pem(), kPrivate});
  }
  for (const File& file : files) {
    const auto path = std::filesystem::path(flags.out) / file.name;
    if (auto written = write_new(path, file.text, file.mode); !written) {
      return fail(written.error());
    }
    std::cerr << "wrote " << path.string() << "\n";
  }
  return cli::kDone;
}

}  // namespace

void add_certs_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<CertsFlags>();
  CLI::App& command = *app.add_subcommand("certs", "Make a CA and a serving certificate");
  command
      .add_option("--dns", flags->names, "Names or addresses of the certificate; may be repeated")
      ->required()
      ->check(host_check());
  command.add_option("--out", flags->out, "Folder for ca.crt, tls.crt and tls.key")
      ->required()
      ->check(not_empty_check());
  command.add_option("--days", flags->days, "How long they hold")
      ->check(CLI::Range(1, 36500))
      ->capture_default_str();
  command.add_flag("--keep-ca-key", flags->keep_ca_key,
                   "Write ca.key as well; without it the CA can sign nothing else");
  command.footer(
      "Example:\n"
      "  envoy-initializer certs --dns envoy-initializer.envoy-initializer.svc --out certs/");
  command.callback([flags, &chosen] { chosen.work = [flags] { return run_certs(*flags); }; });
}

}  // namespace injector::app
