// Where the admin port is when nobody says so.

#pragma once

#include <string>

namespace injector::app {

/// `given` is --admin-listen. Without it: all addresses, for the kubelet's probes; with
/// --standalone, which nobody probes, only this machine's own.
[[nodiscard]] inline std::string admin_address(const std::string& given, bool standalone) {
  if (!given.empty()) {
    return given;
  }
  return standalone ? "127.0.0.1:8080" : ":8080";
}

}  // namespace injector::app
