#include "core/template.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace injector::core {
namespace {

using base::Json;

// nlohmann::json sorts its keys, which makes its text canonical.
nlohmann::json sorted(const Json& value) {
  return nlohmann::json::parse(base::to_text(value));
}

nlohmann::json sorted(const std::vector<Piece>& pieces) {
  auto list = nlohmann::json::array();
  for (const Piece& piece : pieces) {
    list.push_back(sorted(piece.value));
  }
  return list;
}

nlohmann::json sorted(const StringMap& map) {
  auto object = nlohmann::json::object();
  for (const auto& [key, value] : map) {
    object.emplace(key, value);
  }
  return object;
}

std::string sha256_hex(const std::string& text, std::size_t digits) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string hex;
  for (std::size_t i = 0; i < digits / 2; ++i) {
    hex += fmt::format("{:02x}", digest.at(i));
  }
  return hex;
}

}  // namespace

Piece::Piece(Json json)
    : name(base::text_of(base::find(json, "name"))),
      value(std::move(json)),
      text(base::to_text(value)) {}

const std::string* find(const StringMap& map, std::string_view key) noexcept {
  const auto found =
      std::find_if(map.begin(), map.end(), [&](const auto& entry) { return entry.first == key; });
  return found == map.end() ? nullptr : &found->second;
}

std::string hash_of(const Template& tpl) {
  auto canonical = nlohmann::json::object();
  canonical["containers"] = sorted(tpl.containers);
  canonical["initContainers"] = sorted(tpl.init_containers);
  canonical["volumes"] = sorted(tpl.volumes);
  canonical["imagePullSecrets"] = sorted(tpl.image_pull_secrets);
  canonical["labels"] = sorted(tpl.labels);
  canonical["annotations"] = sorted(tpl.annotations);
  return "sha256:" + sha256_hex(canonical.dump(), 16);
}

}  // namespace injector::core
