// A driver to look at: each network is a file, <namespace>_<name>.json, and no packet moves.

#pragma once

#include <filesystem>

#include "base/files.h"
#include "base/json_text.h"

#include "network.h"

namespace injector::examples {

class FileDriver final : public NetworkDriver {
 public:
  explicit FileDriver(std::string folder)
      : folder_(std::move(folder)) {}

  base::Result<std::vector<std::string>> list() override {
    std::vector<std::string> keys;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(folder_, error)) {
      std::string name = file.path().stem();
      if (file.path().extension() == ".json" && name.find('_') != std::string::npos) {
        keys.push_back(name.replace(name.find('_'), 1, "/"));
      }
    }
    return error ? failure(folder_, error) : base::Result(keys);
  }

  base::Result<Network> find(const std::string& key) override {
    const auto text = base::read_file(path_of(key));
    const auto json = text ? base::read_json(text.value()) : text.error();
    return json ? parse_network(json.value()) : json.error();
  }

  base::Result<void> create(const std::string& key, const Network& network) override {
    const base::Json spec = {{"cidr", network.cidr}, {"gateway", network.gateway}};
    return base::replace_file(path_of(key), base::to_text({{"spec", spec}}) + "\n");
  }

  base::Result<void> update(const std::string& key, const Network& network) override {
    return create(key, network);
  }

  base::Result<void> remove(const std::string& key) override {
    std::error_code error;
    std::filesystem::remove(path_of(key), error);
    return error ? failure(path_of(key), error) : base::Result<void>();
  }

 private:
  [[nodiscard]] std::string path_of(std::string key) const {
    return folder_ + "/" + key.replace(key.find('/'), 1, "_") + ".json";  // '_' is in no name.
  }

  static base::Error failure(const std::string& path, const std::error_code& error) {
    return {base::ErrorCode::Unavailable, path + ": " + error.message()};
  }

  const std::string folder_;
};

}  // namespace injector::examples
