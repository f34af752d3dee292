// Flags, wiring, signals; nothing else.

#include <exception>
#include <iostream>
#include <malloc.h>

#include "app/command_line.h"

namespace {

namespace app = injector::app;
namespace cli = injector::cli;

void add_version_command(CLI::App& application, app::Chosen& chosen) {
  application.add_subcommand("version", "Print the version")->callback([&chosen] {
    chosen.work = [] {
      std::cout << "envoy-initializer " << INJ_VERSION << "\n";
      return 0;
    };
  });
}

int run(int argc, char** argv) {
  CLI::App application("Puts an Envoy sidecar into Pods that ask for it.", "envoy-initializer");
  application.require_subcommand(1);
  application.footer("envoy-initializer COMMAND --help says more, with examples.");
  app::Chosen chosen;
  app::add_local_commands(application, chosen);
  app::add_webhook_command(application, chosen);
  app::add_initializer_command(application, chosen);
  app::add_status_command(application, chosen);
  app::add_certs_command(application, chosen);
  app::add_completion_command(application, chosen);
  add_version_command(application, chosen);
  try {
    application.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return application.exit(error) == 0 ? cli::kDone : cli::kUsage;
  }
  return chosen.work();
}

// Large buffers go back to the system when they are freed. Left alone, glibc takes the first large
// one that is freed for a sign that more will come, and keeps every later one.
void give_back_large_buffers() {
#ifdef __GLIBC__
  constexpr int kLarge = 256 << 10;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kLarge);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  give_back_large_buffers();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return cli::kFailed;
  }
}
