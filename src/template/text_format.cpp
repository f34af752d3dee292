#include "template/text_format.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/json.h"

namespace injector::templates {
namespace {

constexpr std::size_t kLabelLength = 63;
constexpr std::size_t kSubdomainLength = 253;
constexpr std::size_t kPortNameLength = 15;
constexpr std::size_t kQuotedLength = 100;

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}

bool is_lower_alphanumeric(char c) noexcept {
  return is_digit(c) || is_lower(c);
}

bool is_alphanumeric(char c) noexcept {
  return is_lower_alphanumeric(c) || (c >= 'A' && c <= 'Z');
}

bool is_dns_character(char c) noexcept {
  return is_lower_alphanumeric(c) || c == '-';
}

bool is_name_character(char c) noexcept {
  return is_alphanumeric(c) || c == '-' || c == '_' || c == '.';
}

bool is_header_character(char c) noexcept {
  return is_alphanumeric(c) || c == '-';
}

bool is_env_character(char c) noexcept {
  return c >= ' ' && c <= '~' && c != '=';
}

template <class Predicate>
bool all(std::string_view text, Predicate predicate) noexcept {
  return std::all_of(text.begin(), text.end(), predicate);
}

template <class Predicate>
bool is_word(std::string_view text, Predicate is_inner) noexcept {
  return !text.empty() && is_alphanumeric(text.front()) && is_alphanumeric(text.back()) &&
         all(text, is_inner);
}

bool starts_with(std::string_view text, std::string_view start) noexcept {
  return text.rfind(start, 0) == 0;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return result;
}

bool is_subdomain_prefix(std::string_view text) {
  std::string name(text);
  if (name.size() > 1 && name.back() == '-') {
    name.back() = 'a';
  }
  return is_subdomain(name);
}

bool is_csi_driver(std::string_view text) {
  return text.size() <= kLabelLength && is_subdomain(lower(text));
}

bool is_config_key(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kSubdomainLength && all(text, is_name_character) &&
         text != "." && !starts_with(text, "..");
}

bool is_port_name(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kPortNameLength && all(text, is_dns_character) &&
         std::any_of(text.begin(), text.end(), is_lower) &&
         text.find("--") == std::string_view::npos && text.front() != '-' && text.back() != '-';
}

bool has_backsteps(std::string_view path) noexcept {
  while (true) {
    const std::size_t slash = path.find('/');
    if (path.substr(0, slash) == "..") {
      return true;
    }
    if (slash == std::string_view::npos) {
      return false;
    }
    path.remove_prefix(slash + 1);
  }
}

bool is_relative(std::string_view path) noexcept {
  return !starts_with(path, "/") && !has_backsteps(path);
}

bool is_padded(std::string_view text) noexcept {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  return !text.empty() && (kBlanks.find(text.front()) != std::string_view::npos ||
                           kBlanks.find(text.back()) != std::string_view::npos);
}

// metadata.labels['KEY']
bool is_subscript(std::string_view path) {
  for (const std::string_view start : {"metadata.labels['", "metadata.annotations['"}) {
    if (starts_with(path, start) && path.size() >= start.size() + 2 &&
        path.substr(path.size() - 2) == "']") {
      const std::string_view key = path.substr(start.size(), path.size() - start.size() - 2);
      return start[sizeof("metadata.") - 1] == 'l' ? is_qualified_name(key)
                                                   : is_annotation_key(key);
    }
  }
  return false;
}

bool is_field_path(std::string_view path, std::span<const std::string_view> known) {
  return std::find(known.begin(), known.end(), path) != known.end() || is_subscript(path);
}

constexpr std::array<std::string_view, 10> kEnvPaths = {"metadata.name", "metadata.namespace",
                                                        "metadata.uid",  "spec.nodeName",
                                                        "spec.host",     "spec.serviceAccountName",
                                                        "status.hostIP", "status.hostIPs",
                                                        "status.podIP",  "status.podIPs"};
constexpr std::array<std::string_view, 5> kFilePaths = {"metadata.name", "metadata.namespace",
                                                        "metadata.uid", "metadata.labels",
                                                        "metadata.annotations"};

bool is_resource_path(std::string_view path) {
  constexpr std::array<std::string_view, 3> kNames = {"cpu", "memory", "ephemeral-storage"};
  const std::size_t dot = path.find('.');
  if (dot == std::string_view::npos ||
      (path.substr(0, dot) != "limits" && path.substr(0, dot) != "requests")) {
    return false;
  }
  const std::string_view name = path.substr(dot + 1);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         starts_with(name, "hugepages-");
}

bool is_iqn(std::string_view text) noexcept {
  constexpr std::string_view kDate = "0000-00.";
  if (text.size() < kDate.size()) {
    return false;
  }
  for (std::size_t i = 0; i < kDate.size(); ++i) {
    if (kDate[i] == '0' ? !is_digit(text[i]) : text[i] != kDate[i]) {
      return false;
    }
  }
  text.remove_prefix(kDate.size());
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view domain = text.substr(0, colon);
  const std::string_view name = text.substr(colon);
  return !domain.empty() &&
         all(domain, [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; }) &&
         name.size() > 1 && name.find_first_of(",;*&$| \t\r\n\f") == std::string_view::npos;
}

bool is_iscsi_name(std::string_view text) {
  constexpr std::size_t kStart = 4;
  constexpr std::size_t kEuiLength = 16;
  constexpr std::size_t kNaaLength = 32;
  const std::string_view rest = text.substr(std::min(kStart, text.size()));
  if (starts_with(text, "iqn.")) {
    return is_iqn(rest);
  }
  const std::size_t length = starts_with(text, "eui.")   ? kEuiLength
                             : starts_with(text, "naa.") ? kNaaLength
                                                         : 0;
  return length != 0 && rest.size() == length && all(rest, is_alphanumeric);
}

bool is_host_ports(std::string_view text) {
  while (true) {
    const std::size_t comma = text.find(',');
    if (text.substr(0, comma).find(':') == std::string_view::npos) {
      return false;
    }
    if (comma == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(comma + 1);
  }
}

struct Rule {
  Format format;
  bool (*holds)(std::string_view);
  std::string_view objection;
};

constexpr std::array<Rule, 18> kRules = {{
    {Format::DnsLabel, [](std::string_view text) { return is_dns_label(text); },
     "is not a name: use up to 63 lower-case letters, digits and dashes"},
    {Format::Subdomain, [](std::string_view text) { return is_subdomain(text); },
     "is not the name of an object: use lower-case letters, digits, dashes and dots"},
    {Format::SubdomainPrefix, is_subdomain_prefix,
     "is not the name of an object: use lower-case letters, digits, dashes and dots"},
    {Format::CsiDriver, is_csi_driver,
     "is not the name of a driver: use up to 63 letters, digits, dashes and dots"},
    {Format::ConfigKey, [](std::string_view text) { return is_config_key(text); },
     "is not a key of a ConfigMap or Secret: use up to 253 letters, digits, -, _ and ., and do "
     "not start with .."},
    {Format::EnvName,
     [](std::string_view text) { return !text.empty() && all(text, is_env_character); },
     "is not the name of a variable: use letters, digits and _"},
    {Format::PortName, [](std::string_view text) { return is_port_name(text); },
     "is not a port name: use up to 15 lower-case letters, digits and single dashes, at least one "
     "letter among them"},
    {Format::HeaderName,
     [](std::string_view text) { return !text.empty() && all(text, is_header_character); },
     "is not the name of a header: use letters, digits and dashes"},
    {Format::Unpadded, [](std::string_view text) { return !is_padded(text); },
     "has blanks around it: remove them"},
    {Format::NoBacksteps, [](std::string_view text) { return !has_backsteps(text); },
     "contains a .. element: write the path without it"},
    {Format::AbsolutePath, [](std::string_view text) { return starts_with(text, "/"); },
     "is not an absolute path: start it with /"},
    {Format::RelativePath, [](std::string_view text) { return is_relative(text); },
     "is not a relative path without .. elements"},
    {Format::FilePath,
     [](std::string_view text) { return is_relative(text) && !starts_with(text, ".."); },
     "is not a relative path without .. elements"},
    {Format::EnvFieldPath, [](std::string_view text) { return is_field_path(text, kEnvPaths); },
     "is not a field that a variable may have: use metadata.name, metadata.namespace, "
     "metadata.uid, metadata.labels['KEY'], metadata.annotations['KEY'], spec.nodeName, "
     "spec.serviceAccountName, status.hostIP, status.hostIPs, status.podIP or status.podIPs"},
    {Format::FileFieldPath, [](std::string_view text) { return is_field_path(text, kFilePaths); },
     "is not a field that a file may have: use metadata.name, metadata.namespace, metadata.uid, "
     "metadata.labels or metadata.annotations, or one entry of them: metadata.labels['KEY']"},
    {Format::ResourcePath, is_resource_path,
     "is not a resource of a container: use limits. or requests. and cpu, memory, "
     "ephemeral-storage or hugepages-SIZE"},
    {Format::IscsiName, is_iscsi_name,
     "is not a name of iSCSI: use iqn.YEAR-MONTH.DOMAIN:NAME, eui.ID or naa.ID"},
    {Format::HostPorts, is_host_ports, "is not a list of HOST:PORT, separated by commas"},
}};

}  // namespace

std::string objection(Format format, std::string_view text) {
  for (const Rule& rule : kRules) {
    if (rule.format == format) {
      return rule.holds(text) ? std::string() : std::string(rule.objection);
    }
  }
  return {};
}

std::string quoted(std::string_view text) {
  if (text.size() <= kQuotedLength) {
    return base::to_text(base::Json(std::string(text)));
  }
  return base::to_text(base::Json(std::string(text.substr(0, kQuotedLength)) + "..."));
}

bool is_dns_label(std::string_view text) noexcept {
  return text.size() <= kLabelLength && is_word(text, is_dns_character);
}

bool is_subdomain(std::string_view text) noexcept {
  if (text.size() > kSubdomainLength) {
    return false;
  }
  while (true) {
    const std::size_t dot = text.find('.');
    if (!is_word(text.substr(0, dot), is_dns_character)) {
      return false;
    }
    if (dot == std::string_view::npos) {
      return true;
    }
    text.remove_prefix(dot + 1);
  }
}

bool is_qualified_name(std::string_view text) noexcept {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    if (!is_subdomain(text.substr(0, slash))) {
      return false;
    }
    text.remove_prefix(slash + 1);
  }
  return text.size() <= kLabelLength && is_word(text, is_name_character);
}

bool is_annotation_key(std::string_view text) {
  return is_qualified_name(lower(text));
}

bool is_label_value(std::string_view text) noexcept {
  return text.empty() || (text.size() <= kLabelLength && is_word(text, is_name_character));
}

bool is_old_env_name(std::string_view text) noexcept {
  return is_config_key(text) && !is_digit(text.front());
}

}  // namespace injector::templates
