// webhook: wires template, certificate, handler, servers and signals.

#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <prometheus/registry.h>

#include "admission/admission.h"
#include "admission/metrics.h"
#include "admission/validation.h"
#include "app/admin_address.h"
#include "app/cluster.h"
#include "app/command_line.h"
#include "app/webhook_certificate.h"
#include "app/webhook_flags.h"
#include "base/signals.h"
#include "cluster/fresh_namespaces.h"
#include "cluster/template_config_map.h"
#include "cluster/template_file.h"
#include "core/native_sidecars.h"
#include "http/admin.h"
#include "http/process_metrics.h"
#include "http/server.h"
#include "kube/event_sink.h"
#include "runtime/event_recorder.h"
#include "runtime/process_context.h"
#include "template/store.h"

#include "dashboard/routes.h"

namespace injector::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "envoy-initializer";  // Of our Events.
constexpr auto kTick = 1s;                          // How often expiry is looked at.

// What the webhook follows in a cluster, and how it speaks there.
struct ClusterSources {
  std::unique_ptr<kube::RestClient> client;
  std::unique_ptr<kube::RestEventSink> event_sink;
  std::unique_ptr<runtime::EventRecorder> events;
  std::unique_ptr<cluster::TemplateConfigMap> configmap;
  std::unique_ptr<cluster::NamespaceCache> namespaces;
  std::unique_ptr<kube::RestClient> lookup_client;  // Never waits behind the others' requests.
  std::unique_ptr<cluster::FreshNamespaces> fresh_namespaces;
  cluster::ObjectName template_name;
};

// The file's, or with --standalone the built-in one.
base::Result<std::unique_ptr<cluster::TemplateFile>> open_template(
    const WebhookFlags& flags, templates::TemplateStore& templates) {
  if (!flags.config.empty()) {
    return cluster::TemplateFile::open(flags.config, templates);
  }
  if (auto loaded = templates.update(templates::default_template_text(), "built-in template");
      !loaded) {
    return std::move(loaded).error();
  }
  return std::unique_ptr<cluster::TemplateFile>();
}

void add_checks(http::Health& health, const templates::TemplateStore& templates,
                const WebhookCertificate& certificate) {
  health.add_readiness_check("template", [&templates] { return templates.ready(); });
  health.add_note("template update", [&templates]() -> base::Result<void> {
    const auto failure = templates.failure();
    return failure ? base::Result<void>(*failure) : base::Result<void>();
  });
  health.add_note("template source", [&templates]() -> base::Result<void> {
    const std::string remark = templates.remark();
    return remark.empty() ? base::Result<void>()
                          : base::Error{base::ErrorCode::Unavailable, remark};
  });
  health.add_readiness_check("certificate", [&certificate] {
    return certificate.get().valid(std::chrono::system_clock::now());
  });
  health.add_note("certificate update", [&certificate] { return certificate.get().status(); });
  if (certificate.managed) {
    const cluster::CertificateKeeper& keeper = certificate.managed->keeper();
    health.add_readiness_check("managed certificates", [&keeper] { return keeper.ready(); });
    health.add_note("managed certificates update", [&keeper] { return keeper.status(); });
  }
}

// A Pod without a name yet goes by the prefix of the name it will get.
const std::string& name_of(const admission::AdmissionRequest& request) {
  if (!request.name.empty() || !request.pod) {
    return request.name;
  }
  return request.pod->name.empty() ? request.pod->generate_name : request.pod->name;
}

runtime::ObjectReference owner_of(const admission::AdmissionRequest& request) {
  const core::OwnerFacts& owner = request.pod->owner;
  return {.api_version = owner.api_version,
          .kind = owner.kind,
          .name_space = request.name_space,
          .name = owner.name,
          .uid = owner.uid};
}

class WebhookProcess {
 public:
  WebhookProcess(const WebhookFlags& flags, const base::Logger& log,
                 const base::SignalQueue& signals)
      : flags_(flags),
        log_(log),
        signals_(signals),
        templates_(log, flags.template_options),
        registry_(std::make_shared<prometheus::Registry>()),
        admission_metrics_(*registry_, flags.metrics_by_namespace ? admission::ByNamespace::Yes
                                                                  : admission::ByNamespace::No),
        process_context_(log) {}

  int run() {
    if (auto loaded = open_templates(); !loaded) {
      return fail(loaded.error());
    }
    auto certificate = open_certificate(flags_, *registry_, process_context_.get());
    if (!certificate) {
      return fail(certificate.error());
    }
    certificate_ = std::move(certificate).value();
    return serve();
  }

 private:
  base::Result<void> open_templates() {
    if (const auto native = core::native_sidecars_of(flags_.kube_version)) {
      templates_.set_native_sidecars(*native);
    }
    if (!flags_.configmap.empty()) {
      return follow_cluster();
    }
    INJ_ASSIGN(auto file, open_template(flags_, templates_));
    template_file_ = std::move(file);
    return {};
  }

