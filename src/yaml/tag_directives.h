// The lines before a document that begin with a percent sign, and the tags they give names to.
//
// Not thread-safe: one caller at a time.

#pragma once

#include <map>
#include <string>
#include <string_view>

#include "yaml/scanner.h"

namespace injector::yaml {

class TagDirectives {
 public:
  /// Takes the directives that come next; false if there are none. Throws a SyntaxProblem.
  bool read(Scanner& scanner);

  /// The whole name of the tag that `token` is. Throws a SyntaxProblem.
  [[nodiscard]] std::string name_of(const Token& token) const;

 private:
  void check_version(const Token& token, std::string_view version);
  void define(const Token& token, const std::string& handle, std::string_view prefix);

  std::map<std::string, std::string> handles_;
  bool has_version_ = false;
};

/// Throws a SyntaxProblem at the token.
[[noreturn]] void fail_at(const Token& token, std::string message);

}  // namespace injector::yaml
