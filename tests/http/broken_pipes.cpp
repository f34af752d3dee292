// The tests' clients write to connections that the server has closed, through OpenSSL, which would
// end the program by a signal.

#include <csignal>

namespace injector::tests {
namespace {

[[maybe_unused]] const auto kBefore = std::signal(SIGPIPE, SIG_IGN);

}  // namespace
}  // namespace injector::tests
