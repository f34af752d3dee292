#include "kube/file.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "base/file_descriptor.h"
#include "base/until.h"

namespace injector::kube {
namespace {

constexpr std::size_t kMaxFile = std::size_t{16} << 20U;

base::Error file_error(const std::string& path, int number) {
  const bool missing = number == ENOENT || number == ENOTDIR;
  base::Error error = base::system_error(path.c_str(), number);
  error.code = missing ? base::ErrorCode::NotFound : base::ErrorCode::InvalidInput;
  return error;
}

}  // namespace

base::Result<std::string> read_file(const std::string& path) {
  const base::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return file_error(path, errno);
  }
  std::string text;
  std::array<char, std::size_t{16} << 10U> block{};
  for (;;) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return file_error(path, errno);
    }
    if (got == 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxFile) {
      return base::invalid(path + ": larger than 16 MiB");
    }
  }
}

}  // namespace injector::kube
