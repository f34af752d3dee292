#include "cli/draft_file.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"

namespace injector::cli {
namespace {

namespace fs = std::filesystem;
using base::FileDescriptor;

constexpr std::string_view kDraftPrefix = ".envoy-initializer-";

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

bool overwrite(const fs::path& target, const FileDescriptor& draft) {
  const FileDescriptor file(::open(target.c_str(), O_WRONLY | O_CLOEXEC));

  struct stat size {};

  return file && ::fstat(draft.get(), &size) == 0 &&
         read_blocks(draft,
                     [&](std::string_view block) { return base::write_all(file.get(), block); }) &&
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

}  // namespace

base::Error file_failure(std::string_view what, const fs::path& path, int reason) {
  return {base::ErrorCode::Internal,
          fmt::format("{} {}: {}", what, path.string(),
                      std::error_code(reason, std::generic_category()).message())};
}

bool read_blocks(const FileDescriptor& file,
                 const std::function<bool(std::string_view block)>& take) {
  constexpr std::size_t kBlock = std::size_t{64} << 10U;
  std::array<char, kBlock> block{};
  off_t at = 0;
  while (true) {
    const ssize_t count = ::pread(file.get(), block.data(), block.size(), at);
    if (count == 0) {
      return true;
    }
    if (count < 0 || !take(std::string_view(block.data(), static_cast<std::size_t>(count)))) {
      return false;
    }
    at += count;
  }
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

DraftFile::DraftFile(DraftFile&& other) noexcept
    : place_(other.place_),
      name_(std::exchange(other.name_, {})),
      file_(std::move(other.file_)) {}

DraftFile& DraftFile::operator=(DraftFile&& other) noexcept {
  remove_name();
  place_ = other.place_;
  name_ = std::exchange(other.name_, {});
  file_ = std::move(other.file_);
  return *this;
}

void DraftFile::remove_name() {
  if (!name_.empty()) {
    ::unlink(name_.c_str());
    name_.clear();
  }
}

base::Result<DraftFile> DraftFile::open_beside(const fs::path& target) {
  const fs::path directory = target.parent_path();
  DraftFile draft;
  draft.file_ = open_unnamed(directory);
  if (!draft.file_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    std::string name = (directory / (std::string(kDraftPrefix) + "XXXXXX")).string();
    draft.file_ = FileDescriptor(::mkostemp(name.data(), O_CLOEXEC));
    draft.place_ = Place::Named;
    draft.name_ = draft.file_ ? fs::path(name) : fs::path();
  }
  if (!draft.file_ && (errno == EACCES || errno == EROFS || errno == EPERM)) {
    draft.file_ = FileDescriptor(::memfd_create("envoy-initializer", MFD_CLOEXEC));
    draft.place_ = Place::InMemory;
  }
  if (!draft.file_) {
    return file_failure("write beside", target, errno);
  }
  // Tells remove_old_drafts() of other processes that this one is in use.
  static_cast<void>(::flock(draft.file_.get(), LOCK_EX | LOCK_NB));
  return draft;
}

bool DraftFile::write(std::string_view text) {
  return base::write_all(file_.get(), text);
}

bool DraftFile::sync() {
  return ::fsync(file_.get()) == 0;
}

bool DraftFile::takes_over(const FileDescriptor& opened) {
  struct stat status {};

  return place_ != Place::InMemory && ::fstat(opened.get(), &status) == 0 && status.st_nlink == 1 &&
         !has_attributes(opened.get()) && take_over(status, file_.get());
}

base::Result<void> DraftFile::put_in_place(const fs::path& target, const FileDescriptor& opened) {
  const bool as_new_file = takes_over(opened);
  if (as_new_file && name_.empty()) {
    const fs::path name =
        target.parent_path() / fmt::format("{}{}-{}", kDraftPrefix, ::getpid(), file_.get());
    name_ = give_name(file_.get(), name) ? name : fs::path();
  }
  const bool done = as_new_file && !name_.empty() ? move_over(std::exchange(name_, {}), target)
                                                  : overwrite(target, file_);
  const int reason = errno;
  remove_name();
  return done ? base::Result<void>() : file_failure("replace", target, reason);
}

}  // namespace injector::cli
