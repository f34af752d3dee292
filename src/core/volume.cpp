#include "core/volume.h"

#include <string_view>
#include <utility>

namespace injector::core {
namespace {

using base::Json;

constexpr int kDefaultMode = 0644;
constexpr int kTokenLifetimeSeconds = 3600;

struct Default {
  std::string_view source;
  std::string_view field;
  Json value;
};

// What pkg/apis/core/v1 defaulting sets inside a volume source.
const std::vector<Default>& source_defaults() {
  static const std::vector<Default> defaults = {
      {"configMap", "defaultMode", kDefaultMode},
      {"secret", "defaultMode", kDefaultMode},
      {"downwardAPI", "defaultMode", kDefaultMode},
      {"projected", "defaultMode", kDefaultMode},
      {"hostPath", "type", ""},
      {"iscsi", "iscsiInterface", "default"},
      {"rbd", "pool", "rbd"},
      {"rbd", "user", "admin"},
      {"rbd", "keyring", "/etc/ceph/keyring"},
      {"azureDisk", "cachingMode", "ReadWrite"},
      {"azureDisk", "kind", "Shared"},
      {"azureDisk", "fsType", "ext4"},
      {"azureDisk", "readOnly", false},
      {"scaleIO", "storageMode", "ThinProvisioned"},
      {"scaleIO", "fsType", "xfs"},
  };
  return defaults;
}

void set_if_absent(Json& object, std::string_view field, const Json& value) {
  if (base::find(object, field) == nullptr) {
    object[std::string(field)] = value;
  }
}

void fill_field_refs(Json* items) {
  if (items == nullptr || !items->is_array()) {
    return;
  }
  for (Json& item : *items) {
    Json* reference = base::find(item, "fieldRef");
    if (reference != nullptr && reference->is_object()) {
      set_if_absent(*reference, "apiVersion", "v1");
    }
  }
}

void fill_projection(Json& source) {
  Json* token = base::find(source, "serviceAccountToken");
  if (token != nullptr && token->is_object()) {
    set_if_absent(*token, "expirationSeconds", kTokenLifetimeSeconds);
  }
  if (Json* downward = base::find(source, "downwardAPI")) {
    fill_field_refs(base::find(*downward, "items"));
  }
}

// Kubernetes reads a field that is null as one that is not there.
void drop_nulls(Json& value) {
  if (!value.is_structured()) {
    return;
  }
  Json kept = value.is_object() ? Json::object() : Json::array();
  for (const auto& item : value.items()) {
    drop_nulls(item.value());
    if (value.is_array()) {
      kept.push_back(std::move(item.value()));
    } else if (!item.value().is_null()) {
      base::append_member(kept, item.key(), std::move(item.value()));
    }
  }
  value = std::move(kept);
}

Json with_defaults(Json volume) {
  drop_nulls(volume);
  if (volume.is_object() && volume.size() == 1) {
    volume["emptyDir"] = Json::object();  // A name alone means an empty directory.
  }
  for (const Default& entry : source_defaults()) {
    Json* source = base::find(volume, entry.source);
    if (source != nullptr && source->is_object()) {
      set_if_absent(*source, entry.field, entry.value);
    }
  }
  if (Json* downward = base::find(volume, "downwardAPI")) {
    fill_field_refs(base::find(*downward, "items"));
  }
  Json* projected = base::find(volume, "projected");
  Json* sources = projected == nullptr ? nullptr : base::find(*projected, "sources");
  if (sources != nullptr && sources->is_array()) {
    for (Json& source : *sources) {
      fill_projection(source);
    }
  }
  return volume;
}

}  // namespace

bool same_volume(const Json& left, const Json& right) {
  return base::same(with_defaults(left), with_defaults(right));
}

}  // namespace injector::core
