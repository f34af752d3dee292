// Who we are, asked before each request: a token or password that stays, a token file that is
// rotated under us, or an exec plugin.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/until.h"
#include "kube/config.h"
#include "tls/client_context.h"

namespace injector::kube {

struct Credential {
  std::string authorization;     // The header's value; empty: none.
  tls::ClientIdentity identity;  // Empty unless an exec plugin gave one.
  std::uint64_t generation = 0;
};

/// May be called from any thread.
class CredentialSource {
 public:
  virtual ~CredentialSource() = default;

  [[nodiscard]] virtual base::Result<Credential> get(const base::Until& until) = 0;

  /// The server did not accept `refused` (401): do not serve it from a cache again.
  virtual void refuse(const Credential& refused) = 0;
};

/// The times a source needs: a steady one for the age of a file's token, the calendar's for an
/// expirationTimestamp. Tests bring their own.
struct CredentialTime {
  const base::Clock* steady = nullptr;  // Not owned; outlives the source. Null: the real one.
  std::function<std::chrono::system_clock::time_point()> calendar = std::chrono::system_clock::now;
  std::function<bool()> has_terminal{};  // Empty: asks the real standard input.
};

[[nodiscard]] std::unique_ptr<CredentialSource> make_credentials(const AuthSettings& settings,
                                                                 CredentialTime time = {});

}  // namespace injector::kube
