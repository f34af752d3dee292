// initializer: wires template, informers, reconcilers, leader election, admin port and signals.
//
// Threads: the caller's waits for signals; one runs the loops (or stands for election); each loop
// has its own, see runtime/object_loop.h.

#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <prometheus/registry.h>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/rest_patcher.h"
#include "app/signals.h"
#include "app/template_file.h"
#include "base/mutex.h"
#include "codec/template_store.h"
#include "controller/initializer_reconciler.h"
#include "controller/metrics.h"
#include "controller/repair_reconciler.h"
#include "controller/surroundings.h"
#include "controller/workload_reconciler.h"
#include "core/pod_state.h"
#include "kube/discovery.h"
#include "kube/event_sink.h"
#include "kube/lease_client.h"
#include "runtime/event_recorder.h"
#include "runtime/leader_election.h"
#include "runtime/object_loop.h"
#include "webhook/admin.h"
#include "webhook/admission_metrics.h"
#include "webhook/process_metrics.h"
#include "webhook/server.h"

namespace injector::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* kName = "envoy-initializer";  // Of our Lease, our Events, our fields.
constexpr base::Duration kTemplateLook = 250ms;     // How soon a new template is acted on.
constexpr base::Duration kServerRetry = 1s;         // While the API server does not answer.

enum class Mode { Initializer, Workloads, Repair };

struct InitializerFlags {
  std::string mode = "auto";
  std::string initializer_name = "envoy.initializer.kubernetes.io";
  bool require_annotation = true;
  std::string repair = "report";
  double evict_per_minute = 6;
  std::string config;
  std::string config_map;
  std::vector<std::string> resources{"deployments", "statefulsets", "daemonsets", "cronjobs"};
  std::size_t workers = 2;
  std::string resync = "30s";
  bool leader_elect = false;
  bool rollout = false;
  bool dry_run = false;
  std::string admin_listen = ":8080";
  codec::TemplateOptions template_options;
  ClusterFlags cluster;
  PolicyFlags policy;
  LogFlags log;

  void add_to(CLI::App& command) {
    add_what(command);
    add_pods(command);
    add_how(command);
    cluster.add_to(command);
    command.add_option("-n,--namespace", cluster.options.name_space,
                       "Only objects of this namespace [default: all]");
    policy.add_to(command);
    log.add_to(command);
  }

 private:
  void add_what(CLI::App& command) {
    command
        .add_option("--mode", mode, "What to look after; auto asks the API server what it can do")
        ->check(CLI::IsMember({"auto", "initializer", "workloads", "repair"}))
        ->capture_default_str();
    auto* file = command.add_option(
        "--config", config, "The template: a file, or the folder of a mounted ConfigMap; followed");
    command.add_option("--configmap", config_map, "The template: a ConfigMap, [NS/]NAME; followed")
        ->excludes(file);
    command.add_flag("--allow-unknown-fields", template_options.allow_unknown_fields,
                     "Let template fields through that this version does not know");
    command.add_option("--resources", resources, "Which workloads to look after")
        ->delimiter(',')
        ->check(CLI::IsMember({"deployments", "statefulsets", "daemonsets", "jobs", "cronjobs"}))
        ->capture_default_str();
    command.add_flag("--rollout", rollout,
                     "Replace the sidecar of workloads that have the one of another template");
    command.add_flag("--dry-run", dry_run,
                     "Ask the API server to check every change and print what would be done");
  }

  void add_pods(CLI::App& command) {
    command
        .add_option("--initializer-name", initializer_name,
                    "With --mode initializer: our name in the InitializerConfiguration")
        ->capture_default_str();
    command
        .add_option("--require-annotation", require_annotation,
                    "=false: inject where neither Pod nor Namespace says anything")
        ->capture_default_str();
    command
        .add_option("--repair", repair, "With --mode repair: what to do about Pods without sidecar")
        ->check(CLI::IsMember({"report", "evict"}))
        ->capture_default_str();
    command.add_option("--evict-per-minute", evict_per_minute, "Pods evicted at the most")
        ->check(CLI::Range(0.01, 6000.0))
        ->capture_default_str();
  }

