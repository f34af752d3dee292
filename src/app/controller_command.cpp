// controller: wires template, informers, reconcilers, leader election, admin port and signals.
//
// Threads: the caller's waits for signals; one runs the loops (or stands for election); each loop
// has its own, see runtime/object_loop.h.

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <prometheus/registry.h>

#include "admission/metrics.h"
#include "app/cluster.h"
#include "app/command_line.h"
#include "app/controller_flags.h"
#include "base/mutex.h"
#include "base/signals.h"
#include "cluster/template_config_map.h"
#include "cluster/template_file.h"
#include "controller/metrics.h"
#include "controller/mode.h"
#include "controller/reconciler_deps.h"
#include "controller/term.h"
#include "http/admin.h"
#include "http/process_metrics.h"
#include "http/server.h"
#include "kube/event_sink.h"
#include "kube/lease_client.h"
#include "runtime/event_recorder.h"
#include "runtime/leader_election.h"
#include "runtime/object_loop.h"
#include "runtime/process_context.h"
#include "template/store.h"

namespace injector::app {
namespace {

using namespace std::chrono_literals;

constexpr base::Duration kServerRetry = 1s;  // While the API server does not answer.
constexpr base::Duration kSoon = 50ms;       // How soon the end of a single pass is noticed.

/// Unique among replicas, also on one machine.
std::string identity() {
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    host = kOurName;
  }
  host.resize(host.find('\0') == std::string::npos ? host.size() : host.find('\0'));
  return fmt::format("{}_{}_{:x}", host, ::getpid(),
                     std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Lines to standard output from several workers, each whole.
class Printer {
 public:
  void print(const std::string& line) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    std::cout << line << std::endl;  // NOLINT(performance-avoid-endl): somebody may be watching.
  }

 private:
  base::Mutex mutex_;
};

/// What the last of many attempts came to. Any thread.
class LastResult {
 public:
  explicit LastResult(base::Error before_the_first)
      : result_(std::move(before_the_first)) {}

  void set(const base::Result<void>& result) INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    result_ = result;
  }

  [[nodiscard]] base::Result<void> get() const INJ_EXCLUDES(mutex_) {
    const base::MutexLock lock(mutex_);
    return result_;
  }

 private:
  mutable base::Mutex mutex_;
  base::Result<void> result_ INJ_GUARDED_BY(mutex_);
};

class ControllerProcess {
 public:
  ControllerProcess(const ControllerFlags& flags, const base::Logger& log,
                    const base::SignalQueue& signals)
      : flags_(flags),
        log_(log),
        signals_(signals),
        process_context_(log),
        templates_(log, flags.template_options),
        registry_(std::make_shared<prometheus::Registry>()),
        metrics_(*registry_) {}

  int run() {
    if (auto connected = connect(); !connected) {
      return fail(connected.error());
    }
    if (auto opened = open_template(); !opened) {
      return fail(opened.error());
    }
    return serve();
  }

 private:
  // Events and the lease have a client of their own: they neither wait behind the loops' requests
  // nor take anything from their limit.
  base::Result<void> connect() {
    kube::RestOptions rest;
    rest.metrics = registry_.get();
    ClusterFlags our_place = flags_.cluster;
    our_place.options.name_space.clear();  // -n says what to look after, not where we are.
    auto side = our_place.connect(rest);
    rest.qps = flags_.qps;
    rest.burst = flags_.burst;
    auto client = flags_.cluster.connect(rest);
    if (!client || !side) {
      return client ? std::move(side).error() : std::move(client).error();
    }
    client_ = std::move(client).value();
    side_client_ = std::move(side).value();
    return {};
  }

  base::Result<void> open_template() {
    if (!flags_.config_map.empty()) {
      INJ_ASSIGN(auto name, parse_object_name(flags_.config_map, client_->default_namespace()));
      follow(name);
      return {};
    }
    if (flags_.config.empty()) {
      return {};  // The cluster's, if it has one: see settle_template().
    }
    INJ_ASSIGN(auto file, cluster::TemplateFile::open(flags_.config, templates_));
    template_file_ = std::move(file);
    return {};
  }

  void follow(const cluster::ObjectName& config_map) {
    config_map_ = std::make_unique<cluster::TemplateConfigMap>(
        *client_, config_map, templates_, flags_.policy(), process_context_.get(),
        flags_.dry_run ? cluster::LastGood::ReadOnly : cluster::LastGood::Keep);
  }

  // Without a flag: the template of the cluster's installation, or the built-in one where there is
  // none. Asks the server until it answers; false: `stop`.
  bool settle_template(const std::stop_token& stop) {
    if (!flags_.config.empty() || !flags_.config_map.empty()) {
      return true;
    }
    while (true) {
      const auto found = find_template_config_map(*client_, "", stop);
      if (found || found.error().code == base::ErrorCode::Forbidden) {
        take_up(found ? found.value() : std::nullopt);
        return true;
      }
      log_.warn("template not looked up", {{"error", found.error().message}});
      if (!process_context_.get().sleeper.sleep(kServerRetry, stop)) {
        return false;
      }
    }
  }

