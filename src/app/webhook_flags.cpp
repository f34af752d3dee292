#include "app/webhook_flags.h"

#include "app/flag_checks.h"

namespace injector::app {

void WebhookFlags::add_to(CLI::App& command) {
  add_serving(command);
  add_template(command);
  add_lifecycle(command);
  policy.add_to(command);
  command.add_flag("--inject-by-default", inject_by_default,
                   "Inject where neither Pod nor Namespace says anything");
  command.add_flag("--metrics-by-namespace", metrics_by_namespace,
                   "Count admission requests by the Pod's Namespace as well");
  log.add_to(command);
}

void WebhookFlags::add_serving(CLI::App& command) {
  command.add_option("--listen", server.listen, "Address of the HTTPS port")
      ->check(listen_check())
      ->capture_default_str();
  command
      .add_option("--admin-listen", admin_listen,
                  "Address of the admin port (plain HTTP) [default: :8080; 127.0.0.1:8080 with "
                  "--standalone]")
      ->check(listen_check());
  auto* cert = command.add_option("--tls-cert", certificate.certificate,
                                  "Serving certificate (PEM); followed when it changes");
  auto* key = command.add_option("--tls-key", certificate.key, "Its key (PEM)");
  cert->needs(key);
  key->needs(cert);
  managed.add_to(command)->excludes(cert);
  command.add_option("--client-ca", certificate.client_ca,
                     "Demand a client certificate signed by one of these CAs (PEM); followed when "
                     "it changes");
  command
      .add_option("--max-connections", server.max_connections, "At most this many open connections")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command
      .add_option("--threads", server.threads,
                  "Event loops that serve requests [default: the CPUs this process may use]")
      ->check(CLI::Range(1, 1024));
  command.add_option("--max-body", max_body, "At most this many bytes in a request body")
      ->check(CLI::Range(1024, 1 << 30))
      ->capture_default_str();
  command.add_option("--idle-timeout", idle_timeout, "How long a connection may be idle")
      ->check(duration_check())
      ->capture_default_str();
}

void WebhookFlags::add_template(CLI::App& command) {
  auto* alone = command.add_flag(
      "--standalone", standalone,
      "No cluster: the built-in template unless --config is given, a certificate made in memory");
  auto* file = command.add_option("--config", config,
                                  "Templates: files, or the folder of a mounted ConfigMap; "
                                  "followed when they change; may be repeated");
  command
      .add_option("--kube-version", kube_version,
                  "The cluster's version: from 1.29 on, placement auto is native [default: the API "
                  "server's; without one, native]")
      ->check(kube_version_check());
  command
      .add_option("--configmap", configmap,
                  "The template: a ConfigMap of the cluster, as [NS/]NAME; followed, as are the "
                  "Namespaces for their opt-in. Without such a ConfigMap the built-in one serves")
      ->check(configmap_check())
      ->excludes(file)
      ->excludes(alone);
  cluster.add_to(command);
  command.add_flag("--allow-unknown-fields", template_options.allow_unknown_fields,
                   "Let fields of containers and volumes through that this version does not know");
  command
      .add_option("--ca-out", ca_out,
                  "With --standalone: write the CA that signed the certificate to this file")
      ->needs(alone);
}

void WebhookFlags::add_lifecycle(CLI::App& command) {
  command
      .add_option("--shutdown-delay", shutdown_delay,
                  "How long to go on serving after SIGTERM, while endpoints are withdrawn")
      ->check(duration_check())
      ->capture_default_str();
  command
      .add_option("--shutdown-grace", shutdown_grace,
                  "How long requests in flight may take after that")
      ->check(duration_check())
      ->capture_default_str();
}

http::ServerOptions WebhookFlags::server_options() const {
  http::ServerOptions options = server;
  options.limits.body_bytes = max_body;
  options.limits.idle = parse_duration(idle_timeout);
  return options;
}

core::Policy WebhookFlags::core_policy() const {
  core::Policy chosen = policy.get();
  chosen.inject_by_default = inject_by_default;
  return chosen;
}

}  // namespace injector::app
