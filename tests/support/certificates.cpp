#include "tests/support/certificates.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace injector::tests {
namespace {

using Arguments = std::vector<std::string>;

Arguments joined(Arguments first, const Arguments& second) {
  for (const std::string& argument : second) {
    first.push_back(argument);
  }
  return first;
}

void openssl(const TempDir& dir, const Arguments& arguments) {
  const std::string log = dir.file("openssl.log");
  if (run({.argv = joined({"openssl"}, arguments), .log_file = log}) != 0) {
    throw std::runtime_error("openssl failed:\n" + tail(log));
  }
}

/// A new key and a certificate for it.
KeyPair certify(const TempDir& dir, const std::string& name, const Arguments& details) {
  KeyPair pair{.cert_file = dir.file(name + ".crt"), .key_file = dir.file(name + ".key")};
  const Arguments common = {
      "req",        "-x509", "-newkey", "ec",   "-pkeyopt",     "ec_paramgen_curve:P-256",
      "-nodes",     "-days", "2",       "-out", pair.cert_file, "-keyout",
      pair.key_file};
  openssl(dir, joined(common, details));
  return pair;
}

KeyPair issue(const TempDir& dir, const KeyPair& issuer, const std::string& name,
              const Arguments& details) {
  const Arguments by = {"-CA",     issuer.cert_file,
                        "-CAkey",  issuer.key_file,
                        "-addext", "basicConstraints=critical,CA:FALSE",
                        "-addext", "keyUsage=critical,digitalSignature"};
  return certify(dir, name, joined(by, details));
}

}  // namespace

std::string make_private_key(const TempDir& dir, const std::string& name) {
  std::string file = dir.file(name + ".key");
  openssl(dir, {"ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file});
  return file;
}

CertificateAuthority::CertificateAuthority(const TempDir& dir)
    : dir_(dir),
      own_(certify(
          dir, "ca",
          {"-subj", "/CN=test-ca", "-addext", "keyUsage=critical,digitalSignature,keyCertSign"})) {}

KeyPair CertificateAuthority::issue_server(const std::string& name) const {
  return issue(dir_, own_, name,
               {"-subj", "/CN=" + name, "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                "-addext", "extendedKeyUsage=serverAuth"});
}

KeyPair CertificateAuthority::issue_client(const std::string& user,
                                           const std::string& group) const {
  return issue(dir_, own_, user,
               {"-subj", "/O=" + group + "/CN=" + user, "-addext", "extendedKeyUsage=clientAuth"});
}

}  // namespace injector::tests
