// webhook: wires template, certificate, handler, servers and signals.

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <prometheus/registry.h>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/managed_serving.h"
#include "app/signals.h"
#include "app/template_file.h"
#include "codec/template_store.h"
#include "kube/event_sink.h"
#include "runtime/event_recorder.h"
#include "tls/certificate.h"
#include "tls/serving_certificate.h"
#include "webhook/admin.h"
#include "webhook/admission.h"
#include "webhook/admission_metrics.h"
#include "webhook/process_metrics.h"
#include "webhook/server.h"

namespace injector::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "envoy-initializer";  // Of our Events.
constexpr auto kStandaloneLifetime = std::chrono::hours(24 * 365);
constexpr auto kTick = 1s;  // How often expiry is looked at.

struct WebhookFlags {
  webhook::ServerOptions server;
  std::string admin_listen = ":8080";
  bool standalone = false;
  std::string config;
  std::string configmap;
  ClusterFlags cluster;
  codec::TemplateOptions template_options;
  tls::CertificatePaths certificate;
  ManagedFlags managed;
  std::string ca_out;
  PolicyFlags policy;
  bool inject_by_default = false;
  LogFlags log;
  std::string idle_timeout = "120s";
  std::string shutdown_delay = "5s";
  std::string shutdown_grace = "30s";
  std::size_t max_body = server.limits.body_bytes;

  void add_to(CLI::App& command) {
    add_serving(command);
    add_template(command);
    add_lifecycle(command);
    policy.add_to(command);
    command.add_flag("--inject-by-default", inject_by_default,
                     "Inject where neither Pod nor Namespace says anything");
    log.add_to(command);
  }

 private:
  void add_serving(CLI::App& command) {
    command.add_option("--listen", server.listen, "Address of the HTTPS port")
        ->capture_default_str();
    command.add_option("--admin-listen", admin_listen, "Address of the admin port (plain HTTP)")
        ->capture_default_str();
    auto* cert = command.add_option("--tls-cert", certificate.certificate,
                                    "Serving certificate (PEM); followed when it changes");
    auto* key = command.add_option("--tls-key", certificate.key, "Its key (PEM)");
    cert->needs(key);
    key->needs(cert);
    managed.add_to(command)->excludes(cert);
    command.add_option("--client-ca", certificate.client_ca,
                       "Demand a client certificate signed by one of these CAs (PEM)");
    command.add_option("--max-connections", server.max_connections, "Open connections at the most")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--max-body", max_body, "Bytes of a request body at the most")
        ->check(CLI::Range(1024, 1 << 30))
        ->capture_default_str();
    command.add_option("--idle-timeout", idle_timeout, "How long a connection may be idle")
        ->check(duration_check())
        ->capture_default_str();
  }

  void add_template(CLI::App& command) {
    auto* alone = command.add_flag(
        "--standalone", standalone,
        "No cluster: the built-in template unless --config is given, a certificate made in memory");
    auto* file = command.add_option("--config", config,
                                    "The template: a file, or the folder of a mounted ConfigMap; "
                                    "followed when it changes");
    command
        .add_option("--configmap", configmap,
                    "The template: a ConfigMap of the cluster, as [NS/]NAME; followed, as are the "
                    "Namespaces for their opt-in")
        ->excludes(file)
        ->excludes(alone);
    cluster.add_to(command);
    command.add_flag("--allow-unknown-fields", template_options.allow_unknown_fields,
                     "Let template fields through that this version does not know");
    command
        .add_option("--ca-out", ca_out,
                    "With --standalone: write the CA that signed the certificate to this file")
        ->needs(alone);
  }

  void add_lifecycle(CLI::App& command) {
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
};

// What the webhook follows in a cluster, and how it speaks there.
struct Following {
  std::unique_ptr<kube::RestClient> client;
  std::unique_ptr<kube::RestEventSink> event_sink;
  std::unique_ptr<runtime::EventRecorder> events;
  std::unique_ptr<TemplateConfigMap> configmap;
  std::unique_ptr<NamespaceCache> namespaces;
};

// The certificate in service: from files, from a Secret or from memory.
struct Serving {
  std::unique_ptr<tls::CertificateFiles> files{};
  std::unique_ptr<ManagedServing> managed{};
  std::unique_ptr<tls::ServingCertificate> memory{};

