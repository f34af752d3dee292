// Files of the tests, by their path below tests/.

#pragma once

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "tests/support/paths.h"

namespace injector::tests {

inline std::string data_path(const std::string& path) {
  return std::string(kTestData) + "/" + path;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot read " + path);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace injector::tests
