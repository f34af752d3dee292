// certs: a CA and a serving certificate for those who bring their own.

#include "cli/certs_command.h"

#include <chrono>
#include <memory>

#include "app/command_line.h"
#include "app/flag_checks.h"

namespace injector::app {

void add_certs_command(CLI::App& app, Chosen& chosen) {
  auto options = std::make_shared<cli::CertsOptions>();
  CLI::App& command = *app.add_subcommand("certs", "Make a CA and a serving certificate");
  command
      .add_option("--dns", options->names, "Names or addresses of the certificate; may be repeated")
      ->required()
      ->check(host_check());
  command.add_option("--out", options->directory, "Folder for ca.crt, tls.crt and tls.key")
      ->required()
      ->check(not_empty_check());
  command.add_option("--days", options->days, "How long they hold")
      ->check(CLI::Range(1, 36500))
      ->capture_default_str();
  command.add_flag("--keep-ca-key", options->keep_ca_key,
                   "Write ca.key as well; without it the CA can sign nothing else");
  command.footer(
      "Example:\n"
      "  envoy-initializer certs --dns envoy-initializer.envoy-initializer.svc --out certs/");
  command.callback([options, &chosen] {
    chosen.work = [options] {
      return cli::run_certs(*options, std::chrono::system_clock::now(), process_streams());
    };
  });
}

}  // namespace injector::app