  void take_up(const std::optional<cluster::ObjectName>& config_map) {
    if (config_map) {
      log_.info("following the cluster's template", {{"configmap", kTemplateConfigMap}});
      follow(*config_map);
      return;
    }
    log_.info("using the built-in template", {{"not found", kTemplateConfigMap}});
    static_cast<void>(templates_.update(templates::default_template_text(), "built-in template"));
  }

  int serve() {
    if (flags_.once) {
      return make_one_pass();
    }
    namespaces_ = std::make_unique<cluster::NamespaceCache>(*client_, flags_.policy().key,
                                                            process_context_.get());
    add_checks();
    http::Server admin({.name = "admin", .listen = flags_.admin_listen, .threads = 1},
                       http::admin_routes(health_, collectables(), version_json()), nullptr, log_);
    if (auto started = admin.start(); !started) {
      return fail(started.error());
    }
    log_.info("serving", {{"admin_port", admin.port()}});
    {
      std::jthread work([this](const std::stop_token& stop) { work_until(stop); });
      wait_for_stop();
      health_.set_draining();
    }  // Finishes the writes in flight, gives the lease back.
    admin.stop(1s);
    log_.info("stopped");
    return failed_ ? cli::kFailed : cli::kDone;
  }

  // --once. Nobody probes what will end by itself, so there is no admin port.
  int make_one_pass() {
    namespaces_ = std::make_unique<cluster::NamespaceCache>(*client_, flags_.policy().key,
                                                            process_context_.get());
    {
      std::jthread work([this](const std::stop_token& stop) {
        work_until(stop);
        finished_ = true;
      });
      wait_for_stop();
    }
    return failed_ ? cli::kFailed : cli::kDone;
  }

  void add_checks() {
    health_.add_readiness_check("template", [this] { return templates_.ready(); });
    health_.add_readiness_check("namespaces", [this]() -> base::Result<void> {
      return namespaces_->has_synced()
                 ? base::Result<void>()
                 : base::Error{base::ErrorCode::Unavailable, "not listed yet"};
    });
    if (flags_.leader_elect) {
      health_.add_readiness_check("leader election", [this] { return election_.get(); });
    }
    health_.add_note("template update", [this]() -> base::Result<void> {
      const auto failure = templates_.failure();
      return failure ? base::Result<void>(*failure) : base::Result<void>();
    });
  }

  [[nodiscard]] http::Collectables collectables() const {
    const http::Build build{"controller", INJ_VERSION};
    return {registry_, std::make_shared<http::HealthMetrics>(build, health_),
            std::make_shared<admission::TemplateMetrics>(templates_),
            std::make_shared<http::ProcessMetrics>()};
  }

  static std::string version_json() {
    return fmt::format(R"({{"name":"envoy-initializer","version":"{}"}})", INJ_VERSION) + "\n";
  }

  void wait_for_stop() {
    while (!failed_ && !finished_) {
      const auto signal = signals_.wait(flags_.once ? kSoon : kServerRetry);
      if (signal == base::Signal::Stop) {
        return;
      }
      if (signal == base::Signal::Reload && template_file_) {
        template_file_->reload_now();
      }
    }
  }

  // The thread of the loops.
  void work_until(const std::stop_token& stop) {
    const bool ready = settle_template(stop) && namespaces_->wait_for_sync(stop) &&
                       (config_map_ == nullptr || config_map_->wait_for_sync(stop));
    if (!ready || !discover(stop)) {
      return;
    }
    if (!task_.native_sidecars) {
      templates_.set_native_sidecars(core::NativeSidecars::No);
    }
    kube::RestEventSink sink(*side_client_);
    runtime::EventRecorderOptions options;
    options.component = kOurName;
    options.metrics = registry_.get();
    runtime::EventRecorder recorder(sink, std::move(options), process_context_.get());
    if (flags_.once) {
      pass(recorder, stop);
    } else if (flags_.leader_elect) {
      stand(recorder, stop);
    } else {
      lead(recorder, stop);
    }
  }

  // Asks the server until it answers. False: `stop`, or what was asked for is not to be had.
  bool discover(const std::stop_token& stop) {
    while (true) {
      auto task = controller::find_task(*client_, flags_.mode_request(), stop);
      if (task) {
        task_ = std::move(task).value();
        say_what_for();
        return true;
      }
      log_.warn("discovery failed", {{"error", task.error().message}});
      if (task.error().code == base::ErrorCode::NotFound) {
        failed_ = true;
        return false;
      }
      if (!process_context_.get().sleeper.sleep(kServerRetry, stop)) {
        return false;
      }
    }
  }

