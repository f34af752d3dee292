// The page's files, compiled into the program from web/ by web/embed.cmake.

#pragma once

#include <string_view>
#include <vector>

namespace injector::dashboard {

struct Asset {
  std::string_view path;  // "/app.js"; index.html is "/".
  std::string_view content_type;
  std::string_view body;
};

[[nodiscard]] const std::vector<Asset>& assets();

}  // namespace injector::dashboard
