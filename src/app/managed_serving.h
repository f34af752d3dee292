// The webhook's certificate under --manage-certs: flags, client, keeper and its thread.

#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "cluster/certificate_keeper.h"
#include "kube/rest_client.h"
#include "runtime/loop_context.h"
#include "tls/serving_certificate.h"

namespace injector::app {

struct ManagedFlags {
  bool enabled = false;
  bool force = false;  // Also from outside the cluster.
  std::string service = "envoy-initializer";
  std::string name_space{};  // Empty: the cluster flags' own.
  std::string secret = "envoy-initializer-tls";
  std::string webhook_configuration = "envoy-initializer";
  std::string lifetime = "2160h";
  std::vector<std::string> more_names{};

  /// Returns --manage-certs, for what excludes it.
  CLI::Option* add_to(CLI::App& command);
};

/// Owns one thread, the keeper's, from start() to destruction.
class ManagedServing {
 public:
  /// Does not talk to the cluster yet: until the keeper has its certificate, one is served that
  /// nobody trusts. `client_ca` is PEM.
  [[nodiscard]] static base::Result<std::unique_ptr<ManagedServing>> open(
      const ManagedFlags& flags, std::unique_ptr<kube::RestClient> client, std::string client_ca,
      const runtime::LoopContext& loop_context);

  ManagedServing(cluster::KeeperOptions options, std::unique_ptr<kube::RestClient> client,
                 std::unique_ptr<tls::ServingCertificate> certificate,
                 const runtime::LoopContext& loop_context);

  [[nodiscard]] tls::ServingCertificate& certificate() const noexcept { return *certificate_; }

  [[nodiscard]] const cluster::CertificateKeeper& keeper() const noexcept { return keeper_; }

  void start();

 private:
  std::unique_ptr<kube::RestClient> client_;
  std::unique_ptr<tls::ServingCertificate> certificate_;
  cluster::CertificateKeeper keeper_;
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace injector::app
