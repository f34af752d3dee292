// How many CPUs this process may use, and how many files it may open.

#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>

namespace injector::http {

/// The CPUs that the scheduler and the control groups leave us; at least one. A limit of half a CPU
/// is one, one and a half are two.
[[nodiscard]] std::size_t available_cpus();

/// What the control groups named in `membership` (the text of /proc/self/cgroup) allow, whose files
/// are under `root`. Nothing: they do not say.
[[nodiscard]] std::optional<std::size_t> cgroup_cpus(std::string_view membership,
                                                     const std::filesystem::path& root);

/// Raises the soft limit on open files to the hard one; the limit then.
std::size_t raise_file_limit() noexcept;

}  // namespace injector::http
