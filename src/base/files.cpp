#include "base/files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace injector::base {
namespace {

constexpr mode_t kMode = 0666;  // Less the umask.

Error file_error(const std::string& path, int number) {
  const bool missing = number == ENOENT || number == ENOTDIR;
  return Error{missing ? ErrorCode::NotFound : ErrorCode::InvalidInput,
               path + ": " + std::generic_category().message(number)};
}

Error write_error(const std::string& path) {
  return Error{ErrorCode::Unavailable, path + ": " + std::generic_category().message(errno)};
}

Result<std::string> read_all(int fd, const std::string& path, std::size_t limit) {
  std::string content;
  std::array<char, std::size_t{16} << 10U> block{};
  for (;;) {
    const ssize_t count = ::read(fd, block.data(), block.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return file_error(path, errno);
    }
    if (count == 0) {
      return content;
    }
    content.append(block.data(), static_cast<std::size_t>(count));
    if (content.size() > limit) {
      return file_error(path, EFBIG);
    }
  }
}

bool create(const std::string& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  return file && write_all(file.get(), text);
}

bool create_durably(const std::string& path, std::string_view text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  return file && write_all(file.get(), text) && ::fsync(file.get()) == 0;
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) {
    return file_error(path, errno);
  }
  return read_all(file.get(), path, limit);
}

Result<std::string> read_regular_file(const std::string& path, std::size_t limit) {
  // Non-blocking, or a FIFO in the file's place would hold us for ever.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    return file_error(path, errno);
  }

  struct stat status {};

  if (::fstat(file.get(), &status) != 0) {
    return file_error(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return invalid(path + ": not a regular file");
  }
  return read_all(file.get(), path, limit);
}

Result<void> write_file(const std::string& path, std::string_view text) {
  if (!create(path, text)) {
    return write_error(path);
  }
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string draft = path + ".new";
  if (create_durably(draft, text) && std::rename(draft.c_str(), path.c_str()) == 0) {
    return {};
  }
  return write_error(path);
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count < 0 && errno != EINTR) {
      return false;
    }
    text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace injector::base