  // Does not wait: until the first template is there, /readyz says what is missing.
  base::Result<void> follow_cluster() {
    auto client = flags_.cluster.connect(registry_.get());
    if (!client) {
      return std::move(client).error();
    }
    INJ_ASSIGN(const auto name,
               parse_object_name(flags_.configmap, client.value()->default_namespace()));
    sources_.template_name = name;
    sources_.client = std::move(client).value();
    sources_.event_sink = std::make_unique<kube::RestEventSink>(*sources_.client);
    sources_.events = std::make_unique<runtime::EventRecorder>(
        *sources_.event_sink,
        runtime::EventRecorderOptions{.component = kName, .metrics = registry_.get()},
        process_context_.get());
    sources_.configmap = std::make_unique<cluster::TemplateConfigMap>(
        *sources_.client, name, templates_, flags_.core_policy(), process_context_.get());
    health_.add_note("last good template", [this] { return sources_.configmap->kept(); });
    return follow_namespaces();
  }

  base::Result<void> follow_namespaces() {
    kube::RestOptions rest;
    rest.metrics = registry_.get();
    rest.qps = 0;  // cluster::FreshNamespaces has bounds of its own.
    rest.broken_retry = 20ms;
    auto client = flags_.cluster.connect(rest);
    if (!client) {
      return std::move(client).error();
    }
    sources_.lookup_client = std::move(client).value();
    sources_.namespaces = std::make_unique<cluster::NamespaceCache>(
        *sources_.client, flags_.policy.get().key, process_context_.get());
    sources_.fresh_namespaces = std::make_unique<cluster::FreshNamespaces>(
        namespace_source(), flags_.core_policy(), process_context_.get().clock, log_);
    health_.add_readiness_check("namespaces", [this]() -> base::Result<void> {
      if (sources_.namespaces->has_synced()) {
        return {};
      }
      return base::Error{base::ErrorCode::Unavailable, "not listed yet"};
    });
    health_.add_note("namespaces update", [this] { return namespaces_watched(); });
    return {};
  }

  [[nodiscard]] cluster::NamespaceSource namespace_source() const {
    return {
        [cache = sources_.namespaces.get()](const std::string& name) { return cache->find(name); },
        [cache = sources_.namespaces.get()] { return cache->out_of_touch(); },
        [client = sources_.lookup_client.get()](const std::string& name, base::Duration timeout) {
          return cluster::fetch_namespace(*client, name, timeout);
        }};
  }

  [[nodiscard]] base::Result<void> namespaces_watched() const {
    const base::Duration time = sources_.namespaces->out_of_touch();
    if (time == 0ms) {
      return {};
    }
    return base::Error{base::ErrorCode::Unavailable,
                       fmt::format("not watched for {:.1f} s: each is asked for when needed",
                                   std::chrono::duration<double>(time).count())};
  }

  [[nodiscard]] admission::NamespaceLookup namespace_lookup() const {
    if (!sources_.fresh_namespaces) {
      return {};
    }
    return [fresh = sources_.fresh_namespaces.get()](const std::string& name) {
      return fresh->find(name);
    };
  }

  [[nodiscard]] admission::NamespacePeek namespace_peek() const {
    if (!sources_.fresh_namespaces) {
      return {};
    }
    return [fresh = sources_.fresh_namespaces.get()](const std::string& name) {
      return fresh->find_at_once(name);
    };
  }

  [[nodiscard]] admission::OwnerNotice owner_notice() const {
    if (!sources_.events) {
      return {};
    }
    return [&events = *sources_.events](const admission::AdmissionRequest& request,
                                        const core::Decision& decision) {
      const runtime::ObjectReference owner = owner_of(request);
      if (decision.outcome == core::Outcome::Refuse) {
        events.record(owner, runtime::EventType::Warning, std::string(to_string(decision.reason)),
                      decision.detail);
      }
      for (const core::Warning& warning : decision.warnings) {
        events.record(owner, runtime::EventType::Warning, std::string(to_string(warning.code)),
                      warning.message);
      }
    };
  }

  // The page is for whoever tries things out, on this machine.
  [[nodiscard]] bool serves_page() const {
    return flags_.standalone && dashboard::is_loopback(admin_listen());
  }

  [[nodiscard]] std::string admin_listen() const {
    return admin_address(flags_.admin_listen, flags_.standalone);
  }

  [[nodiscard]] admission::DecisionNotice decision_notice() {
    if (!serves_page()) {
      return {};
    }
    return [this](const admission::AdmissionRequest& request, const core::Decision& decision) {
      const std::string owner = request.pod ? to_string(request.pod->owner) : "";
      live_feed_.add_decision({request.name_space, name_of(request), owner}, decision,
                              std::chrono::system_clock::now());
    };
  }

  [[nodiscard]] base::Json template_list() const {
    const auto current = templates_.current();
    const auto failure = templates_.failure();
    base::Json list = base::Json::array();
    for (const core::ServedTemplate& served :
         current ? current->templates() : std::vector<core::ServedTemplate>()) {
      base::Json one = base::Json::object();
      one["name"] = served.tpl->name;
      one["source"] = served.origin;
      one["hash"] = served.tpl->hash;
      one["accepted"] = !failure.has_value();
      one["note"] = failure ? failure->message : templates_.remark();
      list.push_back(std::move(one));
    }
    return list;
  }

