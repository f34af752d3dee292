// Tells when the content of a few files changes. Follows writes in place, editors' rename-over and
// the symlink swap of mounted ConfigMaps and Secrets.
//
//   base::FileSnapshot first = base::read_files(paths);
//   base::FileWatch watch(paths, first, [&](const base::FileSnapshot& files) { reload(files); });
//
// - inotify on the files' folders gives the hint. Where it does not reach (network mounts, a chain
//   of symlinks through other folders), a look every `kPollInterval` does. New content is reported
//   within a second.
// - Files that change together are reported together: the watch waits until the folder has been
//   quiet for a moment.
// - Content counts, not time stamps: a touched file is not reported. A file that vanishes or cannot
//   be read is reported once, as an error; its return is reported again.
// - The callback runs on the watch's own thread, one call at a time. It must not destroy the watch.

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/event_fd.h"
#include "base/file_descriptor.h"
#include "base/result.h"

namespace injector::base {

/// One entry per path, in the order given: the bytes, or why there are none. Of a folder: a text
/// that changes with what is in it.
using FileSnapshot = std::vector<Result<std::string>>;

/// Larger files are an error: neither a certificate nor a ConfigMap is that large.
inline constexpr std::size_t kMaxWatchedFile = std::size_t{4} << 20U;

[[nodiscard]] FileSnapshot read_files(const std::vector<std::string>& paths);

class FileWatch {
 public:
  using Callback = std::function<void(const FileSnapshot&)>;

  static constexpr Duration kPollInterval{500};

  /// Reports what differs from `seen`, also if it changed before the watch began.
  FileWatch(std::vector<std::string> paths, FileSnapshot seen, Callback on_change);

  /// Waits for a running callback.
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Reads the files again and calls back even if nothing changed. Any thread; does not wait.
  void check_now();

 private:
  void run(const std::stop_token& stop);
  void watch_folders();
  void wait_for_hint();
  void settle(const std::stop_token& stop);
  void report_if_changed();

  std::vector<std::string> paths_;
  FileSnapshot seen_;  // Only the thread uses it.
  Callback on_change_;
  FileDescriptor inotify_;  // None: polling alone has to do.
  EventFd wake_;
  std::atomic<bool> forced_{false};
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace injector::base
