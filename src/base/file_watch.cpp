#include "base/file_watch.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <poll.h>
#include <set>
#include <sys/inotify.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "base/files.h"

namespace injector::base {
namespace {

namespace fs = std::filesystem;

// How long the folder must be quiet before the files are read, and how often that may be put off.
constexpr int kQuietMilliseconds = 20;
constexpr int kMaxSettleRounds = 10;

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MODIFY | IN_CREATE | IN_DELETE | IN_MOVED_TO |
                                  IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool same_entry(const Result<std::string>& left, const Result<std::string>& right) {
  if (left.has_value() != right.has_value()) {
    return false;
  }
  return left ? left.value() == right.value() : left.error().message == right.error().message;
}

bool same_snapshot(const FileSnapshot& left, const FileSnapshot& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), same_entry);
}

/// True if `fd` has something to read within `milliseconds`.
bool readable(int fd, int milliseconds) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, milliseconds) > 0;
}

void drain(int fd) {
  std::array<char, 4096> discarded{};
  while (::read(fd, discarded.data(), discarded.size()) > 0) {
  }
}

// Changes whenever something in the folder does.
Result<std::string> list_folder(const std::string& path) {
  std::vector<std::string> lines;
  std::error_code failed;
  for (fs::directory_iterator at(path, failed), end; !failed && at != end; at.increment(failed)) {
    std::error_code ignored;
    const auto written = at->last_write_time(ignored).time_since_epoch().count();
    lines.push_back(at->path().filename().string() + " " + std::to_string(written) + "\n");
  }
  if (failed) {
    return invalid(path + ": " + failed.message());
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) {
    text += line;
  }
  return text;
}

}  // namespace

FileSnapshot read_files(const std::vector<std::string>& paths) {
  FileSnapshot files;
  files.reserve(paths.size());
  std::transform(
      paths.begin(), paths.end(), std::back_inserter(files), [](const std::string& path) {
        std::error_code ignored;
        return fs::is_directory(path, ignored) ? list_folder(path)
                                               : read_regular_file(path, kMaxWatchedFile);
      });
  return files;
}

FileWatch::FileWatch(std::vector<std::string> paths, FileSnapshot seen, Callback on_change)
    : paths_(std::move(paths)),
      seen_(std::move(seen)),
      on_change_(std::move(on_change)),
      inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

FileWatch::~FileWatch() {
  thread_.request_stop();
  wake_.notify();
}

void FileWatch::check_now() {
  forced_ = true;
  wake_.notify();
}

void FileWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    // Every time: a folder that was replaced lost its watch, and adding one twice is harmless.
    watch_folders();
    report_if_changed();
    wait_for_hint();
    settle(stop);
  }
}

void FileWatch::watch_folders() {
  if (!inotify_) {
    return;
  }
  std::set<std::string> folders;
  std::transform(paths_.begin(), paths_.end(), std::inserter(folders, folders.end()), folder_of);
  for (const std::string& folder : folders) {
    ::inotify_add_watch(inotify_.get(), folder.c_str(), kEvents);
  }
}

void FileWatch::wait_for_hint() {
  std::array<pollfd, 2> waiting{pollfd{wake_.fd(), POLLIN, 0}, pollfd{inotify_.get(), POLLIN, 0}};
  ::poll(waiting.data(), waiting.size(), static_cast<int>(kPollInterval.count()));
  wake_.clear();
}

/// Waits until writers pause, so that a certificate and its key are seen together.
void FileWatch::settle(const std::stop_token& stop) {
  for (int round = 0; inotify_ && round < kMaxSettleRounds && !stop.stop_requested(); ++round) {
    if (!readable(inotify_.get(), round == 0 ? 0 : kQuietMilliseconds)) {
      return;
    }
    drain(inotify_.get());
  }
}

void FileWatch::report_if_changed() {
  const bool forced = forced_.exchange(false);
  FileSnapshot files = read_files(paths_);
  if (!forced && same_snapshot(files, seen_)) {
    return;
  }
  seen_ = std::move(files);
  on_change_(seen_);
}

}  // namespace injector::base