  void add_how(CLI::App& command) {
    command.add_option("--workers", workers, "Objects worked on at a time, for each resource")
        ->check(CLI::Range(1, 100))
        ->capture_default_str();
    command.add_option("--resync", resync, "How often to look at everything again; 0: never")
        ->check(duration_check())
        ->capture_default_str();
    command.add_flag("--leader-elect", leader_elect,
                     "Only one of several replicas works at a time");
    command.add_option("--admin-listen", admin_listen, "Address of the admin port (plain HTTP)")
        ->capture_default_str();
  }
};

/// Unique among replicas, also on one machine.
std::string identity() {
  std::string host(256, '\0');
  if (::gethostname(host.data(), host.size() - 1) != 0) {
    host = kName;
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

/// The loops of one term of leading, or of the whole process without election.
class Term {
 public:
  struct Context {
    const InitializerFlags& flags;
    kube::RestClient& client;
    codec::TemplateStore& templates;
    prometheus::Registry& registry;
    Printer& printer;
    controller::Surroundings surroundings;
    runtime::Ambient ambient;
  };

  explicit Term(Context context)
      : context_(std::move(context)) {}

  void add_workload(const kube::Resource& resource) {
    Unit unit;
    unit.patcher = std::make_unique<RestPatcher>(
        context_.client, resource,
        kube::WriteOptions{.dry_run = context_.flags.dry_run, .field_manager = kName});
    unit.workloads = std::make_unique<controller::WorkloadReconciler>(
        context_.surroundings, *unit.patcher, workload_options());
    auto reconcile = reconcile_with(*unit.workloads);
    add_loop(std::move(unit), resource, {}, std::move(reconcile));
  }

  void add_initializer() {
    Unit unit;
    unit.patcher = std::make_unique<RestPatcher>(
        context_.client, kube::kPods,
        kube::WriteOptions{.dry_run = context_.flags.dry_run, .field_manager = kName});
    unit.initializer = std::make_unique<controller::InitializerReconciler>(
        context_.surroundings, *unit.patcher, context_.flags.initializer_name);
    auto reconcile = reconcile_with(*unit.initializer);
    add_loop(std::move(unit), kube::kPods, {{"includeUninitialized", "true"}},
             std::move(reconcile));
  }

  void add_repair(const std::string& policy_version) {
    Unit unit;
    unit.evictor = std::make_unique<RestEvictor>(
        context_.client,
        kube::EvictOptions{.policy_version = policy_version, .dry_run = context_.flags.dry_run});
    unit.repair = std::make_unique<controller::RepairReconciler>(
        context_.surroundings, *unit.evictor, context_.ambient.clock,
        controller::RepairOptions{context_.flags.repair == "evict",
                                  context_.flags.evict_per_minute});
    auto reconcile = reconcile_with(*unit.repair);
    add_loop(std::move(unit), kube::kPods, {}, std::move(reconcile), core::trim_pod);
  }

  /// Works until `stop`.
  void run(const std::stop_token& stop) {
    std::vector<std::jthread> threads;
    for (const Unit& unit : units_) {
      threads.emplace_back([&loop = *unit.loop, &stop] { loop.run(stop); });
    }
    follow_template(stop);
  }

 private:
  // What belongs to one resource. The loop is last: it uses the others.
  struct Unit {
    std::unique_ptr<RestPatcher> patcher;
    std::unique_ptr<RestEvictor> evictor;
    std::unique_ptr<controller::WorkloadReconciler> workloads;
    std::unique_ptr<controller::InitializerReconciler> initializer;
    std::unique_ptr<controller::RepairReconciler> repair;
    std::unique_ptr<kube::ResourceClient> server;
    std::unique_ptr<runtime::ObjectLoop> loop;
  };

  template <class Reconciler>
  static runtime::ReconcileObject reconcile_with(Reconciler& reconciler) {
    return [&reconciler](const std::string& key, const runtime::ObjectPtr& object,
                         const std::stop_token& stop) {
      return reconciler.reconcile(key, object, stop);
    };
  }

  [[nodiscard]] controller::WorkloadOptions workload_options() const {
    controller::WorkloadOptions options;
    options.rollout =
        context_.flags.rollout ? controller::Rollout::WhenOutdated : controller::Rollout::Never;
    if (context_.flags.dry_run) {
      options.dry_run = [&printer = context_.printer](const std::string& line) {
        printer.print(line);
      };
    }
    return options;
  }

  void add_loop(Unit unit, const kube::Resource& resource, kube::Query query,
                runtime::ReconcileObject reconcile,
                runtime::Transform transform = runtime::drop_managed_fields) {
    kube::Selection selection;
    selection.name_space = context_.flags.cluster.options.name_space;
    selection.query = std::move(query);
    unit.server =
        std::make_unique<kube::ResourceClient>(context_.client, resource, std::move(selection));
    runtime::LoopOptions options;
    options.name = resource.plural;
    options.kind = resource.kind;
    options.workers = context_.flags.workers;
    options.resync = parse_duration(context_.flags.resync);
    options.metrics = runtime::QueueMetrics(context_.registry, resource.plural);
    options.transform = std::move(transform);
    unit.loop = std::make_unique<runtime::ObjectLoop>(*unit.server, std::move(options),
                                                      std::move(reconcile), context_.ambient);
    units_.push_back(std::move(unit));
  }

  // Everything is looked at again when the template changes.
  void follow_template(const std::stop_token& stop) {
    auto seen = context_.templates.current();
    while (context_.ambient.sleeper.sleep(kTemplateLook, stop)) {
      auto now = context_.templates.current();
      if (now == seen) {
        continue;
      }
      seen = std::move(now);
      for (const Unit& unit : units_) {
        unit.loop->enqueue_all();
      }
    }
  }

  const Context context_;
  std::vector<Unit> units_;
};

class InitializerProcess {
 public:
  InitializerProcess(const InitializerFlags& flags, const base::Logger& log,
                     const SignalQueue& signals)
      : flags_(flags),
        log_(log),
        signals_(signals),
        ambience_(log),
        templates_(log, flags.template_options),
        registry_(std::make_shared<prometheus::Registry>()),
        metrics_(*registry_) {}

  int run() {
    auto client = flags_.cluster.connect(registry_.get());
    if (!client) {
      return fail(client.error());
    }
    client_ = std::move(client).value();
    if (auto opened = open_template(); !opened) {
      return fail(opened.error());
    }
    return serve();
  }

 private:
  base::Result<void> open_template() {
    if (!flags_.config_map.empty()) {
      auto name = parse_object_name(flags_.config_map, client_->default_namespace());
      if (!name) {
        return std::move(name).error();
      }
      config_map_ =
          std::make_unique<TemplateConfigMap>(*client_, name.value(), templates_, ambience_.get());
      return {};
    }
    if (flags_.config.empty()) {
      return templates_.update(codec::default_template_text(), "built-in template");
    }
    auto file = TemplateFile::open(flags_.config, templates_);
    if (!file) {
      return std::move(file).error();
    }
    template_file_ = std::move(file).value();
    return {};
  }

  int serve() {
    namespaces_ =
        std::make_unique<NamespaceCache>(*client_, flags_.policy.get().key, ambience_.get());
    add_checks();
    webhook::Server admin({.name = "admin", .listen = flags_.admin_listen},
                          webhook::admin_routes(health_, collectables(), version_json()), nullptr,
                          log_);
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

  void add_checks() {
    health_.add_readiness_check("template", [this] { return templates_.ready(); });
    health_.add_readiness_check("namespaces", [this]() -> base::Result<void> {
      return namespaces_->has_synced()
                 ? base::Result<void>()
                 : base::Error{base::ErrorCode::Unavailable, "not listed yet"};
    });
    health_.add_note("template update", [this]() -> base::Result<void> {
      const auto failure = templates_.failure();
      return failure ? base::Result<void>(*failure) : base::Result<void>();
    });
  }

  [[nodiscard]] webhook::Collectables collectables() const {
    return {registry_, std::make_shared<webhook::TemplateMetrics>(templates_),
            std::make_shared<webhook::ProcessMetrics>()};
  }

  static std::string version_json() {
    return fmt::format(R"({{"name":"envoy-initializer","version":"{}"}})", INJ_VERSION) + "\n";
  }

  void wait_for_stop() {
    while (!failed_) {
      const auto signal = signals_.wait(kServerRetry);
      if (signal == Signal::Stop) {
        return;
      }
      if (signal == Signal::Reload && template_file_) {
        template_file_->reload_now();
      }
    }
  }

  // The thread of the loops.
  void work_until(const std::stop_token& stop) {
    const bool ready = namespaces_->wait_for_sync(stop) &&
                       (config_map_ == nullptr || config_map_->wait_for_sync(stop));
    if (!ready || !discover(stop)) {
      return;
    }
    kube::RestEventSink sink(*client_);
    runtime::EventRecorderOptions options;
    options.component = kName;
    runtime::EventRecorder recorder(sink, std::move(options), ambience_.get());
    if (flags_.leader_elect) {
      stand(recorder, stop);
    } else {
      lead(recorder, stop);
    }
  }

  // Asks until the server answers. Empty: `stop`, or what was asked for is not to be had.
  template <class Question>
  auto ask(std::string_view what, const std::stop_token& stop, Question question)
      -> std::optional<std::decay_t<decltype(question().value())>> {
    while (true) {
      auto answer = question();
      if (answer) {
        return std::move(answer).value();
      }
      log_.warn("discovery failed", {{"what", what}, {"error", answer.error().message}});
      if (answer.error().code == base::ErrorCode::NotFound) {
        failed_ = true;
        return std::nullopt;
      }
      if (!ambience_.get().sleeper.sleep(kServerRetry, stop)) {
        return std::nullopt;
      }
    }
  }

  // What the server can do, and of that what was asked for. False: see ask().
  bool discover(const std::stop_token& stop) {
    const auto mode = ask("mode", stop, [&] { return find_mode(stop); });
    if (!mode) {
      return false;
    }
    mode_ = *mode;
    switch (mode_) {
      case Mode::Initializer:
        log_.info("looking after waiting pods", {{"initializer", flags_.initializer_name}});
        return true;
      case Mode::Workloads:
        log_.info("looking after workloads");
        return find_resources(stop);
      case Mode::Repair:
        log_.info("looking after running pods", {{"repair", flags_.repair}});
        return find_eviction(stop);
    }
    return false;
  }

  base::Result<Mode> find_mode(const std::stop_token& stop) {
    static const std::map<std::string, Mode> kModes{{"initializer", Mode::Initializer},
                                                    {"workloads", Mode::Workloads},
                                                    {"repair", Mode::Repair}};
    if (const auto fixed = kModes.find(flags_.mode); fixed != kModes.end()) {
      return fixed->second;
    }
    const auto initializers = kube::serves(*client_, kube::kInitializerConfigurations, stop);
    if (!initializers) {
      return initializers.error();
    }
    if (initializers.value()) {
      return Mode::Initializer;
    }
    return find_webhook(stop);
  }

  // Repair is for clusters that have the webhook. Who may not even look has none to rely on.
  base::Result<Mode> find_webhook(const std::stop_token& stop) {
    const auto webhook = client_->get({kube::kMutatingWebhookConfigurations, {}, kName, {}}, stop);
    if (webhook) {
      return Mode::Repair;
    }
    const base::ErrorCode code = webhook.error().code;
    if (code == base::ErrorCode::NotFound || code == base::ErrorCode::Forbidden) {
      return Mode::Workloads;
    }
    return webhook.error();
  }

  bool find_resources(const std::stop_token& stop) {
    for (const std::string& name : flags_.resources) {
      auto resource = ask(name, stop, [&] { return resource_named(name, stop); });
      if (!resource) {
        return false;
      }
      resources_.push_back(*std::move(resource));
    }
    return true;
  }

  bool find_eviction(const std::stop_token& stop) {
    auto version = ask("eviction", stop, [&] { return kube::eviction_version(*client_, stop); });
    if (!version) {
      return false;
    }
    eviction_version_ = *std::move(version);
    return true;
  }

  base::Result<kube::Resource> resource_named(const std::string& name,
                                              const std::stop_token& stop) {
    static const std::map<std::string, kube::Resource> kFixed{{"deployments", kube::kDeployments},
                                                              {"statefulsets", kube::kStatefulSets},
                                                              {"daemonsets", kube::kDaemonSets},
                                                              {"jobs", kube::kJobs}};
    const auto found = kFixed.find(name);
    return found != kFixed.end() ? found->second : kube::served_cron_jobs(*client_, stop);
  }

  // Stands for election again and again: a lease may be lost while the API server is away.
  void stand(runtime::EventRecorder& recorder, const std::stop_token& stop) {
    kube::RestLeaseClient lease(*client_, client_->default_namespace(), kName);
    runtime::LeaderElectionOptions options;
    options.name = kName;
    options.identity = identity();
    options.metrics = registry_.get();
    runtime::LeaderCallbacks callbacks;
    callbacks.on_started_leading = [this, &recorder](const std::stop_token& term) {
      lead(recorder, term);
    };
    runtime::LeaderElector elector(lease, std::move(options), std::move(callbacks),
                                   ambience_.get());
    while (!stop.stop_requested()) {
      elector.run(stop);
    }
  }

  void lead(runtime::EventRecorder& recorder, const std::stop_token& stop) {
    Term term({flags_, *client_, templates_, *registry_, printer_, surroundings(recorder),
               ambience_.get()});
    add_units(term);
    term.run(stop);
  }

  void add_units(Term& term) const {
    switch (mode_) {
      case Mode::Initializer:
        term.add_initializer();
        return;
      case Mode::Workloads:
        for (const kube::Resource& resource : resources_) {
          term.add_workload(resource);
        }
        return;
      case Mode::Repair:
        term.add_repair(eviction_version_);
        return;
    }
  }

  [[nodiscard]] core::Policy policy() const {
    core::Policy policy = flags_.policy.get();
    policy.inject_by_default = !flags_.require_annotation;
    return policy;
  }

  controller::Surroundings surroundings(runtime::EventRecorder& recorder) {
    return {[this] { return templates_.current(); },
            [this](std::string_view name) { return namespaces_->find(std::string(name)); },
            [this, &recorder](const runtime::ObjectReference& about, runtime::EventType type,
                              std::string reason, std::string message) {
              if (!flags_.dry_run) {
                recorder.record(about, type, std::move(reason), std::move(message));
              }
            },
            policy(),
            metrics_,
            log_};
  }

  const InitializerFlags& flags_;
  const base::Logger& log_;
  const SignalQueue& signals_;
  RealAmbience ambience_;
  codec::TemplateStore templates_;
  std::shared_ptr<prometheus::Registry> registry_;
  controller::Metrics metrics_;
  webhook::Health health_;
  Printer printer_;
  std::atomic<bool> failed_ = false;
  std::unique_ptr<kube::RestClient> client_;
  std::unique_ptr<TemplateFile> template_file_;
  std::unique_ptr<TemplateConfigMap> config_map_;
  std::unique_ptr<NamespaceCache> namespaces_;
  // Of the server, from discover() on.
  Mode mode_ = Mode::Workloads;
  std::vector<kube::Resource> resources_;  // For Workloads.
  std::string eviction_version_;           // For Repair.
};

}  // namespace

void add_initializer_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<InitializerFlags>();
  CLI::App& command = *app.add_subcommand(
      "initializer", "Follow the cluster's objects and PATCH the sidecar into those that ask");
  flags->add_to(command);
  command.footer(
      "Examples:\n"
      "  envoy-initializer initializer --resources deployments --configmap default/envoy\n"
      "  envoy-initializer initializer --rollout --dry-run -n shop\n"
      "\n"
      "SIGTERM and SIGINT finish the writes in flight, give the lease back and exit 0. SIGHUP "
      "reads "
      "the\ntemplate file again.");
  command.callback([flags, &chosen] {
    chosen.work = [flags] {
      const SignalQueue signals;  // Before any thread.
      const base::Logger log = flags->log.get();
      return InitializerProcess(*flags, log, signals).run();
    };
  });
}

}  // namespace injector::app
