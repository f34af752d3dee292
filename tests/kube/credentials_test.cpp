#include "kube/credentials.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

#include "base/json_text.h"
#include "kube/exec_credential.h"
#include "kube/time_text.h"
#include "tests/support/eventually.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace injector::kube {
namespace {

using base::ErrorCode;
using tests::TempDir;

std::string header(CredentialSource& source) {
  const auto credential = source.get({});
  if (!credential) {
    FAIL(credential.error().message);
  }
  return credential.value().authorization;
}

std::string script(const TempDir& dir, const std::string& text) {
  const std::string path = dir.write("plugin", "#!/bin/sh\n" + text + "\n");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

ExecSettings exec_of(const std::string& command) {
  ExecSettings exec;
  exec.api_version = kExecV1;
  exec.command = command;
  exec.interactive = InteractiveMode::Never;
  return exec;
}

AuthSettings auth_of(ExecSettings exec) {
  AuthSettings auth;
  auth.exec = std::move(exec);
  return auth;
}

/// A plugin whose tokens are its runs counted, and its environment written down.
std::string counting_plugin(const TempDir& dir, const std::string& more_status) {
  return script(dir, "echo x >> '" + dir.file("runs") + "'\nn=$(wc -l < '" + dir.file("runs") +
                         "')\nprintf %s \"$KUBERNETES_EXEC_INFO\" > '" + dir.file("info") +
                         "'\nprintf '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
                         "\"kind\":\"ExecCredential\",\"status\":{\"token\":\"run%s-'\"$1$E\"'\"" +
                         more_status + "}}' $n");
}

}  // namespace

TEST_CASE("credentials: a token and a password become their headers", "[kube]") {
  CHECK(header(*make_credentials({})).empty());
  AuthSettings token;
  token.token = "t";
  CHECK(header(*make_credentials(token)) == "Bearer t");
  AuthSettings basic;
  basic.username = "user";
  basic.password = "pass";
  CHECK(header(*make_credentials(basic)) == "Basic dXNlcjpwYXNz");
}

TEST_CASE("credentials: a token file is read again after 50 seconds or a refusal", "[kube]") {
  const TempDir dir;
  tests::FakeClock clock;
  AuthSettings auth;
  auth.token_file = dir.write("token", " one\n");
  const auto source = make_credentials(auth, {.steady = &clock});
  CHECK(header(*source) == "Bearer one");
  static_cast<void>(dir.write("token", "two"));
  clock.advance(std::chrono::seconds(49));
  CHECK(header(*source) == "Bearer one");
  clock.advance(std::chrono::seconds(1));
  CHECK(header(*source) == "Bearer two");
  static_cast<void>(dir.write("token", "three"));
  source->refuse(source->get({}).value());
  CHECK(header(*source) == "Bearer three");
}

TEST_CASE("credentials: a token file that cannot be read leaves the old token", "[kube]") {
  const TempDir dir;
  tests::FakeClock clock;
  AuthSettings auth;
  auth.token_file = dir.write("token", "one");
  const auto source = make_credentials(auth, {.steady = &clock});
  REQUIRE(header(*source) == "Bearer one");
  std::filesystem::remove(auth.token_file);
  clock.advance(std::chrono::minutes(5));
  CHECK(header(*source) == "Bearer one");
  static_cast<void>(dir.write("token", ""));
  CHECK(header(*source) == "Bearer one");
  static_cast<void>(dir.write("token", "two"));
  CHECK(header(*source) == "Bearer two");  // Asked again at once, not after another 50 seconds.
}

TEST_CASE("credentials: without any token a missing token file is an error", "[kube]") {
  AuthSettings auth;
  auth.token_file = "/does/not/exist";
  const auto missing = make_credentials(auth)->get({});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message.find("/does/not/exist") != std::string::npos);
  auth.token = "given";
  CHECK(header(*make_credentials(auth)) == "Bearer given");
}

TEST_CASE("exec plugin: it is told who asks, and runs once until its token expires", "[kube]") {
  const TempDir dir;
  ExecSettings exec =
      exec_of(counting_plugin(dir, R"(,"expirationTimestamp":"2026-01-02T03:04:05Z")"));
  exec.args = {"arg"};
  exec.env = {{"E", "env"}};
  exec.cluster = {{"server", "https://c"}};
  auto now = parse_time("2026-01-02T03:04:04Z").value();
  const auto source = make_credentials(auth_of(exec), {.calendar = [&] { return now; }});
  CHECK(header(*source) == "Bearer run1-argenv");
  CHECK(header(*source) == "Bearer run1-argenv");
  const auto info = base::read_json(text_of(dir.file("info")));
  REQUIRE(info.has_value());
  CHECK(base::text_of(base::find(info.value(), "kind")) == "ExecCredential");
  CHECK(base::text_of(base::find(info.value(), "apiVersion")) == kExecV1);
  CHECK(base::text_of(base::find(info.value(), "spec", "cluster", "server")) == "https://c");
  CHECK(*base::find(info.value(), "spec", "interactive") == base::Json(false));
  now += std::chrono::seconds(1);
  CHECK(header(*source) == "Bearer run2-argenv");
}

