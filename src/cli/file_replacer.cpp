#include "cli/file_replacer.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace injector::cli {
namespace {

namespace fs = std::filesystem;

base::Error failure(std::string_view what, const fs::path& path, const std::error_code& error) {
  return {base::ErrorCode::Internal,
          fmt::format("{} {}: {}", what, path.string(), error.message())};
}

bool same_content(const fs::path& left, const fs::path& right) {
  std::ifstream one(left, std::ios::binary);
  std::ifstream two(right, std::ios::binary);
  using Bytes = std::istreambuf_iterator<char>;
  return std::equal(Bytes(one), Bytes(), Bytes(two), Bytes());
}

}  // namespace

FileReplacer::~FileReplacer() {
  for (const Replacement& replacement : waiting_) {
    std::error_code ignored;
    fs::remove(replacement.temporary, ignored);
  }
}

base::Result<void> FileReplacer::open(const std::string& path) {
  std::error_code error;
  const fs::path target = fs::canonical(path, error);
  if (error) {
    return failure("open", path, error);
  }
  std::string temporary = target.string() + ".XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) {
    return failure("write beside", target, std::error_code(errno, std::generic_category()));
  }
  ::close(descriptor);
  waiting_.push_back({target, temporary});
  fs::permissions(temporary, fs::status(target, error).permissions(), error);
  out_.open(temporary, std::ios::binary | std::ios::trunc);
  if (!out_ || error) {
    return failure("write beside", target, error);
  }
  return {};
}

void FileReplacer::write(std::string_view text) {
  out_ << text;
}

base::Result<void> FileReplacer::close() {
  out_.close();
  if (out_.fail()) {
    return base::Error{base::ErrorCode::Internal, "cannot write the new content (disk full?)"};
  }
  return {};
}

base::Result<void> FileReplacer::commit() {
  while (!waiting_.empty()) {
    const Replacement& next = waiting_.front();
    std::error_code error;
    if (same_content(next.target, next.temporary)) {
      fs::remove(next.temporary, error);
    } else {
      fs::rename(next.temporary, next.target, error);
    }
    if (error) {
      return failure("replace", next.target, error);
    }
    waiting_.erase(waiting_.begin());
  }
  return {};
}

}  // namespace injector::cli
