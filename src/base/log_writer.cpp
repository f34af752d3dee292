#include "base/log_writer.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace injector::base {
namespace {

// A pipe that poll() calls writable takes this much without blocking, and in one piece.
constexpr std::size_t kPipeBlock = 4096;
constexpr std::size_t kKeptCapacity = std::size_t{64} << 10U;
constexpr int kPollMilliseconds = 50;  // How soon the end of the process is noticed.

// Whole lines as far as one write takes them.
std::size_t piece_of(std::string_view text) noexcept {
  if (text.size() <= kPipeBlock) {
    return text.size();
  }
  const std::size_t newline = text.rfind('\n', kPipeBlock - 1);
  return newline == std::string_view::npos ? kPipeBlock : newline + 1;
}

// Signals are for the threads that wait for them; a reader that has gone shows in write()'s result.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all{};
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }

  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

LogWriter::LogWriter(int fd, Options options)
    : fd_(fd),
      options_(std::move(options)) {}

LogWriter::~LogWriter() {
  std::jthread thread;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    thread.swap(thread_);
  }
  changed_.notify_all();
}

bool LogWriter::has_room() noexcept {
  if (full_.load(std::memory_order_relaxed)) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return true;
}

void LogWriter::add(std::string_view line) {
  bool first = false;
  {
    const MutexLock lock(mutex_);
    if (stopping_ || waiting_.size() + line.size() + 1 > options_.limit) {
      full_ = true;
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    first = waiting_.empty();
    waiting_.append(line).push_back('\n');
    start();
  }
  if (first) {
    changed_.notify_all();
  }
}

void LogWriter::start() {
  if (thread_.joinable()) {
    return;
  }
  const SignalsBlocked blocked;
  try {
    thread_ = std::jthread([this] { run(); });
  } catch (const std::system_error&) {
    // Tried again with the next line.
  }
}

bool LogWriter::flush(Duration patience) {
  const MutexLock lock(mutex_);
  hurry_ = true;
  changed_.notify_all();
  return changed_.wait_for(mutex_, patience,
                           [this]() INJ_REQUIRES(mutex_) { return waiting_.empty() && !writing_; });
}

void LogWriter::run() {
  while (take_batch()) {
    write_batch();
    finish_batch();
  }
}

/// Waits for lines and moves them to batch_. False: there are none, and none will come.
bool LogWriter::take_batch() {
  const MutexLock lock(mutex_);
  changed_.wait(mutex_, [this]() INJ_REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
  changed_.wait_for(mutex_, options_.collect,
                    [this]() INJ_REQUIRES(mutex_) { return stopping_ || hurry_; });
  if (waiting_.empty()) {
    return false;
  }
  batch_.swap(waiting_);
  waiting_.clear();
  writing_ = true;
  full_ = false;
  const std::uint64_t dropped = dropped_;
  if (dropped != reported_ && options_.report) {
    batch_.append(options_.report(dropped - reported_)).push_back('\n');
  }
  reported_ = dropped;
  return true;
}

void LogWriter::write_batch() {
  std::string_view rest = batch_;
  while (!rest.empty() && wait_until_writable()) {
    const ssize_t written = ::write(fd_, rest.data(), piece_of(rest));
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR && errno != EAGAIN) {
      break;
    }
  }
  const auto lost = std::count(rest.begin(), rest.end(), '\n');
  dropped_.fetch_add(static_cast<std::uint64_t>(lost), std::memory_order_relaxed);
}

/// False: nobody reads any more, or not in the time that is left at the end.
bool LogWriter::wait_until_writable() {
  auto waited = Duration::zero();
  for (;;) {
    pollfd descriptor{fd_, POLLOUT, 0};
    const int ready = ::poll(&descriptor, 1, kPollMilliseconds);
    if (ready > 0) {
      return (descriptor.revents & POLLOUT) != 0;
    }
    waited += stopping_ ? Duration(kPollMilliseconds) : Duration::zero();
    if (waited >= options_.patience) {
      return false;
    }
  }
}

void LogWriter::finish_batch() {
  batch_.clear();
  if (batch_.capacity() > kKeptCapacity) {
    std::string().swap(batch_);
  }
  {
    const MutexLock lock(mutex_);
    writing_ = false;
    hurry_ = hurry_ && !waiting_.empty();
  }
  changed_.notify_all();
}

}  // namespace injector::base
