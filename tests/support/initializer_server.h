// InitializerModel behind HTTP: what the control loop needs of an API server of 1.13, on a real
// socket with TLS. Discovery says that InitializerConfigurations are served, and Leases as v1beta1
// only.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "tests/support/fake_api.h"
#include "tests/support/initializer_model.h"
#include "tests/support/temp_dir.h"

namespace injector::tests {

class InitializerServer {
 public:
  InitializerServer();
  /// Ends all requests that wait.
  ~InitializerServer();
  InitializerServer(const InitializerServer&) = delete;
  InitializerServer& operator=(const InitializerServer&) = delete;

  [[nodiscard]] InitializerModel& model() noexcept { return model_; }

  [[nodiscard]] std::string url() const { return api_->url(); }

  /// Of the loop's user.
  [[nodiscard]] const std::string& kubeconfig() const noexcept { return kubeconfig_; }

  /// What the loop's user may do from now on. Others may do everything.
  void set_verbs(InitializerModel::Caller verbs) { loop_verbs_ = verbs; }

  /// 1.13 unless told otherwise.
  void set_minor_version(int minor) { minor_ = minor; }

  /// Every n-th accepted PATCH is stored, but its answer gets lost on the way. 0: none.
  void lose_answers(int every) { lose_every_ = every; }

  /// From now on nobody may read or write the lease: 403.
  void forbid_leases() { leases_forbidden_ = true; }

  /// As POSTed, in no particular order.
  [[nodiscard]] std::vector<base::Json> events() const INJ_EXCLUDES(mutex_);

 private:
  struct Call;

  void serve(const FakeApi::Request& request, FakeApi::Peer& peer) INJ_EXCLUDES(mutex_);
  void serve_pods(const Call& call, FakeApi::Peer& peer);
  void serve_pod(const Call& call, FakeApi::Peer& peer);
  void serve_patch(const Call& call, FakeApi::Peer& peer);
  void serve_watch(const Call& call, FakeApi::Peer& peer);
  void take_event(const Call& call, FakeApi::Peer& peer) INJ_EXCLUDES(mutex_);
  void serve_lease(const Call& call, FakeApi::Peer& peer) INJ_EXCLUDES(mutex_);

  InitializerModel model_;
  const TempDir dir_;
  std::string kubeconfig_;
  std::stop_source stop_;
  std::atomic<InitializerModel::Caller> loop_verbs_;
  std::atomic<int> minor_ = 13;
  std::atomic<int> lose_every_ = 0;
  std::atomic<int> patches_ = 0;
  std::atomic<bool> leases_forbidden_ = false;
  mutable base::Mutex mutex_;
  base::Json lease_ INJ_GUARDED_BY(mutex_);  // The one there is; null: none yet.
  std::vector<base::Json> events_ INJ_GUARDED_BY(mutex_);
  std::unique_ptr<FakeApi> api_;  // Last: its threads use the others.
};

}  // namespace injector::tests