  [[nodiscard]] tls::ServingCertificate& certificate() const {
    if (managed) {
      return managed->certificate();
    }
    return files ? files->certificate() : *memory;
  }
};

base::Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) {
    return base::Error{base::ErrorCode::Internal, fmt::format("cannot write {}", path)};
  }
  return {};
}

// Empty where no client certificate is asked for.
base::Result<std::string> read_client_ca(const WebhookFlags& flags) {
  if (flags.certificate.client_ca.empty()) {
    return std::string();
  }
  auto pem = base::read_file(flags.certificate.client_ca);
  if (pem && pem.value().empty()) {
    return base::invalid("client CA: the file is empty");
  }
  return pem;
}

base::Result<Serving> serve_from_memory(const WebhookFlags& flags, const base::Logger& log) {
  const tls::Validity validity{std::chrono::system_clock::now(), kStandaloneLifetime};
  const auto ca = tls::make_ca("envoy-initializer standalone", validity);
  if (!ca) {
    return ca.error();
  }
  const auto pair =
      tls::make_serving_certificate(ca.value(), {"localhost", "127.0.0.1", "::1"}, validity);
  if (!pair) {
    return pair.error();
  }
  if (!flags.ca_out.empty()) {
    if (auto written = write_file(flags.ca_out, ca.value().certificate.pem()); !written) {
      return std::move(written).error();
    }
  }
  const auto client_ca = read_client_ca(flags);
  if (!client_ca) {
    return client_ca.error();
  }
  auto serving = tls::ServingCertificate::create(
      {pair.value().certificate.pem(), pair.value().key.pem(), client_ca.value()}, log);
  if (!serving) {
    return std::move(serving).error();
  }
  return Serving{.memory = std::move(serving).value()};
}

base::Result<Serving> open_certificate(const WebhookFlags& flags, const base::Logger& log) {
  if (!flags.certificate.certificate.empty()) {
    auto files = tls::CertificateFiles::open(flags.certificate, log);
    if (!files) {
      return std::move(files).error();
    }
    return Serving{.files = std::move(files).value()};
  }
  if (flags.standalone) {
    return serve_from_memory(flags, log);
  }
  return base::invalid(
      "no certificate: give --tls-cert and --tls-key, --manage-certs, or --standalone");
}

base::Result<std::unique_ptr<TemplateFile>> open_template(const WebhookFlags& flags,
                                                          codec::TemplateStore& templates) {
  if (!flags.config.empty()) {
    return TemplateFile::open(flags.config, templates);
  }
  if (!flags.standalone) {
    return base::invalid(
        "no template: give --config or --configmap, or --standalone for the built-in one");
  }
  if (auto loaded = templates.update(codec::default_template_text(), "built-in template");
      !loaded) {
    return std::move(loaded).error();
  }
  return std::unique_ptr<TemplateFile>();
}

void add_checks(webhook::Health& health, const codec::TemplateStore& templates,
                const tls::ServingCertificate& certificate) {
  health.add_readiness_check("template", [&templates] { return templates.ready(); });
  health.add_note("template update", [&templates]() -> base::Result<void> {
    const auto failure = templates.failure();
    return failure ? base::Result<void>(*failure) : base::Result<void>();
  });
  health.add_note("certificate update", [&certificate] { return certificate.status(); });
}

class WebhookProcess {
 public:
  WebhookProcess(const WebhookFlags& flags, const base::Logger& log, const SignalQueue& signals)
      : flags_(flags),
        log_(log),
        signals_(signals),
        templates_(log, flags.template_options),
        registry_(std::make_shared<prometheus::Registry>()),
        admission_metrics_(*registry_),
        ambience_(log) {}

