#include "cli/file_replacer.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace injector::cli {
namespace {

namespace fs = std::filesystem;
using base::FileDescriptor;

constexpr std::string_view kDraftPrefix = ".envoy-initializer-";
constexpr std::size_t kBlock = std::size_t{64} << 10U;

base::Error failure(std::string_view what, const fs::path& path, int reason) {
  return {base::ErrorCode::Internal,
          fmt::format("{} {}: {}", what, path.string(),
                      std::error_code(reason, std::generic_category()).message())};
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

// Calls `take` with the content, block by block; false if it cannot be read.
template <class Take>
bool read_all(int fd, Take take) {
  std::array<char, kBlock> block{};
  off_t at = 0;
  while (true) {
    const ssize_t count = ::pread(fd, block.data(), block.size(), at);
    if (count == 0) {
      return true;
    }
    if (count < 0 || !take(std::string_view(block.data(), static_cast<std::size_t>(count)))) {
      return false;
    }
    at += count;
  }
}

// Each changed file needs a descriptor until all are replaced.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
  }
}

FileDescriptor open_unnamed(const fs::path& directory) {
  constexpr mode_t kMode = 0600;
  const auto attempt = [&] {
    return ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, kMode);
  };
  int file = attempt();
  if (file < 0 && errno == EMFILE) {
    raise_descriptor_limit();
    file = attempt();
  }
  return FileDescriptor(file);
}

bool is_draft(const fs::path& path) {
  return path.filename().string().starts_with(kDraftPrefix);
}

// A draft in use is locked by its owner; the others were left behind by a kill.
void remove_old_drafts(const fs::path& directory) {
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (!is_draft(it->path())) {
      continue;
    }
    const FileDescriptor file(::open(it->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
      ::unlink(it->path().c_str());
    }
  }
}

