#include "cli/certs_command.h"

#include <chrono>
#include <filesystem>
#include <sstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/support/files.h"
#include "tests/support/temp_dir.h"

namespace injector::cli {
namespace {

using injector::tests::read_file;
using injector::tests::TempDir;

const tls::SystemTime kNow = std::chrono::system_clock::now();

int run_in(const std::string& directory, bool keep_ca_key = false) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  return run_certs({{"a.svc", "127.0.0.1"}, directory, 30, keep_ca_key}, kNow, {in, out, err});
}

TEST_CASE("certs: the CA signed the certificate, which has the names and the lifetime", "[cli]") {
  const TempDir dir;
  const std::string folder = dir.file("new/folder");
  REQUIRE(run_in(folder) == kDone);
  const auto ca = tls::Certificate::parse(read_file(folder + "/ca.crt")).value();
  const auto serving = tls::Certificate::parse(read_file(folder + "/tls.crt")).value();
  CHECK(serving.issued_by(ca));
  CHECK(serving.names() == std::vector<std::string>{"a.svc", "127.0.0.1"});
  CHECK(serving.not_after() > kNow + std::chrono::hours(24 * 29));
  CHECK(serving.not_after() < kNow + std::chrono::hours(24 * 31));
  CHECK(tls::PrivateKey::parse(read_file(folder + "/tls.key")).value().belongs_to(serving));
  CHECK_FALSE(std::filesystem::exists(folder + "/ca.key"));
}

TEST_CASE("certs: keys are for their owner only, and never overwritten", "[cli]") {
  const TempDir dir;
  REQUIRE(run_in(dir.path().string(), true) == kDone);
  for (const char* name : {"tls.key", "ca.key"}) {
    struct stat status {};

    REQUIRE(::stat(dir.file(name).c_str(), &status) == 0);
    CHECK((status.st_mode & 077U) == 0);
  }
  const std::string before = read_file(dir.file("tls.key"));
  CHECK(run_in(dir.path().string()) == kFailed);
  CHECK(read_file(dir.file("tls.key")) == before);
}

}  // namespace
}  // namespace injector::cli
