// The last good template, kept in a ConfigMap beside the user's, so that a replica that starts
// while the user's cannot be used serves what all the others serve.
//
// Every replica writes it, none leads. A write names the version it replaces, and is left out where
// the content is there already, so replicas that race end with the same content. Used by one
// thread.

#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "kube/rest_client.h"

namespace injector::cluster {

/// Of the user's ConfigMap's name.
inline constexpr const char* kLastGoodSuffix = "-last-good";

class LastGoodTemplate {
 public:
  /// `client` is not owned and outlives this.
  LastGoodTemplate(kube::RestClient& client, std::string name_space, std::string name);

  /// "configmap ns/name".
  [[nodiscard]] const std::string& origin() const noexcept { return origin_; }

  /// The ConfigMap; empty where there is none.
  [[nodiscard]] base::Result<std::optional<base::Json>> read(const std::stop_token& stop);

  /// Makes `data` its data.
  [[nodiscard]] base::Result<void> write(const base::Json& data, const std::stop_token& stop);

 private:
  [[nodiscard]] base::Result<void> try_write(const base::Json& data, const std::stop_token& stop);

  kube::RestClient& client_;  // Not owned.
  const std::string name_space_;
  const std::string name_;
  const std::string origin_;
};

}  // namespace injector::cluster
