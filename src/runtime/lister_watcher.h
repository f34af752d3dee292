// What a reflector needs of an API server: lists in pages, and a watch. The real one is
// kube::ResourceClient; the fast tests script their own. No HTTP words in here.

#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace injector::runtime {

struct ListOptions {
  std::string resource_version;  // "0": any cached state will do; "": the newest.
  std::size_t limit = 0;         // 0: everything in one page.
  std::string continue_token;
};

struct ListPage {
  std::vector<base::Json> items;
  std::string resource_version;
  std::string continue_token;  // Empty on the last page.
};

struct WatchOptions {
  std::string resource_version;
  std::chrono::seconds timeout{0};
  bool allow_bookmarks = true;
};

enum class WatchEventType { Added, Modified, Deleted, Bookmark, Error };

struct WatchEvent {
  WatchEventType type;
  base::Json object;  // A Status for Error; for Bookmark only the resource version is meant.
};

/// One open watch. Used by one thread.
class WatchStream {
 public:
  virtual ~WatchStream() = default;

  /// Blocks for the next event. Empty: the server closed the stream in good order. An Error: the
  /// stream broke (Unavailable, Internal) or `stop` was requested (Cancelled, within 100 ms).
  [[nodiscard]] virtual base::Result<std::optional<WatchEvent>> next(
      const std::stop_token& stop) = 0;
};

/// May be called from any thread.
class ListerWatcher {
 public:
  virtual ~ListerWatcher() = default;

  [[nodiscard]] virtual base::Result<ListPage> list(const ListOptions& options,
                                                    const std::stop_token& stop) = 0;
  [[nodiscard]] virtual base::Result<std::unique_ptr<WatchStream>> watch(
      const WatchOptions& options, const std::stop_token& stop) = 0;
};

}  // namespace injector::runtime
