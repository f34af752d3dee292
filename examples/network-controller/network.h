// What a network is, and who brings it about.

#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "kube/resource.h"

namespace injector::examples {

inline const kube::Resource kNetworks{"samplecrd.k8s.io", "v1", "networks", "Network"};

struct Network {
  std::string cidr;     // IPv4, no bit set behind the prefix: "192.168.0.0/16".
  std::string gateway;  // An address of that network.

  friend bool operator==(const Network&, const Network&) = default;
};

/// The spec of a Network object. The error is a sentence for the one who wrote it. Pure.
[[nodiscard]] base::Result<Network> parse_network(const base::Json& object);

/// A switch, a cloud, or FileDriver. A network goes by the key of its object, "namespace/name".
/// Called from several threads, though never from two for one key. What failed is called again, and
/// may find its work half done.
class NetworkDriver {
 public:
  virtual ~NetworkDriver() = default;

  /// The keys of all networks there are.
  virtual base::Result<std::vector<std::string>> list() = 0;
  /// An error: there is none, or none that makes sense.
  virtual base::Result<Network> find(const std::string& key) = 0;
  virtual base::Result<void> create(const std::string& key, const Network& network) = 0;
  virtual base::Result<void> update(const std::string& key, const Network& network) = 0;
  /// To remove what is not there is no failure.
  virtual base::Result<void> remove(const std::string& key) = 0;
};

}  // namespace injector::examples
