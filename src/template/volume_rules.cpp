#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

#include "template/quantity.h"
#include "template/rules.h"
#include "template/text_format.h"

namespace injector::templates {
namespace {

using base::Json;
using Names = std::set<std::string, std::less<>>;

bool starts_with(std::string_view text, std::string_view start) {
  return text.rfind(start, 0) == 0;
}

bool is_list(const Json& object, std::string_view field) {
  const Json* list = base::find(object, field);
  return list != nullptr && list->is_array() && !list->empty();
}

void check_size_limit(const Json& empty_dir, const Place& place, Findings& findings) {
  const Json* limit = base::find(empty_dir, "sizeLimit");
  const auto size = limit == nullptr ? std::nullopt : read_quantity(*limit);
  if (size && size->thousandths < 0) {
    findings.problem(place.member("sizeLimit"), "is negative");
  }
}

// Files of the Pod's own values.
void check_downward(const Json& source, const Place& place, Findings& findings) {
  each_item(source, "items", place, [&](const Json& item, const Place& where) {
    if (const Json* reference = base::find(item, "resourceFieldRef")) {
      check_divisor(*reference, where.member("resourceFieldRef"), findings);
    }
  });
}

void check_projected_path(std::string_view path, const Place& place, Names& paths,
                          Findings& findings) {
  if (!path.empty() && !paths.emplace(path).second) {
    findings.problem(place, fmt::format("{} is there twice", quoted(path)));
  }
}

void check_projection(const Json& source, const Place& place, Names& paths, Findings& findings) {
  for (const char* kind : {"secret", "configMap", "downwardAPI"}) {
    if (const Json* files = base::find(source, kind)) {
      each_item(*files, "items", place.member(kind), [&](const Json& item, const Place& where) {
        check_projected_path(text_at(item, "path"), where.member("path"), paths, findings);
      });
    }
  }
  if (const Json* downward = base::find(source, "downwardAPI")) {
    check_downward(*downward, place.member("downwardAPI"), findings);
  }
  if (const Json* bundle = base::find(source, "clusterTrustBundle")) {
    const Place where = place.member("clusterTrustBundle");
    check_projected_path(text_at(*bundle, "path"), where.member("path"), paths, findings);
    if (base::find(*bundle, "labelSelector") != nullptr && text_at(*bundle, "signerName").empty()) {
      findings.problem(where.member("labelSelector"), "needs signerName beside it");
    }
  }
}

void check_pod_certificate(const Json& source, const Place& place, Findings& findings) {
  const Json* certificate = base::find(source, "podCertificate");
  if (certificate != nullptr && text_at(*certificate, "credentialBundlePath").empty() &&
      text_at(*certificate, "keyPath").empty() &&
      text_at(*certificate, "certificateChainPath").empty()) {
    findings.problem(place.member("podCertificate"),
                     "needs credentialBundlePath, keyPath or certificateChainPath");
  }
}

void check_projected(const Json& projected, const Place& place, Findings& findings) {
  Names paths;
  each_item(projected, "sources", place, [&](const Json& source, const Place& where) {
    check_projection(source, where, paths, findings);
    check_pod_certificate(source, where, findings);
    if (source.empty()) {
      findings.warning(where, "is empty: it adds no file");
    }
  });
}

// Claims.

void check_access_modes(const Json& spec, const Place& place, Findings& findings) {
  const Json* modes = base::find(spec, "accessModes");
  if (modes == nullptr || !modes->is_array() || modes->size() < 2) {
    return;
  }
  if (std::find(modes->begin(), modes->end(), Json("ReadWriteOncePod")) != modes->end()) {
    findings.problem(place.member("accessModes"),
                     "have ReadWriteOncePod, which cannot be there with other modes");
  }
}

void check_storage(const Json& spec, const Place& place, Findings& findings) {
  const Place where = place.member("resources").member("requests").member("storage");
  const Json* storage = base::find(spec, "resources", "requests", "storage");
  if (storage == nullptr) {
    findings.problem(where, "missing");
    return;
  }
  const auto size = read_quantity(*storage);
  if (size && size->thousandths <= 0) {
    findings.problem(where, "must be greater than zero");
  }
}

void check_data_source(const Json& spec, const char* field, const Place& place,
                       Findings& findings) {
  const Json* source = base::find(spec, field);
  const std::string_view kind = source == nullptr ? "" : text_at(*source, "kind");
  if (!kind.empty() && text_at(*source, "apiGroup").empty() && kind != "PersistentVolumeClaim") {
    findings.problem(place.member(field).member("kind"),
                     "is " + quoted(kind) + ", which needs apiGroup beside it");
  }
}

void check_ephemeral(const Json& ephemeral, const Place& place, Findings& findings) {
  const Json* spec = base::find(ephemeral, "volumeClaimTemplate", "spec");
  if (spec == nullptr || !spec->is_object()) {
    return;
  }
  const Place where = place.member("volumeClaimTemplate").member("spec");
  check_access_modes(*spec, where, findings);
  check_storage(*spec, where, findings);
  check_data_source(*spec, "dataSource", where, findings);
  check_data_source(*spec, "dataSourceRef", where, findings);
}

// Network and cloud.

void check_iscsi(const Json& iscsi, const Place& place, Findings& findings) {
  const bool chap =
      is_flag(iscsi, "chapAuthDiscovery", true) || is_flag(iscsi, "chapAuthSession", true);
  if (chap && base::find(iscsi, "secretRef") == nullptr) {
    findings.problem(place.member("secretRef"), "missing: CHAP needs it");
  }
}

void check_fc(const Json& fc, const Place& place, Findings& findings) {
  const bool names = is_list(fc, "targetWWNs");
  if (names == is_list(fc, "wwids")) {
    findings.problem(place, "needs either targetWWNs or wwids");
  } else if (names && base::find(fc, "lun") == nullptr) {
    findings.problem(place.member("lun"), "missing: targetWWNs need it");
  }
}

void check_azure_disk(const Json& disk, const Place& place, Findings& findings) {
  const std::string_view uri = text_at(disk, "diskURI");
  const std::string_view start =
      text_at(disk, "kind") == "Managed" ? "/subscriptions/" : "https://";
  if (!uri.empty() && !starts_with(uri, start)) {
    findings.problem(place.member("diskURI"), fmt::format("{} does not start with {}, as a disk of "
                                                          "this kind does",
                                                          quoted(uri), start));
  }
}

void check_flex_volume(const Json& flex, const Place& place, Findings& findings) {
  const Json* options = base::find(flex, "options");
  if (options == nullptr || !options->is_object()) {
    return;
  }
  for (const auto& option : options->items()) {
    const std::string domain = "." + option.key().substr(0, option.key().find('/'));
    const bool reserved = option.key().find('/') != std::string::npos &&
                          (domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io"));
    if (reserved) {
      findings.problem(place.member("options").member(option.key()),
                       "is reserved: use a key outside kubernetes.io and k8s.io");
    }
  }
}

void check_flocker(const Json& flocker, const Place& place, Findings& findings) {
  if (text_at(flocker, "datasetName").find('/') != std::string_view::npos) {
    findings.problem(place.member("datasetName"), "contains /");
  }
}

struct SourceRule {
  const char* source;
  void (*check)(const Json&, const Place&, Findings&);
};

constexpr SourceRule kSourceRules[] = {  // NOLINT(modernize-avoid-c-arrays)
    {"emptyDir", check_size_limit},  {"downwardAPI", check_downward},
    {"projected", check_projected},  {"ephemeral", check_ephemeral},
    {"iscsi", check_iscsi},          {"fc", check_fc},
    {"azureDisk", check_azure_disk}, {"flexVolume", check_flex_volume},
    {"flocker", check_flocker}};

void check_iscsi_name(const Json& volume, const Place& place, Findings& findings) {
  constexpr std::size_t kMaxName = 64;
  const Json* iscsi = base::find(volume, "iscsi");
  if (iscsi == nullptr || text_at(*iscsi, "initiatorName").empty()) {
    return;
  }
  const std::size_t size =
      text_at(volume, "name").size() + text_at(*iscsi, "targetPortal").size() + 1;
  if (size > kMaxName) {
    findings.problem(place.member("name"),
                     "is too long: with initiatorName, name and targetPortal may have 63 "
                     "characters together");
  }
}

}  // namespace

void check_volumes(const Json& root, Findings& findings) {
  Names names;
  each_item(root, "volumes", {}, [&](const Json& volume, const Place& place) {
    const std::string_view name = text_at(volume, "name");
    if (!name.empty() && !names.emplace(name).second) {
      findings.problem(place.member("name"), fmt::format("{} is there twice", quoted(name)));
    }
    check_iscsi_name(volume, place, findings);
    for (const SourceRule& rule : kSourceRules) {
      if (const Json* source = base::find(volume, rule.source)) {
        rule.check(*source, place.member(rule.source), findings);
      }
    }
  });
}

void check_pull_secrets(const Json& root, Findings& findings) {
  Names names;
  each_item(root, "imagePullSecrets", {}, [&](const Json& secret, const Place& place) {
    const std::string_view name = text_at(secret, "name");
    if (name.empty()) {
      findings.warning(place, "has no name: it has no effect");
    } else if (!names.emplace(name).second) {
      findings.warning(place.member("name"), fmt::format("{} is there twice", quoted(name)));
    }
  });
}

}  // namespace injector::templates
