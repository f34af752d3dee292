// The forms that Kubernetes demands of names, keys, values and paths. Pure; any thread.

#pragma once

#include <string>
#include <string_view>

namespace injector::templates {

enum class Format {
  Any,
  DnsLabel,         // web-1
  Subdomain,        // web.example
  SubdomainPrefix,  // The same; a final dash is tolerated.
  CsiDriver,        // A subdomain of at most 63 characters; capitals are tolerated.
  ConfigKey,        // A key of a ConfigMap or Secret.
  EnvName,
  PortName,
  HeaderName,
  Unpadded,       // No blanks around it.
  NoBacksteps,    // A path without a `..` element.
  AbsolutePath,   // /data
  RelativePath,   // a/b, without a `..` element.
  FilePath,       // A relative path that does not start with `..` either.
  EnvFieldPath,   // What a variable may take from its Pod.
  FileFieldPath,  // What a file may take from its Pod.
  ResourcePath,   // limits.cpu
  IscsiName,      // iqn.2001-04.com.example:disk
  HostPorts,      // host:1,host:2
};

/// What is wrong with `text`, to be put behind it: `is not a port name: use ...`. Empty if nothing
/// is.
[[nodiscard]] std::string objection(Format format, std::string_view text);

/// The text in quotes for a message, cut where it is long.
[[nodiscard]] std::string quoted(std::string_view text);

/// Lower-case letters, digits and dashes, at most 63: the name of a container or volume.
[[nodiscard]] bool is_dns_label(std::string_view text) noexcept;

/// Words of lower-case letters, digits and dashes, joined by dots; at most 253 characters.
[[nodiscard]] bool is_subdomain(std::string_view text) noexcept;

/// [prefix/]name, as keys of labels and names of resources are.
[[nodiscard]] bool is_qualified_name(std::string_view text) noexcept;

/// The same, but the case of the prefix does not matter.
[[nodiscard]] bool is_annotation_key(std::string_view text);

[[nodiscard]] bool is_label_value(std::string_view text) noexcept;

/// What servers before 1.32 take as the name of a variable.
[[nodiscard]] bool is_old_env_name(std::string_view text) noexcept;

}  // namespace injector::templates
