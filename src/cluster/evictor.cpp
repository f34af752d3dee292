#include "cluster/evictor.h"

#include <utility>

namespace injector::cluster {

RestEvictor::RestEvictor(kube::RestClient& client, kube::EvictOptions options)
    : client_(client),
      options_(std::move(options)) {}

base::Result<base::Json> RestEvictor::get(const std::string& name_space, const std::string& name,
                                          const std::stop_token& stop) {
  return client_.get({kube::kPods, name_space, name, {}}, stop);
}

base::Result<base::Json> RestEvictor::dry_run_create(const base::Json& pod,
                                                     const std::stop_token& stop) {
  const std::string name_space(base::text_of(base::find(pod, "metadata", "namespace")));
  return client_.create_object({kube::kPods, name_space, {}, {}}, pod, {.dry_run = true}, stop);
}

base::Result<void> RestEvictor::evict(const runtime::ObjectReference& pod,
                                      const std::stop_token& stop) {
  kube::EvictOptions options = options_;
  options.uid = pod.uid;
  return client_.evict(pod.name_space, pod.name, options, stop);
}

}  // namespace injector::cluster
