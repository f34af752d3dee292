// An open file descriptor, closed once.

#pragma once

#include <utility>

namespace injector::base {

class FileDescriptor {
 public:
  FileDescriptor() = default;

  explicit FileDescriptor(int fd) noexcept
      : fd_(fd) {}

  FileDescriptor(FileDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}

  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;

  ~FileDescriptor() { reset(); }

  void reset() noexcept;

  /// -1 if there is none.
  [[nodiscard]] int get() const noexcept { return fd_; }

  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace injector::base
