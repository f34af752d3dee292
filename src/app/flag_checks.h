// Values that a flag can refuse by itself, so that they are bad usage and not a failure later on.

#pragma once

#include <CLI/CLI.hpp>

namespace injector::app {

/// A key of annotations and labels, [PREFIX/]NAME, with room for our "-status" behind it.
[[nodiscard]] CLI::Validator annotation_check();

/// [NS/]NAME.
[[nodiscard]] CLI::Validator configmap_check();

/// A DNS name, perhaps with a wildcard, or an address.
[[nodiscard]] CLI::Validator host_check();

/// HOST:PORT or :PORT, to listen on.
[[nodiscard]] CLI::Validator listen_check();

[[nodiscard]] CLI::Validator not_empty_check();

}  // namespace injector::app
