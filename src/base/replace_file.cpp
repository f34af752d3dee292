#include "base/replace_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace injector::base {
namespace {

bool write_draft(const std::string& path, std::string_view text) {
  constexpr mode_t kMode = 0666;  // Less the umask.
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  return file && write_all(file.get(), text) && ::fsync(file.get()) == 0;
}

}  // namespace

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

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string draft = path + ".new";
  if (write_draft(draft, text) && std::rename(draft.c_str(), path.c_str()) == 0) {
    return {};
  }
  return Error{ErrorCode::Unavailable, path + ": " + std::generic_category().message(errno)};
}

}  // namespace injector::base
