// dashboard: a page about a cluster, on this machine.

#include <algorithm>
#include <cctype>
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "app/cluster.h"
#include "app/command_line.h"
#include "app/flag_checks.h"
#include "base/base64.h"
#include "base/signals.h"
#include "cli/cluster_template.h"
#include "cli/live_target.h"
#include "cli/webhook_registration.h"
#include "http/server.h"
#include "runtime/process_context.h"
#include "tls/certificate.h"

#include "dashboard/cluster_view.h"
#include "dashboard/routes.h"
#include "dashboard/webhook_figures.h"

namespace injector::app {
namespace {

using namespace std::chrono_literals;
using base::Json;

constexpr auto kRefresh = 5s;
constexpr const char* kWebhookPods = "app.kubernetes.io/name=envoy-initializer";

struct DashboardFlags {
  std::string listen = "127.0.0.1:0";
  std::vector<std::string> host_names;
  std::string token_file;
  ClusterFlags cluster;
  PolicyFlags policy;
  TemplateFlags tpl;
  std::string configmap;
  std::string webhook_configuration = "envoy-initializer";
  LogFlags log;
};

// The first line of a file.
base::Result<std::string> read_token(const std::string& file) {
  std::ifstream in(file);
  std::string token;
  std::getline(in, token);
  constexpr std::size_t kShortest = 16;
  if (!in && token.empty()) {
    return base::invalid(fmt::format("--token-file {}: cannot be read, or is empty", file));
  }
  if (token.size() < kShortest) {
    return base::invalid(
        fmt::format("--token-file {}: the token has less than {} characters", file, kShortest));
  }
  return token;
}

// Needed where others than this machine can ask.
base::Result<dashboard::AccessOptions> access_options(const DashboardFlags& flags) {
  dashboard::AccessOptions options{flags.host_names, ""};
  if (!flags.token_file.empty()) {
    INJ_ASSIGN(options.token, read_token(flags.token_file));
  } else if (!dashboard::is_loopback(flags.listen)) {
    options.token = dashboard::random_token();
  }
  return options;
}

// Counted over all replicas of the webhook, by way of the API server.
class WebhookMetrics {
 public:
  explicit WebhookMetrics(kube::RestClient& client)
      : client_(client) {}

  [[nodiscard]] Json read(const std::stop_token& stop) {
    dashboard::AdmissionCounts counts;
    int replicas = 0;
    std::string why = "no Pod of the webhook was found";
    const auto take = [&](const Json& pod) {
      const auto metrics = client_.send(request_for(pod), stop);
      const bool good = metrics && metrics.value().ok();
      if (good) {
        counts.add(dashboard::read_admission_counts(metrics.value().body));
        ++replicas;
      } else {
        why = metrics ? fmt::format("its metrics cannot be read: the API server answered {}",
                                    metrics.value().code)
                      : metrics.error().message;
      }
      return true;
    };
    const auto listed =
        client_.for_each({kube::kPods, "", "", ""}, {{"labelSelector", kWebhookPods}}, take, stop);
    return replicas > 0 ? figures(counts, replicas) : silent(listed ? why : listed.error().message);
  }

 private:
  static kube::Request request_for(const Json& pod) {
    const auto path = kube::path_of(
        {kube::kPods, std::string(base::text_of(base::find(pod, "metadata", "namespace"))),
         fmt::format("{}:8080", base::text_of(base::find(pod, "metadata", "name"))), "proxy"});
    kube::Request request;
    request.path = (path ? path.value() : "") + "/metrics";
    request.timeout = 2s;
    return request;
  }

  static Json silent(const std::string& why) { return Json({{"reachable", false}, {"note", why}}); }

  Json figures(const dashboard::AdmissionCounts& counts, int replicas) {
    const auto now = std::chrono::steady_clock::now();
    const auto figures =
        dashboard::figures_between(before_ ? *before_ : counts, counts, now - before_time_);
    before_ = counts;
    before_time_ = now;
    Json body({{"reachable", true},
               {"admissions", counts.admissions},
               {"replicas", replicas},
               {"admissionsPerSecond", figures.per_second},
               {"p99Seconds", nullptr}});
    if (figures.p99_seconds) {
      body["p99Seconds"] = *figures.p99_seconds;
    }
    return body;
  }