  void say_what_for() const {
    switch (task_.mode) {
      case controller::Mode::Initializer:
        log_.info("looking after waiting pods", {{"initializer", flags_.initializer_name}});
        return;
      case controller::Mode::Workloads:
        log_.info("looking after workloads");
        return;
      case controller::Mode::Repair:
        log_.info("looking after running pods",
                  {{"repair", fmt::format("{}", fmt::join(flags_.repair, ","))}});
        return;
    }
  }

  // Stands for election again and again: a lease may be lost while the API server is away. Modes do
  // not compete: a lease is one mode's.
  void stand(runtime::EventRecorder& recorder, const std::stop_token& stop) {
    const std::string name = fmt::format("{}-{}", kOurName, controller::to_string(task_.mode));
    kube::RestLeaseClient lease(*side_client_, our_namespace(), name, task_.leases);
    runtime::LeaderElectionOptions options;
    options.name = name;
    options.identity = identity();
    options.metrics = registry_.get();
    runtime::LeaderCallbacks callbacks;
    callbacks.on_exchange = [this](const base::Result<void>& exchange) { election_.set(exchange); };
    callbacks.on_started_leading = [this, &recorder](const std::stop_token& term) {
      lead(recorder, term);
    };
    runtime::LeaderElector elector(lease, std::move(options), std::move(callbacks),
                                   process_context_.get());
    while (!stop.stop_requested()) {
      elector.run(stop);
    }
  }

  [[nodiscard]] const std::string& our_namespace() const {
    return flags_.lease_namespace.empty() ? side_client_->default_namespace()
                                          : flags_.lease_namespace;
  }

  controller::Term::Context term_context(runtime::EventRecorder& recorder) {
    controller::TermOptions options = flags_.term_options();
    options.our_namespace = our_namespace();
    return {std::move(options),    *client_, templates_, *namespaces_, *registry_, deps(recorder),
            process_context_.get()};
  }

  void lead(runtime::EventRecorder& recorder, const std::stop_token& stop) {
    if (flags_.dry_run) {
      log_.info("dry run: printing what would be done, and watching; --once ends after one pass");
    }
    controller::Term term(term_context(recorder), task_);
    term.run(stop);
  }

  void pass(runtime::EventRecorder& recorder, const std::stop_token& stop) {
    if (const auto ready = templates_.ready(); !ready) {
      log_.error("no template", {{"error", ready.error().message}});
      failed_ = true;
      return;
    }
    controller::Term term(term_context(recorder), task_);
    const std::size_t failures = term.run_once(stop);
    failed_ = failures > 0;
    log_.info("one pass made", {{"failures", failures}});
  }

  controller::ReconcilerDeps deps(runtime::EventRecorder& recorder) {
    return {[this] { return templates_.current(); },
            [this](std::string_view name) { return namespaces_->find(std::string(name)); },
            [this, &recorder](const runtime::ObjectReference& about, runtime::EventType type,
                              std::string reason, std::string message) {
              if (!flags_.dry_run) {
                recorder.record(about, type, std::move(reason), std::move(message));
              }
            },
            flags_.policy(),
            metrics_,
            log_,
            flags_.dry_run ? [this](const std::string& line) { printer_.print(line); }
                           : controller::PrintLine()};
  }

  const ControllerFlags& flags_;
  const base::Logger& log_;
  const base::SignalQueue& signals_;
  runtime::ProcessContext process_context_;
  templates::TemplateStore templates_;
  std::shared_ptr<prometheus::Registry> registry_;
  controller::Metrics metrics_;
  http::Health health_;
  Printer printer_;
  std::atomic<bool> failed_ = false;
  std::atomic<bool> finished_ = false;  // With --once.
  std::unique_ptr<kube::RestClient> client_;
  std::unique_ptr<kube::RestClient> side_client_;
  std::unique_ptr<cluster::TemplateFile> template_file_;
  std::unique_ptr<cluster::TemplateConfigMap> config_map_;
  std::unique_ptr<cluster::NamespaceCache> namespaces_;
  controller::Task task_;  // From discover() on.
  LastResult election_{{base::ErrorCode::Unavailable, "the lease has not been asked for yet"}};
};

}  // namespace

void add_controller_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<ControllerFlags>();
  CLI::App& command = *app.add_subcommand(
      "controller", "Follow the cluster's objects and PATCH the sidecar into those that ask");
  command.alias("initializer");  // What 0.1.0 called it.
  flags->add_to(command);
  command.footer(
      "Examples:\n"
      "  envoy-initializer controller --resources deployments --configmap default/envoy\n"
      "  envoy-initializer controller --rollout --dry-run --once -n shop\n"
      "  envoy-initializer controller --mode workloads --resources argoproj.io/rollouts\n"
      "\n"
      "SIGTERM and SIGINT finish the writes in flight, give the lease back and exit 0. SIGHUP "
      "reads "
      "the\ntemplate file again.");
  command.callback([flags, &chosen] {
    chosen.work = [flags] {
      const base::SignalQueue signals;  // Before any thread.
      const base::Logger log = flags->log.get();
      return ControllerProcess(*flags, log, signals).run();
    };
  });
}

}  // namespace injector::app
