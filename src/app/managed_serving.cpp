#include "app/managed_serving.h"

#include <chrono>
#include <utility>

#include "app/command_line.h"
#include "tls/managed_certificates.h"

namespace injector::app {
namespace {

using base::Result;

// Below this, polling and a busy machine leave no room between renewal and expiry.
constexpr std::chrono::seconds kShortestLifetime{10};

tls::SystemTime wall_clock() {
  return std::chrono::system_clock::now();
}

Result<cluster::KeeperOptions> keeper_options(const ManagedFlags& flags,
                                              const std::string& name_space) {
  const auto lifetime =
      std::chrono::duration_cast<std::chrono::seconds>(parse_duration(flags.lifetime));
  if (lifetime < kShortestLifetime) {
    return base::invalid("--cert-lifetime: less than 10s");
  }
  cluster::KeeperOptions options{
      .name_space = name_space,
      .secret = flags.secret,
      .webhook_configuration = flags.webhook_configuration,
      .certificates = {tls::service_names(flags.service, name_space), lifetime},
      .client_ca = {},
      .poll = cluster::poll_interval(lifetime),
      .settle = cluster::settle_time(lifetime)};
  std::vector<std::string>& names = options.certificates.names;
  names.insert(names.end(), flags.more_names.begin(), flags.more_names.end());
  return options;
}

/// Something to shake hands with before the Secret is there. Its CA is thrown away.
Result<std::unique_ptr<tls::ServingCertificate>> placeholder(const cluster::KeeperOptions& options,
                                                             const base::Logger& log) {
  INJ_ASSIGN(const auto plan, tls::plan_certificates(options.certificates, {.now = wall_clock()}));
  return tls::ServingCertificate::create(
      {plan.content.tls_crt, plan.content.tls_key, options.client_ca}, log);
}

}  // namespace

CLI::Option* ManagedFlags::add_to(CLI::App& command) {
  CLI::Option* manage = command.add_flag(
      "--manage-certs", enabled,
      "Make CA and certificate, keep them in --secret, put the CA into --webhook-configuration, "
      "renew both at two thirds of their life");
  command
      .add_flag("--force-manage-certs", force,
                "With --manage-certs: do it although this process runs in no Pod of the cluster; "
                "the webhook that runs there loses its caBundle")
      ->needs(manage);
  command.add_option("--service", service, "With --manage-certs: the Service in front of us")
      ->capture_default_str();
  command.add_option("--namespace", name_space,
                     "With --manage-certs: where Service and Secret are [default: the Pod's, or "
                     "the kubeconfig's]");
  command.add_option("--secret", secret, "With --manage-certs: the Secret for CA and certificate")
      ->capture_default_str();
  command
      .add_option("--webhook-configuration", webhook_configuration,
                  "With --manage-certs: the MutatingWebhookConfiguration that calls us, and the "
                  "ValidatingWebhookConfiguration, if there is one")
      ->capture_default_str();
  command.add_option("--cert-lifetime", lifetime, "With --manage-certs: of CA and certificate")
      ->check(duration_check())
      ->capture_default_str();
  command.add_option("--cert-dns", more_names,
                     "With --manage-certs: one more DNS name or IP address; repeats");
  return manage;
}

Result<std::unique_ptr<ManagedServing>> ManagedServing::open(
    const ManagedFlags& flags, std::unique_ptr<kube::RestClient> client, std::string client_ca,
    const runtime::LoopContext& loop_context) {
  INJ_ASSIGN(auto options,
             keeper_options(
                 flags, flags.name_space.empty() ? client->default_namespace() : flags.name_space));
  options.client_ca = std::move(client_ca);
  auto certificate = placeholder(options, loop_context.log);
  if (!certificate) {
    return base::annotate(std::move(certificate).error(), "--manage-certs");
  }
  return std::make_unique<ManagedServing>(std::move(options), std::move(client),
                                          std::move(certificate).value(), loop_context);
}

ManagedServing::ManagedServing(cluster::KeeperOptions options,
                               std::unique_ptr<kube::RestClient> client,
                               std::unique_ptr<tls::ServingCertificate> certificate,
                               const runtime::LoopContext& loop_context)
    : client_(std::move(client)),
      certificate_(std::move(certificate)),
      keeper_(std::move(options), *client_, *certificate_, loop_context, wall_clock) {}

void ManagedServing::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { keeper_.run(stop); });
}

}  // namespace injector::app