  int run() {
    if (auto loaded = open_templates(); !loaded) {
      return fail(loaded.error());
    }
    auto serving = flags_.managed.enabled ? open_managed() : open_certificate(flags_, log_);
    if (!serving) {
      return fail(serving.error());
    }
    serving_ = std::move(serving).value();
    return serve();
  }

 private:
  base::Result<void> open_templates() {
    if (!flags_.configmap.empty()) {
      return follow_cluster();
    }
    auto file = open_template(flags_, templates_);
    if (!file) {
      return std::move(file).error();
    }
    template_file_ = std::move(file).value();
    return {};
  }

  // Does not wait: until the first template is there, /readyz says what is missing.
  base::Result<void> follow_cluster() {
    auto client = flags_.cluster.connect(registry_.get());
    if (!client) {
      return std::move(client).error();
    }
    const auto name = parse_object_name(flags_.configmap, client.value()->default_namespace());
    if (!name) {
      return name.error();
    }
    following_.client = std::move(client).value();
    following_.event_sink = std::make_unique<kube::RestEventSink>(*following_.client);
    following_.events = std::make_unique<runtime::EventRecorder>(
        *following_.event_sink, runtime::EventRecorderOptions{.component = kName}, ambience_.get());
    following_.configmap = std::make_unique<TemplateConfigMap>(*following_.client, name.value(),
                                                               templates_, ambience_.get());
    following_.namespaces = std::make_unique<NamespaceCache>(
        *following_.client, flags_.policy.get().key, ambience_.get());
    health_.add_readiness_check("namespaces", [this]() -> base::Result<void> {
      if (following_.namespaces->has_synced()) {
        return {};
      }
      return base::Error{base::ErrorCode::Unavailable, "not listed yet"};
    });
    return {};
  }

  // Does not wait either: /readyz says what is missing.
  base::Result<Serving> open_managed() {
    auto client = flags_.cluster.connect(registry_.get());
    if (!client) {
      return std::move(client).error();
    }
    auto client_ca = read_client_ca(flags_);
    if (!client_ca) {
      return std::move(client_ca).error();
    }
    auto managed = ManagedServing::open(flags_.managed, std::move(client).value(),
                                        std::move(client_ca).value(), ambience_.get());
    if (!managed) {
      return std::move(managed).error();
    }
    managed.value()->start();
    const CertificateKeeper& keeper = managed.value()->keeper();
    health_.add_readiness_check("managed certificates", [&keeper] { return keeper.ready(); });
    health_.add_note("managed certificates update", [&keeper] { return keeper.status(); });
    return Serving{.managed = std::move(managed).value()};
  }

  [[nodiscard]] webhook::NamespaceLookup namespace_lookup() const {
    if (!following_.namespaces) {
      return {};
    }
    return [cache = following_.namespaces.get()](const std::string& name) {
      return cache->find(name);
    };
  }

  [[nodiscard]] webhook::OwnerNotice owner_notice() const {
    if (!following_.events) {
      return {};
    }
    return [&events = *following_.events](const codec::AdmissionRequest& request,
                                          const core::Decision& decision) {
      const core::OwnerFacts& owner = request.pod->owner;
      events.record({.api_version = owner.api_version,
                     .kind = owner.kind,
                     .name_space = request.name_space,
                     .name = owner.name,
                     .uid = owner.uid},
                    runtime::EventType::Warning, std::string(to_string(decision.reason)),
                    decision.detail);
    };
  }

  int serve() {
    core::Policy policy = flags_.policy.get();
    policy.inject_by_default = flags_.inject_by_default;
    const webhook::Admission admission(
        {templates_, std::move(policy), namespace_lookup(), owner_notice()}, admission_metrics_,
        log_);
    webhook::Server server(server_options(), webhook::mutate_routes([&](std::string_view body) {
                             return admission.answer(body);
                           }),
                           &serving_.certificate(), log_);
    add_checks(health_, templates_, serving_.certificate());
    webhook::Server admin({.name = "admin", .listen = flags_.admin_listen},
                          webhook::admin_routes(health_, collectables(server), version_json()),
                          nullptr, log_);
    if (auto started = admin.start(); !started) {
      return fail(started.error());
    }
    if (auto started = server.start(); !started) {
      return fail(started.error());
    }
    log_.info("serving", {{"port", server.port()}, {"admin_port", admin.port()}});
    wait_for_stop();
    drain(server);
    admin.stop(1s);
    log_.info("stopped");
    return cli::kDone;
  }