TEST_CASE("exec plugin: a refused token makes it run again, an older one's refusal does not",
          "[kube]") {
  const TempDir dir;
  const auto source = make_credentials(auth_of(exec_of(counting_plugin(dir, ""))));
  const Credential first = source->get({}).value();
  source->refuse(first);
  CHECK(header(*source) == "Bearer run2-");
  source->refuse(first);
  CHECK(header(*source) == "Bearer run2-");
}

TEST_CASE("exec plugin: many askers share one run", "[kube]") {
  const TempDir dir;
  const auto source = make_credentials(auth_of(exec_of(counting_plugin(dir, ""))));
  std::vector<std::future<std::string>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(std::async(std::launch::async, [&] {
      const auto credential = source->get({});
      return credential ? credential.value().authorization : credential.error().message;
    }));
  }
  for (auto& answer : answers) {
    CHECK(answer.get() == "Bearer run1-");
  }
}

TEST_CASE("exec plugin: a missing command's error has the install hint", "[kube]") {
  ExecSettings exec = exec_of("no-such-plugin-anywhere");
  exec.install_hint = "get it at the corner shop";
  const auto answer = make_credentials(auth_of(exec))->get({});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().message.find("no-such-plugin-anywhere") != std::string::npos);
  CHECK(answer.error().message.find("get it at the corner shop") != std::string::npos);
}

TEST_CASE("exec plugin: a failure and a wrong answer are errors that name it", "[kube]") {
  const TempDir dir;
  for (const std::string text :
       {"exit 3", "kill -9 $$", "echo nonsense", "echo '{}'",
        R"(echo '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential",)"
        R"("status":{"token":"t"}}')",
        R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"}')",
        R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
        R"("status":{"clientCertificateData":"c"}}')",
        R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
        R"("status":{"token":"t","expirationTimestamp":"tomorrow"}}')",
        "yes"}) {
    CAPTURE(text);
    const auto source = make_credentials(auth_of(exec_of(script(dir, text))));
    const auto answer = source->get({});
    REQUIRE_FALSE(answer.has_value());
    CHECK(answer.error().message.find(dir.file("plugin")) != std::string::npos);
  }
}

TEST_CASE("exec plugin: a stop kills it together with its children", "[kube]") {
  const TempDir dir;
  const auto source = make_credentials(
      auth_of(exec_of(script(dir, "echo $$ > '" + dir.file("pid") + "'\nsleep 1000"))));
  std::stop_source stop;
  auto answer =
      std::async(std::launch::async, [&] { return source->get(base::Until{stop.get_token()}); });
  REQUIRE(tests::eventually([&] { return text_of(dir.file("pid")).ends_with("\n"); }));
  stop.request_stop();
  REQUIRE(answer.wait_for(std::chrono::seconds(5)) == std::future_status::ready);
  CHECK(answer.get().error().code == ErrorCode::Cancelled);
}

TEST_CASE("exec plugin: one that must ask needs a terminal", "[kube]") {
  const TempDir dir;
  ExecSettings exec = exec_of(counting_plugin(dir, ""));
  exec.interactive = InteractiveMode::Always;
  const auto answer =
      make_credentials(auth_of(exec), {.has_terminal = [] { return false; }})->get({});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().message.find("terminal") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(dir.file("runs")));
}

TEST_CASE("time text: what is written can be read, and only times are", "[kube]") {
  const WallTime time = parse_time("2026-01-02T03:04:05.6789Z").value();
  CHECK(micro_time_text(time) == "2026-01-02T03:04:05.678900Z");
  CHECK(time_text(time) == "2026-01-02T03:04:05Z");
  CHECK(parse_time(micro_time_text(time)) == time);
  CHECK(parse_time("2026-01-02T05:04:05.678900123+02:00") == time);
  CHECK(parse_time("2026-01-01T23:34:05.6789-03:30") == time);
  CHECK(micro_time_text(WallTime() - std::chrono::microseconds(1)) ==
        "1969-12-31T23:59:59.999999Z");
  for (const char* text :
       {"", "2026", "2026-01-02", "2026-13-02T03:04:05Z", "2026-02-30T03:04:05Z",
        "2026-01-02T24:04:05Z", "2026-01-02T03:04:05", "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05Zjunk", "2026-01-02T03:04:05+2:00", "-026-01-02T03:04:05Z"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_time(text).has_value());
  }
}

}  // namespace injector::kube
