#include "yaml/tag_directives.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"

namespace injector::yaml {
namespace {

using std::string_view;

string_view take_word(string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(base::kBlanks), line.size()));
  const string_view word = line.substr(0, std::min(line.find_first_of(base::kBlanks), line.size()));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace

void fail_at(const Token& token, std::string message) {
  throw SyntaxProblem{token.start.offset, std::move(message)};
}

bool TagDirectives::read(Scanner& scanner) {
  bool any = false;
  for (; scanner.peek().kind == Token::Kind::Directive; any = true) {
    const Token token = scanner.take();
    string_view line = token.text;
    const string_view name = take_word(line);
    if (name == "%YAML") {
      check_version(token, take_word(line));
    } else if (name == "%TAG") {
      const std::string handle(take_word(line));
      define(token, handle, take_word(line));
    } else {
      fail_at(token, "unknown directive");
    }
  }
  return any;
}

void TagDirectives::check_version(const Token& token, string_view version) {
  if (version.substr(0, version.find('#')) != "1.1" || has_version_) {
    fail_at(token, "only YAML 1.1 is understood, and only one %YAML line");
  }
  has_version_ = true;
}

void TagDirectives::define(const Token& token, const std::string& handle, string_view prefix) {
  if (!handle.starts_with('!') || !handle.ends_with('!') || prefix.empty()) {
    fail_at(token, "expected %TAG !handle! prefix");
  }
  if (!handles_.emplace(handle, prefix).second) {
    fail_at(token, "a second %TAG of the same handle");
  }
}

std::string TagDirectives::name_of(const Token& token) const {
  if (token.handle.empty()) {
    return token.text;
  }
  if (const auto found = handles_.find(token.handle); found != handles_.end()) {
    return found->second + token.text;
  }
  if (token.handle == "!!") {
    return "tag:yaml.org,2002:" + token.text;
  }
  if (token.handle != "!") {
    fail_at(token, fmt::format("no %TAG line defines {}", token.handle));
  }
  return "!" + token.text;
}

}  // namespace injector::yaml
