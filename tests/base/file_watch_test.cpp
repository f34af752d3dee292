#include "base/file_watch.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <sys/stat.h>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.h"

namespace injector::base {
namespace {

using tests::TempDir;

/// What a watch reported, one at a time.
class Reports {
 public:
  FileWatch::Callback callback() {
    return [this](const FileSnapshot& files) {
      const std::lock_guard<std::mutex> lock(mutex_);
      reports_.push_back(files);
      arrived_.notify_all();
    };
  }

  /// The next report; fails the test if none comes.
  FileSnapshot next() {
    std::unique_lock<std::mutex> lock(mutex_);
    const bool came =
        arrived_.wait_for(lock, std::chrono::seconds(30), [this] { return !reports_.empty(); });
    REQUIRE(came);
    FileSnapshot report = reports_.front();
    reports_.pop_front();
    return report;
  }

  /// Skips to the report in which the first file has this content.
  void wait_for(const std::string& content) {
    while (true) {
      const FileSnapshot files = next();
      if (files.at(0) && files.at(0).value() == content) {
        return;
      }
    }
  }

  bool empty() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reports_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<FileSnapshot> reports_;
};

/// A watch on one file of a folder, with what it reported.
struct Watched {
  explicit Watched(const std::string& path)
      : watch({path}, read_files({path}), reports.callback()) {}

  Reports reports;
  FileWatch watch;
};

TEST_CASE("file watch: a write in place is reported", "[base]") {
  const TempDir folder;
  folder.write("file", "one");
  Watched watched(folder.file("file"));
  folder.write("file", "two");
  watched.reports.wait_for("two");
}

TEST_CASE("file watch: an editor's rename over the file is reported, time after time", "[base]") {
  const TempDir folder;
  folder.write("file", "0");
  Watched watched(folder.file("file"));
  for (const char* content : {"1", "2", "3"}) {
    folder.replace("file", content);
    watched.reports.wait_for(content);
  }
}

TEST_CASE("file watch: the symlink swap of a mounted ConfigMap is reported", "[base]") {
  namespace fs = std::filesystem;
  const TempDir folder;
  const auto publish = [&folder](const std::string& version, const std::string& content) {
    fs::create_directory(folder.file("..v" + version));
    folder.write("..v" + version + "/config", content);
    fs::create_directory_symlink("..v" + version, folder.file("..data_tmp"));
    fs::rename(folder.file("..data_tmp"), folder.file("..data"));
  };
  publish("1", "one");
  fs::create_symlink("..data/config", folder.file("config"));
  Watched watched(folder.file("config"));
  publish("2", "two");
  watched.reports.wait_for("two");
  fs::remove_all(folder.file("..v1"));
  publish("3", "three");
  watched.reports.wait_for("three");
}

TEST_CASE("file watch: files that change together are reported together", "[base]") {
  const TempDir folder;
  folder.write("cert", "c1");
  folder.write("key", "k1");
  const std::vector<std::string> paths{folder.file("cert"), folder.file("key")};
  Reports reports;
  const FileWatch watch(paths, read_files(paths), reports.callback());
  folder.replace("cert", "c2");
  folder.replace("key", "k2");
  FileSnapshot last = reports.next();
  while (last[0].value() != "c2" || last[1].value() != "k2") {
    last = reports.next();
  }
  CHECK(reports.empty());
}

TEST_CASE("file watch: a missing file is reported, and its return", "[base]") {
  const TempDir folder;
  folder.write("file", "one");
  Watched watched(folder.file("file"));
  std::filesystem::remove(folder.file("file"));
  const FileSnapshot gone = watched.reports.next();
  REQUIRE_FALSE(gone.at(0));
  CHECK(gone.at(0).error().code == ErrorCode::NotFound);
  CHECK(gone.at(0).error().message.find(folder.file("file")) != std::string::npos);
  folder.write("file", "one");
  watched.reports.wait_for("one");
}

TEST_CASE("file watch: a folder that appears later is found", "[base]") {
  const TempDir folder;
  Watched watched(folder.file("later/file"));
  std::filesystem::create_directory(folder.file("later"));
  folder.write("later/file", "here");
  watched.reports.wait_for("here");
  folder.replace("later/file", "again");
  watched.reports.wait_for("again");
}

TEST_CASE("file watch: a change between reading and watching is not missed", "[base]") {
  const TempDir folder;
  folder.write("file", "one");
  const FileSnapshot before = read_files({folder.file("file")});
  folder.write("file", "two");
  Reports reports;
  const FileWatch watch({folder.file("file")}, before, reports.callback());
  reports.wait_for("two");
}

TEST_CASE("file watch: a check on demand reports unchanged files, a touch does not", "[base]") {
  const TempDir folder;
  folder.write("file", "same");
  Watched watched(folder.file("file"));
  folder.write("file", "same");
  watched.watch.check_now();
  watched.reports.wait_for("same");
  CHECK(watched.reports.empty());
}

TEST_CASE("read files: a FIFO and a file that is too large are errors", "[base]") {
  const TempDir folder;
  REQUIRE(::mkfifo(folder.file("fifo").c_str(), 0600) == 0);
  folder.write("large", std::string(kMaxWatchedFile + 1, 'x'));
  const FileSnapshot files = read_files({folder.file("fifo"), folder.file("large")});
  REQUIRE(files.size() == 2);
  CHECK_FALSE(files[0]);
  CHECK_FALSE(files[1]);
}

}  // namespace
}  // namespace injector::base
