#include "kube/credentials.h"

#include <condition_variable>
#include <optional>
#include <unistd.h>
#include <utility>

#include "base/base64.h"
#include "base/files.h"
#include "base/mutex.h"
#include "kube/exec_credential.h"
#include "kube/process.h"

namespace injector::kube {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

// A minute less ten seconds, as client-go counts it: the kubelet rotates long before a token dies.
constexpr base::Duration kTokenAge = std::chrono::seconds(50);

class FixedCredential final : public CredentialSource {
 public:
  explicit FixedCredential(std::string authorization)
      : credential_{std::move(authorization), {}, 0} {}

  Result<Credential> get(const base::Until& /*until*/) override { return credential_; }

  void refuse(const Credential& /*refused*/) override {}

 private:
  const Credential credential_;
};

std::string trimmed(std::string text) {
  constexpr const char* kBlank = " \t\r\n";
  text.erase(text.find_last_not_of(kBlank) + 1);
  text.erase(0, std::min(text.find_first_not_of(kBlank), text.size()));
  return text;
}

class TokenFile final : public CredentialSource {
 public:
  TokenFile(std::string path, std::string fallback, const base::Clock* clock)
      : path_(std::move(path)),
        clock_(clock != nullptr ? *clock : real_clock_) {
    credential_.authorization = fallback.empty() ? "" : "Bearer " + fallback;
  }

  Result<Credential> get(const base::Until& /*until*/) override {
    const base::TimePoint now = clock_.now();
    const base::MutexLock lock(mutex_);
    if (read_at_ && now - *read_at_ < kTokenAge) {
      return credential_;
    }
    const Result<std::string> text = base::read_file(path_);
    const std::string token = text ? trimmed(text.value()) : "";
    if (token.empty() && credential_.authorization.empty()) {
      return text ? base::invalid("token file " + path_ + " is empty")
                  : annotate(text.error(), "token file");
    }
    if (token.empty()) {
      return credential_;  // In the middle of a rotation: the old one is the best we have.
    }
    read_at_ = now;
    store(token);
    return credential_;
  }

  void refuse(const Credential& refused) override {
    const base::MutexLock lock(mutex_);
    if (refused.generation == credential_.generation) {
      read_at_.reset();
    }
  }

 private:
  void store(const std::string& token) INJ_REQUIRES(mutex_) {
    std::string authorization = "Bearer " + token;
    if (authorization != credential_.authorization) {
      credential_.authorization = std::move(authorization);
      ++credential_.generation;
    }
  }

  const std::string path_;
  const base::SteadyClock real_clock_;
  const base::Clock& clock_;
  base::Mutex mutex_;
  Credential credential_ INJ_GUARDED_BY(mutex_);
  std::optional<base::TimePoint> read_at_ INJ_GUARDED_BY(mutex_);
};

/// Runs the plugin at most once at a time; the others wait for its answer.
class ExecSource final : public CredentialSource {
 public:
  ExecSource(ExecSettings settings, CredentialTime time)
      : settings_(std::move(settings)),
        time_(std::move(time)) {}

  Result<Credential> get(const base::Until& until) override {
    if (const auto cached = cached_or_claim(until)) {
      return *cached;
    }
    Result<ExecCredential> fresh = run(until);
    const base::MutexLock lock(mutex_);
    running_ = false;
    changed_.notify_all();
    if (!fresh) {
      return std::move(fresh).error();
    }
    expires_ = fresh.value().expires;
    const std::string& token = fresh.value().token;
    credential_ = Credential{token.empty() ? "" : "Bearer " + token,
                             std::move(fresh.value().identity), ++generation_};
    return *credential_;
  }

  void refuse(const Credential& refused) override {
    const base::MutexLock lock(mutex_);
    if (credential_ && refused.generation == credential_->generation) {
      credential_.reset();
    }
  }

 private:
  /// Empty: nothing good is there, and running the plugin is now the caller's job.
  std::optional<Result<Credential>> cached_or_claim(const base::Until& until) {
    const base::MutexLock lock(mutex_);
    const auto idle = [this]() INJ_REQUIRES(mutex_) { return !running_; };
    if (!wait_idle(until, idle)) {
      return until.stop.stop_requested() ? base::cancelled() : base::timed_out();
    }
    if (credential_ && (!expires_ || time_.calendar() < *expires_)) {
      return *credential_;
    }
    running_ = true;
    return std::nullopt;
  }

  template <class Idle>
  bool wait_idle(const base::Until& until, const Idle& idle) INJ_REQUIRES(mutex_) {
    if (until.deadline == base::TimePoint::max()) {
      return changed_.wait(mutex_, until.stop, idle);
    }
    return changed_.wait_until(mutex_, until.stop, until.deadline, idle);
  }

  [[nodiscard]] bool has_terminal() const {
    return time_.has_terminal ? time_.has_terminal() : ::isatty(STDIN_FILENO) == 1;
  }

  [[nodiscard]] Result<ExecCredential> run(const base::Until& until) const {
    const std::string context = "exec plugin " + settings_.command;
    const bool interactive = settings_.interactive != InteractiveMode::Never && has_terminal();
    if (settings_.interactive == InteractiveMode::Always && !interactive) {
      return Error{ErrorCode::Unauthorized,
                   context + ": it needs a terminal on standard input, and there is none"};
    }
    Command command{settings_.command, settings_.args, settings_.env, interactive};
    command.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(settings_, interactive));
    // A person who logs in takes longer than a request may.
    Result<std::string> output =
        run_command(command, interactive ? base::Until{until.stop} : until);
    if (!output) {
      return annotate(with_hint(std::move(output).error()), "exec plugin");
    }
    Result<ExecCredential> credential =
        parse_exec_credential(output.value(), settings_.api_version);
    return credential ? credential : annotate(std::move(credential).error(), context);
  }

  [[nodiscard]] Error with_hint(Error error) const {
    if (error.code == ErrorCode::NotFound && !settings_.install_hint.empty()) {
      error.message += "\n" + settings_.install_hint;
    }
    return error;
  }

  const ExecSettings settings_;
  const CredentialTime time_;
  base::Mutex mutex_;
  std::condition_variable_any changed_;
  bool running_ INJ_GUARDED_BY(mutex_) = false;
  std::uint64_t generation_ INJ_GUARDED_BY(mutex_) = 0;
  std::optional<Credential> credential_ INJ_GUARDED_BY(mutex_);
  std::optional<std::chrono::system_clock::time_point> expires_ INJ_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<CredentialSource> make_credentials(const AuthSettings& settings,
                                                   CredentialTime time) {
  if (settings.exec) {
    return std::make_unique<ExecSource>(*settings.exec, std::move(time));
  }
  if (!settings.token_file.empty()) {
    return std::make_unique<TokenFile>(settings.token_file, settings.token, time.steady);
  }
  if (!settings.token.empty()) {
    return std::make_unique<FixedCredential>("Bearer " + settings.token);
  }
  if (!settings.username.empty()) {
    return std::make_unique<FixedCredential>(
        "Basic " + base::base64_encode(settings.username + ":" + settings.password));
  }
  return std::make_unique<FixedCredential>("");
}

}  // namespace injector::kube
