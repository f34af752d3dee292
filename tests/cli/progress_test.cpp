#include "cli/progress.h"

#include <atomic>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

namespace injector::cli {
namespace {

using namespace std::chrono_literals;

// Tells when something was flushed.
class FlushedBuffer final : public std::stringbuf {
 public:
  void wait() { flushed_.wait(false); }

 protected:
  int sync() override {
    flushed_ = true;
    flushed_.notify_all();
    return 0;
  }

 private:
  std::atomic<bool> flushed_{false};
};

TEST_CASE("progress: says what is being done, and takes the line away", "[cli]") {
  FlushedBuffer buffer;
  std::ostream err(&buffer);
  Progress progress(err, true, "reading", {0ms, 1h});
  buffer.wait();
  progress.clear();
  CHECK(buffer.str() == "\rreading (0 s)\033[K\r\033[K");
}

TEST_CASE("progress: counts objects, and follows what is being done", "[cli]") {
  FlushedBuffer buffer;
  std::ostream err(&buffer);
  Progress progress(err, true, "reading", {50ms, 1h});
  progress.count();
  progress.count();
  progress.doing("reading Pods");
  buffer.wait();
  progress.clear();
  CHECK_THAT(buffer.str(), Catch::StartsWith("\rreading Pods: 2 ("));
}

TEST_CASE("progress: what is quick, and what is no terminal, gets no line", "[cli]") {
  std::ostringstream err;
  { const Progress progress(err, true, "reading", {1h, 1h}); }
  { const Progress progress(err, false, "reading", {0ms, 0ms}); }
  CHECK(err.str().empty());
}

}  // namespace
}  // namespace injector::cli
