// Throw-away certificates for tests, made by the openssl command.

#pragma once

#include <string>

#include "tests/support/temp_dir.h"

namespace injector::tests {

struct KeyPair {
  std::string cert_file;
  std::string key_file;
};

/// A private key (ECDSA P-256, PEM in the SEC 1 form that Kubernetes signs tokens with) in the directory;
/// returns its path.
std::string make_private_key(const TempDir& dir, const std::string& name);

/// An authority (ECDSA P-256) whose certificates are valid for two days. Keeps its files in the
/// directory, which must outlive it. Throws std::runtime_error where openssl fails.
class CertificateAuthority {
 public:
  explicit CertificateAuthority(const TempDir& dir);

  [[nodiscard]] const std::string& cert_file() const noexcept { return own_.cert_file; }

  /// For a server on 127.0.0.1 and localhost. The files are named after `name`.
  [[nodiscard]] KeyPair issue_server(const std::string& name) const;

  /// For a client that Kubernetes knows as this user in this group.
  [[nodiscard]] KeyPair issue_client(const std::string& user, const std::string& group) const;

 private:
  const TempDir& dir_;  // Not owned.
  KeyPair own_;
};

}  // namespace injector::tests