  [[nodiscard]] http::Routes admin_routes(const http::Server& server) {
    http::Routes routes = http::admin_routes(health_, collectables(server), version_json());
    if (serves_page()) {
      dashboard::PageSources sources;
      sources.version = INJ_VERSION;
      sources.context = [this] {
        const auto current = templates_.current();
        return cli::DecisionContext{
            current ? *current : core::Template(), flags_.core_policy(), {}};
      };
      sources.templates = [this] { return template_list(); };
      sources.events = live_feed_.broadcast();
      for (http::Route& route :
           dashboard::page_routes(std::make_shared<dashboard::Access>(dashboard::AccessOptions()),
                                  std::move(sources))) {
        routes.push_back(std::move(route));
      }
    }
    return routes;
  }

  int serve() {
    const admission::Admission admission({templates_, flags_.core_policy(), namespace_lookup(),
                                          owner_notice(), namespace_peek(), decision_notice()},
                                         admission_metrics_, log_);
    const admission::Validation validation(
        {sources_.template_name.name_space, sources_.template_name.name}, flags_.template_options,
        *registry_, log_);
    http::Server server(flags_.server_options(),
                        admission::webhook_routes(
                            {[&](std::string_view body) { return admission.answer_at_once(body); },
                             [&](std::string_view body) { return admission.answer(body); }},
                            [&](std::string_view body) { return validation.answer(body); }),
                        &certificate_.get(), log_);
    add_checks(health_, templates_, certificate_);
    http::Server admin({.name = "admin", .listen = admin_listen(), .threads = 1},
                       admin_routes(server), nullptr, log_);
    if (auto started = admin.start(); !started) {
      return fail(started.error());
    }
    if (auto started = server.start(); !started) {
      return fail(started.error());
    }
    if (serves_page()) {
      log_.info("the page to look at",
                {{"address", dashboard::page_address(admin_listen(), admin.port())}});
    }
    log_.info("serving", {{"port", server.port()}, {"admin_port", admin.port()}});
    wait_for_stop();
    drain(server);
    admin.stop(1s);
    log_.info("stopped");
    return cli::kDone;
  }

  [[nodiscard]] http::Collectables collectables(const http::Server& server) const {
    const http::Build build{"webhook", INJ_VERSION};
    http::Collectables all{registry_,
                           std::make_shared<http::HealthMetrics>(build, health_),
                           std::make_shared<admission::TemplateMetrics>(templates_),
                           std::make_shared<http::CertificateMetrics>(certificate_.get()),
                           std::make_shared<http::ServerMetrics>(server),
                           std::make_shared<http::ProcessMetrics>()};
    if (sources_.fresh_namespaces) {
      all.push_back(std::make_shared<cluster::NamespaceMetrics>(*sources_.fresh_namespaces));
    }
    return all;
  }

  static std::string version_json() {
    return fmt::format(R"({{"name":"envoy-initializer","version":"{}"}})", INJ_VERSION) + "\n";
  }

  void wait_for_stop() {
    while (true) {
      const auto signal = signals_.wait(kTick);
      certificate_.get().warn_if_expiring(std::chrono::system_clock::now());
      if (signal == base::Signal::Stop) {
        return;
      }
      if (signal == base::Signal::Reload) {
        reload();
      }
    }
  }

  void reload() {
    log_.info("reloading");
    if (template_file_) {
      template_file_->reload_now();
    }
    if (certificate_.files) {
      certificate_.files->reload_now();
    }
    if (certificate_.client_ca) {
      certificate_.client_ca->check_now();
    }
  }

  void drain(http::Server& server) {
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
      if (signals_.wait(left) == base::Signal::Stop) {
        return true;
      }
    }
  }

  const WebhookFlags& flags_;
  const base::Logger& log_;
  const base::SignalQueue& signals_;
  templates::TemplateStore templates_;
  std::shared_ptr<prometheus::Registry> registry_;
  admission::AdmissionMetrics admission_metrics_;
  http::Health health_;
  dashboard::LiveFeed live_feed_;
  runtime::ProcessContext process_context_;
  std::unique_ptr<cluster::TemplateFile> template_file_;
  ClusterSources sources_;
  WebhookCertificate certificate_;
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
      "  envoy-initializer webhook --configmap envoy-initializer --manage-certs   (in the "
      "cluster)\n"
      "\n"
      "SIGTERM and SIGINT drain: /readyz fails at once, requests are served for --shutdown-delay, "
      "what is\nin flight is finished. A second signal exits now. SIGHUP reads template and "
      "certificate again.");
  command.callback([flags, &chosen] {
    if (flags->config.empty() && flags->configmap.empty() && !flags->standalone) {
      throw CLI::RequiredError("--config, --configmap or (for the built-in template) --standalone");
    }
    chosen.work = [flags] {
      const base::SignalQueue signals;  // Before any thread.
      const base::Logger log = flags->log.get();
      return WebhookProcess(*flags, log, signals).run();
    };
  });
}

}  // namespace injector::app