  kube::RestClient& client_;  // Not owned.
  std::optional<dashboard::AdmissionCounts> before_;
  std::chrono::steady_clock::time_point before_time_;
};

// The certificate that expires first among those that sign for a webhook.
Json certificate_json(const cli::RegisteredWebhook& webhook) {
  Json body({{"name", webhook.title}, {"note", webhook.ca_bundle}, {"notAfter", nullptr}});
  const auto pem =
      base::base64_decode(base::text_of(base::find(webhook.entry, "clientConfig", "caBundle")));
  const auto bundle = tls::parse_bundle(pem ? *pem : "");
  if (!bundle || bundle.value().empty()) {
    return body;
  }
  auto first = bundle.value().front().not_after();
  for (const tls::Certificate& certificate : bundle.value()) {
    first = std::min(first, certificate.not_after());
  }
  body["notAfter"] =
      std::chrono::duration_cast<std::chrono::milliseconds>(first.time_since_epoch()).count();
  return body;
}

Json template_json(const cli::FoundTemplate& found) {
  return Json({{"name", "envoy"},
               {"source", found.source},
               {"hash", found.templates.fingerprint()},
               {"accepted", found.note.find("cannot be used") == std::string::npos},
               {"note", found.note}});
}

// Asks the cluster for what is not followed.
class Reader {
 public:
  Reader(const DashboardFlags& flags, kube::RestClient& client)
      : flags_(flags),
        client_(client),
        metrics_(client) {}

  [[nodiscard]] base::Result<dashboard::Surroundings> read(const std::stop_token& stop) {
    dashboard::Surroundings now;
    INJ_ASSIGN(auto found, cli::find_template(
                               client_, {flags_.tpl.config, flags_.configmap, flags_.tpl.options},
                               std::cin, stop));
    now.template_source = found.describe();
    now.templates.push_back(template_json(found));
    now.in_use = std::move(found.templates);
    now.cluster = describe_cluster(stop);
    now.registration = cli::find_registration(client_, flags_.webhook_configuration,
                                              std::chrono::system_clock::now(), stop);
    for (const cli::RegisteredWebhook& webhook : now.registration.webhooks) {
      now.certificates.push_back(certificate_json(webhook));
    }
    if (!now.registration.note.empty()) {
      now.notes.push_back(now.registration.note);
    }
    now.webhook = metrics_.read(stop);
    return now;
  }

 private:
  std::string describe_cluster(const std::stop_token& stop) {
    const auto version = client_.call({.path = "/version"}, stop);
    return version ? fmt::format("Kubernetes {}",
                                 base::text_of(base::find(version.value(), "gitVersion")))
                   : fmt::format("the API server does not answer: {}", version.error().message);
  }

  const DashboardFlags& flags_;  // Not owned, as is the next.
  kube::RestClient& client_;
  WebhookMetrics metrics_;
};

base::Result<cli::LiveObject> look_up(kube::RestClient& client, const std::string& name_space,
                                      const std::string& kind, const std::string& name) {
  std::string lower = kind;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  INJ_ASSIGN(const auto target, cli::find_live_target(client, lower + "/" + name, name_space, {}));
  INJ_ASSIGN(auto object, cli::get_live(client, target, {}));
  cli::LiveObject live{std::move(object), {}, {}};
  auto found = client.get({kube::kNamespaces, "", target.name_space, ""}, {});
  if (found) {
    live.name_space = std::move(found).value();
  } else {
    live.name_space_note =
        fmt::format("what the Namespace says is not known: {}", found.error().message);
  }
  return live;
}

class DashboardProcess {
 public:
  DashboardProcess(const DashboardFlags& flags, const base::Logger& log,
                   const base::SignalQueue& signals)
      : flags_(flags),
        signals_(signals),
        log_(log),
        process_context_(log) {}