  [[nodiscard]] webhook::ServerOptions server_options() const {
    webhook::ServerOptions options = flags_.server;
    options.limits.body_bytes = flags_.max_body;
    options.limits.idle = parse_duration(flags_.idle_timeout);
    return options;
  }

  [[nodiscard]] webhook::Collectables collectables(const webhook::Server& server) const {
    return {registry_, std::make_shared<webhook::TemplateMetrics>(templates_),
            std::make_shared<webhook::CertificateMetrics>(serving_.certificate()),
            std::make_shared<webhook::ServerMetrics>(server),
            std::make_shared<webhook::ProcessMetrics>()};
  }

  static std::string version_json() {
    return fmt::format(R"({{"name":"envoy-initializer","version":"{}"}})", INJ_VERSION) + "\n";
  }

  void wait_for_stop() {
    while (true) {
      const auto signal = signals_.wait(kTick);
      serving_.certificate().warn_if_expiring(std::chrono::system_clock::now());
      if (signal == Signal::Stop) {
        return;
      }
      if (signal == Signal::Reload) {
        reload();
      }
    }
  }

  void reload() {
    log_.info("reloading");
    if (template_file_) {
      template_file_->reload_now();
    }
    if (serving_.files) {
      serving_.files->reload_now();
    }
  }

  void drain(webhook::Server& server) {
    const auto delay = parse_duration(flags_.shutdown_delay);
    log_.info("draining", {{"delay_ms", delay.count()}});
    health_.set_draining();
    server.begin_drain();
    if (interrupted_within(delay)) {
      log_.warn("second signal: exiting now");
      std::_Exit(cli::kFailed);
    }
    server.stop(parse_duration(flags_.shutdown_grace));
  }

  [[nodiscard]] bool interrupted_within(std::chrono::milliseconds delay) const {
    const auto end = std::chrono::steady_clock::now() + delay;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      if (left <= 0ms) {
        return false;
      }
      if (signals_.wait(left) == Signal::Stop) {
        return true;
      }
    }
  }

  const WebhookFlags& flags_;
  const base::Logger& log_;
  const SignalQueue& signals_;
  codec::TemplateStore templates_;
  std::shared_ptr<prometheus::Registry> registry_;
  webhook::AdmissionMetrics admission_metrics_;
  webhook::Health health_;
  RealAmbience ambience_;
  std::unique_ptr<TemplateFile> template_file_;
  Following following_;
  Serving serving_;
};

}  // namespace

void add_webhook_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<WebhookFlags>();
  CLI::App& command =
      *app.add_subcommand("webhook", "Serve the mutating admission webhook over HTTPS");
  flags->add_to(command);
  command.footer(
      "Examples:\n"
      "  envoy-initializer webhook --standalone --listen 127.0.0.1:8443 --ca-out ca.crt\n"
      "  envoy-initializer webhook --config /etc/envoy-initializer --tls-cert tls.crt --tls-key "
      "tls.key\n"
      "  envoy-initializer webhook --configmap envoy-initializer --manage-certs\n"
      "\n"
      "SIGTERM and SIGINT drain: /readyz fails at once, requests are served for --shutdown-delay, "
      "what is\nin flight is finished. A second signal exits now. SIGHUP reads template and "
      "certificate again.");
  command.callback([flags, &chosen] {
    chosen.work = [flags] {
      const SignalQueue signals;  // Before any thread.
      const base::Logger log = flags->log.get();
      return WebhookProcess(*flags, log, signals).run();
    };
  });
}

}  // namespace injector::app
