#include "cli/certs_command.h"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/types.h>
#include <system_error>

#include <fmt/format.h>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "cli/failure.h"

namespace injector::cli {
namespace {

constexpr mode_t kPublic = 0644;
constexpr mode_t kPrivate = 0600;

struct NewFile {
  const char* name;
  std::string text;
  mode_t mode;
};

base::Result<std::vector<NewFile>> make_files(const CertsOptions& options, tls::SystemTime now) {
  const tls::Validity validity{now, std::chrono::hours(24 * options.days)};
  INJ_ASSIGN(const auto ca, tls::make_ca("envoy-initializer CA", validity));
  INJ_ASSIGN(const auto pair, tls::make_serving_certificate(ca, options.names, validity));
  std::vector<NewFile> files = {{"ca.crt", ca.certificate.pem(), kPublic},
                                {"tls.crt", pair.certificate.pem(), kPublic},
                                {"tls.key", pair.key.pem(), kPrivate}};
  if (options.keep_ca_key) {
    files.push_back({"ca.key", ca.key.pem(), kPrivate});
  }
  return files;
}

base::Result<void> write_new(const std::filesystem::path& path, std::string_view text,
                             mode_t mode) {
  const base::FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return base::Error{base::ErrorCode::Internal,
                       fmt::format("{}: {}", path.string(),
                                   std::error_code(errno, std::generic_category()).message())};
  }
  return {};
}

}  // namespace

int run_certs(const CertsOptions& options, tls::SystemTime now, const Streams& streams) {
  const auto files = make_files(options, now);
  if (!files) {
    return fail(files.error(), streams);
  }
  std::error_code error;  // write_new() reports what follows from it.
  std::filesystem::create_directories(options.directory, error);
  for (const NewFile& file : files.value()) {
    const auto path = std::filesystem::path(options.directory) / file.name;
    if (auto written = write_new(path, file.text, file.mode); !written) {
      return fail(written.error(), streams);
    }
    streams.err << "wrote " << path.string() << "\n";
  }
  return kDone;
}

}  // namespace injector::cli