  int run() {
    auto client = flags_.cluster.connect_for_command();
    auto watcher = flags_.cluster.connect(nullptr);
    auto access = access_options(flags_);
    if (!client || !watcher || !access) {
      return fail(!client ? client.error() : !watcher ? watcher.error() : access.error());
    }
    Reader reader(flags_, *client.value());
    auto first = reader.read({});
    if (!first) {
      return fail(first.error());
    }
    dashboard::LiveFeed feed;
    dashboard::ClusterView view(
        *watcher.value(), flags_.policy.get(), std::move(first).value(),
        [&client](const std::string& name_space, const std::string& kind, const std::string& name) {
          return look_up(*client.value(), name_space, kind, name);
        },
        feed, process_context_.get());
    view.start();
    return serve(std::make_shared<dashboard::Access>(std::move(access).value()), view, feed,
                 reader);
  }

 private:
  int serve(const std::shared_ptr<dashboard::Access>& access, dashboard::ClusterView& view,
            const dashboard::LiveFeed& feed, Reader& reader) {
    dashboard::PageSources sources;
    sources.version = INJ_VERSION;
    sources.context = [&view] { return view.inventory().context(); };
    sources.templates = [&view] { return view.templates(); };
    sources.events = feed.broadcast();
    sources.cluster = view.pages();
    http::Server server({.name = "dashboard", .listen = flags_.listen, .threads = 1},
                        dashboard::page_routes(access, std::move(sources)), nullptr, log_);
    if (auto started = server.start(); !started) {
      return fail(started.error());
    }
    std::cout << dashboard::page_address(flags_.listen, server.port()) << access->login_query()
              << std::endl;
    const std::jthread refresher(
        [&](const std::stop_token& stop) { refresh_forever(view, reader, stop); });
    signals_.wait_for_stop();
    server.stop(1s);
    return cli::kDone;
  }

  void refresh_forever(dashboard::ClusterView& view, Reader& reader, const std::stop_token& stop) {
    const runtime::LoopContext context = process_context_.get();
    while (context.sleeper.sleep(kRefresh, stop)) {
      auto next = reader.read(stop);
      if (next) {
        view.set(std::move(next).value());
      } else if (next.error().code != base::ErrorCode::Cancelled) {
        log_.warn("the cluster was not read", {{"error", next.error().message}});
      }
    }
  }

  const DashboardFlags& flags_;
  const base::SignalQueue& signals_;
  const base::Logger& log_;
  runtime::ProcessContext process_context_;
};

void add_flags(CLI::App& command, DashboardFlags& flags) {
  command
      .add_option("--listen", flags.listen,
                  "Where to serve the page; port 0: a free one. Other addresses than this "
                  "machine's own demand a token")
      ->capture_default_str();
  command.add_option("--allow-host", flags.host_names,
                     "A host name by which the page may be asked for, besides addresses and "
                     "localhost; may be repeated");
  command.add_option("--token-file", flags.token_file,
                     "Demand the token in the first line of this file [default: where a token is "
                     "needed, one is made]");
  flags.cluster.add_to(command);
  flags.tpl.add_to(command);
  command.get_option("--config")->description(kClusterTemplateHelp);
  command
      .add_option("--configmap", flags.configmap,
                  "The template's ConfigMap, as [NS/]NAME [default: "
                  "envoy-initializer/envoy-initializer, if there is one]")
      ->check(configmap_check())
      ->excludes("--config");
  command
      .add_option("--webhook-configuration", flags.webhook_configuration,
                  "The MutatingWebhookConfiguration that calls us")
      ->capture_default_str();
  flags.policy.add_to(command);
  flags.log.level = "warn";
  flags.log.add_to(command);
}

}  // namespace

void add_dashboard_command(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<DashboardFlags>();
  CLI::App& command = *app.add_subcommand("dashboard", "Serve a page about a cluster's Pods");
  add_flags(command, *flags);
  command.footer(
      "Prints the address to open, and serves until Ctrl-C. Reads only.\n"
      "\n"
      "Examples:\n"
      "  envoy-initializer dashboard\n"
      "  envoy-initializer dashboard --context production --listen 127.0.0.1:9000\n"
      "  envoy-initializer dashboard --listen 10.0.0.5:9000     (prints an address with a token)");
  command.callback([flags, &chosen] {
    chosen.work = [flags] {
      const base::SignalQueue signals;  // Before any thread.
      const base::Logger log = flags->log.get();
      return DashboardProcess(*flags, log, signals).run();
    };
  });
}

}  // namespace injector::app
