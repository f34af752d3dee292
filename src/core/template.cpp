#include "core/template.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "core/native_sidecars.h"

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

std::vector<Pattern> patterns_of(const StringMap& map) {
  std::vector<Pattern> patterns;
  bool any = false;
  for (const auto& [key, value] : map) {
    auto pattern = parse_pattern(value);
    patterns.push_back(pattern ? std::move(pattern).value() : Pattern());
    any = any || !patterns.back().empty();
  }
  return any ? patterns : std::vector<Pattern>();
}

}  // namespace

Piece::Piece(Json json)
    : name(base::text_of(base::find(json, "name"))),
      value(std::move(json)),
      text(base::to_text(value)),
      pattern(json_pattern(value)) {}

Piece::Piece(std::string piece_name, std::string json_text)
    : name(std::move(piece_name)),
      text(std::move(json_text)) {}

Json Piece::json() const {
  return value.is_null() ? Json::parse(text, nullptr, false) : value;
}

std::string_view to_string(Placement placement) noexcept {
  switch (placement) {
    case Placement::Container:
      return "container";
    case Placement::Native:
      return "native";
    case Placement::Auto:
      return "auto";
  }
  return "";
}

std::string_view to_string(Position position) noexcept {
  return position == Position::First ? "first" : "last";
}

void complete(Template& tpl) {
  tpl.hash = hash_of(tpl);
  tpl.native_containers.clear();
  if (tpl.placement != Placement::Container) {
    for (const Piece& container : tpl.containers) {
      tpl.native_containers.emplace_back(as_native(container.value));
    }
  }
  tpl.label_patterns = patterns_of(tpl.labels);
  tpl.annotation_patterns = patterns_of(tpl.annotations);
}

std::string hash_of(const Template& tpl) {
  auto canonical = nlohmann::json::object();
  canonical["containers"] = sorted(tpl.containers);
  canonical["initContainers"] = sorted(tpl.init_containers);
  canonical["volumes"] = sorted(tpl.volumes);
  canonical["imagePullSecrets"] = sorted(tpl.image_pull_secrets);
  canonical["labels"] = sorted(tpl.labels);
  canonical["annotations"] = sorted(tpl.annotations);
  const Template plain;
  if (tpl.placement != plain.placement) {
    canonical["placement"] = to_string(tpl.placement);
  }
  if (tpl.position != plain.position) {
    canonical["position"] = to_string(tpl.position);
  }
  if (tpl.overrides != plain.overrides) {
    canonical["overrides"] = tpl.overrides;
  }
  return "sha256:" + sha256_hex(canonical.dump(), 16);
}

}  // namespace injector::core
