#include "base/log_writer.h"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <catch2/catch.hpp>

#include "base/file_descriptor.h"
#include "base/log.h"

namespace injector::base {
namespace {

constexpr Duration kLong{60'000};

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
  }

  // Until not a byte goes in any more.
  void fill() const {
    REQUIRE(::fcntl(writer.get(), F_SETFL, O_NONBLOCK) == 0);
    const std::string block(4096, '#');
    while (::write(writer.get(), block.data(), block.size()) > 0) {
    }
    while (::write(writer.get(), "#", 1) > 0) {
    }
    REQUIRE(::fcntl(writer.get(), F_SETFL, 0) == 0);
  }

  // What is in it, without the filling; waits for the text `until`.
  [[nodiscard]] std::string read_until(std::string_view until) const {
    std::string text;
    std::array<char, 4096> block{};
    while (text.find(until) == std::string::npos) {
      const ssize_t count = ::read(reader.get(), block.data(), block.size());
      REQUIRE(count > 0);
      text.append(block.data(), static_cast<std::size_t>(count));
      text.erase(0, text.find_first_not_of('#'));
    }
    return text;
  }

  FileDescriptor reader;
  FileDescriptor writer;
};

LogWriter::Options small_queue() {
  LogWriter::Options options;
  options.limit = 100;
  options.patience = Duration(100);
  options.report = [](std::uint64_t dropped) { return "dropped " + std::to_string(dropped); };
  return options;
}

TEST_CASE("log writer: lines come out in order, also those of the last moment", "[log]") {
  const Pipe pipe;
  {
    LogWriter writer(pipe.writer.get(), {});
    writer.add("one");
    writer.add("two");
    REQUIRE(writer.flush(kLong));
    writer.add("three");
  }
  REQUIRE(pipe.read_until("three\n") == "one\ntwo\nthree\n");
}

TEST_CASE("log writer: a full pipe blocks nobody, drops are counted and reported", "[log]") {
  const Pipe pipe;
  pipe.fill();
  LogWriter writer(pipe.writer.get(), small_queue());
  for (int i = 0; i < 1000; ++i) {
    writer.add("a line of twenty bytes");  // Blocks forever, or the test goes on.
  }
  CHECK(writer.dropped() >= 1000 - 2 * 100 / 20);  // One queue in the thread's hands, one waits.
  while (writer.has_room()) {
    writer.add("a line of twenty bytes");
  }
  const std::uint64_t dropped = writer.dropped();
  CHECK_FALSE(writer.has_room());
  CHECK(writer.dropped() == dropped + 1);
  CHECK_FALSE(writer.flush(Duration(1)));

  const std::string text = pipe.read_until("dropped ");
  REQUIRE(writer.flush(kLong));
  CHECK(text.starts_with("a line of twenty bytes\n"));
  writer.add("goes on");
  CHECK_THAT(pipe.read_until("goes on\n"), Catch::EndsWith("goes on\n"));
}

TEST_CASE("log writer: ends in time though nobody reads", "[log]") {
  const Pipe pipe;
  pipe.fill();
  LogWriter writer(pipe.writer.get(), small_queue());
  writer.add("never read");
}

TEST_CASE("log writer: a reader that has gone ends nothing but its lines", "[log]") {
  Pipe pipe;
  LogWriter writer(pipe.writer.get(), small_queue());
  pipe.reader.reset();
  writer.add("lost");
  REQUIRE(writer.flush(kLong));
  REQUIRE(writer.dropped() == 1);
}

TEST_CASE("log writer: a line longer than a pipe takes at once comes out whole", "[log]") {
  const Pipe pipe;
  LogWriter writer(pipe.writer.get(), {});
  const std::string line(300'000, 'x');
  writer.add(line);
  writer.add("next");
  REQUIRE(pipe.read_until("next\n") == line + "\nnext\n");
}

TEST_CASE("log writer: lines of many threads stay whole", "[log]") {
  const Pipe pipe;
  LogWriter writer(pipe.writer.get(), {});
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&writer] {
        for (int line = 0; line < 100; ++line) {
          writer.add("0123456789");
        }
      });
    }
  }
  writer.add("end");
  const std::string text = pipe.read_until("end\n");
  REQUIRE(text.size() == 400 * 11 + 4);
  for (std::size_t at = 0; at < 400 * 11; at += 11) {
    REQUIRE(text.substr(at, 11) == "0123456789\n");
  }
}

TEST_CASE("log: a full pipe as standard error does not stop who logs", "[log]") {
  const Pipe pipe;
  pipe.fill();
  const FileDescriptor before(::dup(STDERR_FILENO));
  const Logger log(LogFormat::Text, LogLevel::Info);
  const std::uint64_t dropped = dropped_log_lines();
  REQUIRE(::dup2(pipe.writer.get(), STDERR_FILENO) == STDERR_FILENO);
  const std::string value(1000, 'v');
  for (int i = 0; i < 3000; ++i) {  // 3 MB: more than may wait.
    log.info("much", {{"value", value}});
  }
  CHECK(dropped_log_lines() > dropped);

  CHECK_THAT(pipe.read_until("log lines dropped"), Catch::Contains("INFO much value=vvv"));
  const std::jthread rest([&pipe] { static_cast<void>(pipe.read_until("the last one")); });
  log.info("the last one");
  flush_standard_error();
  ::dup2(before.get(), STDERR_FILENO);
}

}  // namespace
}  // namespace injector::base
