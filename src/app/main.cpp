// Flags, wiring, signals; nothing else.

#include <exception>
#include <iostream>
#include <malloc.h>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "app/command_tree.h"

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

void add_commands(CLI::App& application, app::Chosen& chosen) {
  application.require_subcommand(1);
  app::add_local_commands(application, chosen);
  app::add_webhook_command(application, chosen);
  app::add_controller_command(application, chosen);
  app::add_status_command(application, chosen);
  app::add_check_command(application, chosen);
  app::add_dashboard_command(application, chosen);
  app::add_certs_command(application, chosen);
  app::add_completion_command(application, chosen);
  add_version_command(application, chosen);
}

// As kubectl's plugin, the program's file is called kubectl-envoy_initializer.
std::string name_of_program(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file == "kubectl-envoy_initializer" ? "kubectl envoy-initializer" : "envoy-initializer";
}

int run(const std::string& name, std::vector<std::string> words) {
  CLI::App application("Puts an Envoy sidecar into Pods that ask for it.");
  app::Chosen chosen;
  add_commands(application, chosen);
  app::use_name_in_help(application, name);
  if (!words.empty() && words.front() == "__complete") {
    return app::run_complete(application, {words.begin() + 1, words.end()});
  }
  words = cli::help_as_flag(std::move(words));
  if (const std::string mistake = cli::find_mistake(app::command_tree(application), words);
      !mistake.empty()) {
    std::cerr << mistake << "\n";
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
    return run(name_of_program(argv[0]), {argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return cli::kFailed;
  }
}
