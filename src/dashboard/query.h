// Paths and queries of requests, taken apart. Pure; any thread.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace injector::dashboard {

/// "a%20b+c" is "a b c". What is no escape stays as it is.
[[nodiscard]] std::string percent_decoded(std::string_view text);

/// "a=1&b=2"; the last of several with one name counts.
[[nodiscard]] std::map<std::string, std::string> parse_query(std::string_view query);

/// The decoded parts of `path` behind `prefix`: "/pods/shop/web" behind "/pods" is {shop, web}.
[[nodiscard]] std::vector<std::string> path_behind(std::string_view path, std::string_view prefix);

}  // namespace injector::dashboard