bool is_same_file(const struct stat& left, const struct stat& right) {
  return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

// An extended attribute, such as an access control list, belongs to the file and not to its name.
bool has_attributes(int file) {
  std::array<char, 1024> names{};
  const ssize_t size = ::flistxattr(file, names.data(), names.size());
  const std::string_view list(names.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return (size < 0 && errno == ERANGE) ||
         (!list.empty() && list != std::string_view("security.selinux", 17));
}

bool take_over(const struct stat& target, int draft) {
  struct stat own {};

  if (::fstat(draft, &own) != 0) {
    return false;
  }
  const bool same_owner = own.st_uid == target.st_uid && own.st_gid == target.st_gid;
  constexpr mode_t kModeBits = 07777;
  return (same_owner || ::fchown(draft, target.st_uid, target.st_gid) == 0) &&
         ::fchmod(draft, target.st_mode & kModeBits) == 0;
}

bool overwrite(const fs::path& target, int draft) {
  const FileDescriptor file(::open(target.c_str(), O_WRONLY | O_CLOEXEC));

  struct stat size {};

  return file && ::fstat(draft, &size) == 0 &&
         read_all(draft, [&](std::string_view block) { return write_all(file.get(), block); }) &&
         ::ftruncate(file.get(), size.st_size) == 0 && ::fsync(file.get()) == 0;
}

// Gives a draft without a name one.
bool give_name(int draft, const fs::path& name) {
  const std::string own = fmt::format("/proc/self/fd/{}", draft);
  ::unlink(name.c_str());
  return ::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

bool move_over(const fs::path& name, const fs::path& target) {
  if (::rename(name.c_str(), target.c_str()) != 0) {
    const int reason = errno;
    ::unlink(name.c_str());
    errno = reason;
    return false;
  }
  // The name is in place; that it outlives a power failure is more than every file system offers.
  const FileDescriptor directory(
      ::open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  static_cast<void>(::fsync(directory.get()));
  return true;
}

// The open and locked target, if it is still what was read.
base::Result<FileDescriptor> lock_unchanged(const fs::path& target, const ContentMark& before) {
  FileDescriptor file(::open(target.c_str(), O_RDONLY | O_CLOEXEC));

  struct stat opened {};

  struct stat named {};

  ContentMark now;
  if (file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return base::Error{base::ErrorCode::Conflict,
                       fmt::format("{}: locked by another process", target.string())};
  }
  if (!file || ::fstat(file.get(), &opened) != 0 || ::stat(target.c_str(), &named) != 0 ||
      !read_all(file.get(), [&](std::string_view block) {
        now.add(block);
        return true;
      })) {
    return failure("replace", target, errno);
  }
  if (!is_same_file(opened, named) || !(now == before)) {
    return base::Error{
        base::ErrorCode::Conflict,
        fmt::format("{}: changed while this command was running; it was left as it is now: run the "
                    "command again",
                    target.string())};
  }
  return file;
}

}  // namespace

void ContentMark::add(std::string_view text) {
  constexpr std::uint64_t kPrime = 1099511628211U;
  for (const char c : text) {
    hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
  size_ += text.size();
}

FileReplacer::~FileReplacer() {
  remove_name(draft_);
  for (Draft& draft : waiting_) {
    remove_name(draft);
  }
}

void FileReplacer::remove_name(Draft& draft) {
  if (!draft.name.empty()) {
    ::unlink(draft.name.c_str());
    draft.name.clear();
  }
}

base::Result<void> FileReplacer::open(const std::string& path) {
  std::error_code error;
  Draft draft;
  draft.path = path;
  draft.target = fs::canonical(path, error);
  if (error) {
    return failure("open", path, error.value());
  }
  if (cleaned_.insert(draft.target.parent_path()).second) {
    remove_old_drafts(draft.target.parent_path());
  }
  if (auto opened = open_draft(draft); !opened) {
    return opened;
  }
  static_cast<void>(::flock(draft.file.get(), LOCK_EX | LOCK_NB));
  draft_ = std::move(draft);
  failed_ = false;
  return {};
}

base::Result<void> FileReplacer::open_draft(Draft& draft) {
  const fs::path directory = draft.target.parent_path();
  draft.file = open_unnamed(directory);
  if (draft.file) {
    return {};
  }
  if (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT) {
    std::string name = (directory / (std::string(kDraftPrefix) + "XXXXXX")).string();
    draft.file = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
    draft.place = Place::Named;
    draft.name = draft.file ? fs::path(name) : fs::path();
  }
  if (!draft.file && (errno == EACCES || errno == EROFS || errno == EPERM)) {
    draft.file = FileDescriptor(::memfd_create("envoy-initializer", MFD_CLOEXEC));
    draft.place = Place::Elsewhere;
  }
  return draft.file ? base::Result<void>() : failure("write beside", draft.target, errno);
}

void FileReplacer::saw(std::string_view text) {
  draft_.before.add(text);
}

void FileReplacer::write(std::string_view text) {
  draft_.after.add(text);
  buffer_ += text;
  if (buffer_.size() >= kBlock) {
    flush();
  }
}

void FileReplacer::flush() {
  failed_ = failed_ || !write_all(draft_.file.get(), buffer_);
  buffer_.clear();
}

base::Result<void> FileReplacer::close() {
  flush();
  if (failed_) {
    return base::Error{base::ErrorCode::Internal, "cannot write the new content (disk full?)"};
  }
  Draft done = std::exchange(draft_, Draft());
  if (done.before == done.after) {
    remove_name(done);
  } else {
    waiting_.push_back(std::move(done));
  }
  return {};
}

base::Result<void> FileReplacer::commit() {
  for (const Draft& draft : waiting_) {
    if (::fsync(draft.file.get()) != 0) {
      return failure("write beside", draft.target, errno);
    }
    INJ_TRY(lock_unchanged(draft.target, draft.before));
  }
  while (!waiting_.empty()) {
    if (auto done = put_in_place(waiting_.front()); !done) {
      return done;
    }
    replaced_.insert(waiting_.front().path);
    waiting_.erase(waiting_.begin());
  }
  return {};
}

base::Result<void> FileReplacer::put_in_place(Draft& draft) {
  INJ_ASSIGN(const auto locked, lock_unchanged(draft.target, draft.before));

  struct stat status {};

  const bool as_new_file = draft.place != Place::Elsewhere && ::fstat(locked.get(), &status) == 0 &&
                           status.st_nlink == 1 && !has_attributes(locked.get()) &&
                           take_over(status, draft.file.get());
  if (as_new_file && draft.name.empty()) {
    const fs::path name = draft.target.parent_path() /
                          fmt::format("{}{}-{}", kDraftPrefix, ::getpid(), draft.file.get());
    draft.name = give_name(draft.file.get(), name) ? name : fs::path();
  }
  const bool done = as_new_file && !draft.name.empty()
                        ? move_over(std::exchange(draft.name, {}), draft.target)
                        : overwrite(draft.target, draft.file.get());
  const int reason = errno;
  remove_name(draft);
  return done ? base::Result<void>() : failure("replace", draft.target, reason);
}

}  // namespace injector::cli
