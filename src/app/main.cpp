// Flags, wiring, signals; nothing else.

#include <exception>
#include <iostream>
#include <malloc.h>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/command_words.h"

namespace {

namespace app = injector::app;
namespace cli = injector::cli;

constexpr const char* kVersionText = "envoy-initializer " INJ_VERSION;

void add_version_command(CLI::App& application, app::Chosen& chosen) {
  application.set_version_flag("--version", kVersionText, "Print the version and exit");
  application.add_subcommand("version", "Print the version")->callback([&chosen] {
    chosen.work = [] {
      std::cout << kVersionText << "\n";
      return 0;
    };
  });
}

// CLI11 wants the words in reverse.
void parse(CLI::App& application, std::vector<std::string> words) {
  application.parse(std::vector<std::string>(words.rbegin(), words.rend()));
}

int run(int argc, char** argv) {
  CLI::App application("Puts an Envoy sidecar into Pods that ask for it.", "envoy-initializer");
  application.require_subcommand(1);
  application.footer("envoy-initializer COMMAND --help says more, with examples.");
  app::Chosen chosen;
  app::add_local_commands(application, chosen);
  app::add_webhook_command(application, chosen);
  app::add_controller_command(application, chosen);
  app::add_status_command(application, chosen);
  app::add_certs_command(application, chosen);
  app::add_completion_command(application, chosen);
  add_version_command(application, chosen);
  const auto words = app::help_as_flag({argv + 1, argv + argc});
  if (const std::string problem = app::unknown_command(application, words); !problem.empty()) {
    std::cerr << problem << "\n";
    return cli::kUsage;
  }
  try {
    parse(application, words);
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
