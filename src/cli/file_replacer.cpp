#include "cli/file_replacer.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace injector::cli {
namespace {

namespace fs = std::filesystem;
using base::FileDescriptor;

constexpr std::size_t kBlock = std::size_t{64} << 10U;

bool is_same_file(const struct stat& left, const struct stat& right) {
  return left.st_dev == right.st_dev && left.st_ino == right.st_ino;
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
      !read_blocks(file, [&](std::string_view block) {
        now.add(block);
        return true;
      })) {
    return file_failure("replace", target, errno);
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

base::Result<void> FileReplacer::open(const std::string& path) {
  std::error_code error;
  Replacement next;
  next.path = path;
  next.target = fs::canonical(path, error);
  if (error) {
    return file_failure("open", path, error.value());
  }
  if (cleaned_.insert(next.target.parent_path()).second) {
    remove_old_drafts(next.target.parent_path());
  }
  INJ_ASSIGN(next.draft, DraftFile::open_beside(next.target));
  current_ = std::move(next);
  failed_ = false;
  return {};
}

void FileReplacer::saw(std::string_view text) {
  current_.before.add(text);
}

void FileReplacer::write(std::string_view text) {
  current_.after.add(text);
  buffer_ += text;
  if (buffer_.size() >= kBlock) {
    flush();
  }
}

void FileReplacer::flush() {
  failed_ = failed_ || !current_.draft.write(buffer_);
  buffer_.clear();
}

base::Result<void> FileReplacer::close() {
  flush();
  if (failed_) {
    return base::Error{base::ErrorCode::Internal, "cannot write the new content (disk full?)"};
  }
  Replacement done = std::exchange(current_, Replacement());
  if (!(done.before == done.after)) {
    waiting_.push_back(std::move(done));
  }
  return {};
}

base::Result<void> FileReplacer::commit() {
  for (Replacement& next : waiting_) {
    if (!next.draft.sync()) {
      return file_failure("write beside", next.target, errno);
    }
    INJ_TRY(lock_unchanged(next.target, next.before));
  }
  while (!waiting_.empty()) {
    Replacement& next = waiting_.front();
    INJ_ASSIGN(const auto locked, lock_unchanged(next.target, next.before));
    INJ_TRY(next.draft.put_in_place(next.target, locked));
    replaced_.insert(next.path);
    waiting_.erase(waiting_.begin());
  }
  return {};
}

}  // namespace injector::cli
