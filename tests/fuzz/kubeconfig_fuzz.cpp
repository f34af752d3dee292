// Any bytes are a kubeconfig or an error, never a crash; and whatever a kubeconfig says, the
// addresses and credentials made of it are ones the client can take.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "http/url.h"
#include "kube/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace injector::kube;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = read_kubeconfig(text, "kubeconfig", {});
  if (!config) {
    INJ_CHECK(!config.error().message.empty());
    return 0;
  }
  INJ_CHECK(injector::http::parse_url(config.value().server, true).has_value());
  INJ_CHECK(!config.value().auth.exec || !config.value().auth.exec->command.empty());
  return 0;
}
