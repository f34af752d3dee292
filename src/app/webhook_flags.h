// The flags of webhook, as given.

#pragma once

#include <cstddef>
#include <string>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/managed_serving.h"
#include "http/server.h"
#include "template/parser.h"
#include "tls/serving_certificate.h"

namespace injector::app {

struct WebhookFlags {
  http::ServerOptions server;
  std::string admin_listen;  // Empty: see app/admin_address.h.
  bool standalone = false;
  std::vector<std::string> config;
  std::string kube_version;
  std::string configmap;
  ClusterFlags cluster;
  templates::TemplateOptions template_options;
  tls::CertificatePaths certificate;
  ManagedFlags managed;
  std::string ca_out;
  PolicyFlags policy;
  bool inject_by_default = false;
  bool metrics_by_namespace = false;
  LogFlags log;
  std::string idle_timeout = "120s";
  std::string shutdown_delay = "5s";
  std::string shutdown_grace = "30s";
  std::size_t max_body = server.limits.body_bytes;

  void add_to(CLI::App& command);

  [[nodiscard]] http::ServerOptions server_options() const;
  [[nodiscard]] core::Policy core_policy() const;

 private:
  void add_serving(CLI::App& command);
  void add_template(CLI::App& command);
  void add_lifecycle(CLI::App& command);
};

}  // namespace injector::app
