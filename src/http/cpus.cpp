#include "http/cpus.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sched.h>
#include <string>
#include <sys/resource.h>
#include <thread>

namespace injector::http {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The rest of the line of `text` that begins with `prefix`.
std::optional<std::string> line_after(std::string_view text, std::string_view prefix) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(prefix)) {
      return std::string(line.substr(prefix.size()));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return std::nullopt;
}

std::optional<std::size_t> whole_cpus(double quota, double period) {
  if (quota <= 0 || period <= 0) {
    return std::nullopt;
  }
  const double share = quota / period;
  const auto whole = static_cast<std::size_t>(share);
  return std::max<std::size_t>(whole + (static_cast<double>(whole) < share ? 1 : 0), 1);
}

/// Of one group: "max 100000" or "50000 100000".
std::optional<std::size_t> quota_of(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period ? whole_cpus(quota, period) : std::nullopt;
}

std::optional<std::size_t> old_quota_of(const fs::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  return quota_file >> quota && period_file >> period ? whole_cpus(quota, period) : std::nullopt;
}

/// The least that the group and those around it allow. Inside a container the group's own path may
/// lead nowhere, and its files are the root's.
template <class Quota>
std::optional<std::size_t> least_quota(const fs::path& root, const fs::path& group, Quota quota) {
  std::optional<std::size_t> least = quota(root);
  fs::path place = root;
  for (const fs::path& part : group.relative_path()) {
    place /= part;
    if (const auto here = quota(place)) {
      least = std::min(least.value_or(*here), *here);
    }
  }
  return least;
}

std::size_t scheduled_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) {
    return std::max(std::thread::hardware_concurrency(), 1U);
  }
  return static_cast<std::size_t>(std::max(CPU_COUNT(&set), 1));
}

}  // namespace

std::optional<std::size_t> cgroup_cpus(std::string_view membership, const fs::path& root) {
  if (const auto group = line_after(membership, "0::")) {
    if (const auto cpus = least_quota(root, *group, quota_of)) {
      return cpus;
    }
  }
  return least_quota(root / "cpu", {}, old_quota_of);
}

std::size_t available_cpus() {
  const std::size_t scheduled = scheduled_cpus();
  const auto allowed = cgroup_cpus(text_of("/proc/self/cgroup"), "/sys/fs/cgroup");
  return std::min(scheduled, allowed.value_or(scheduled));
}

std::size_t raise_file_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return 0;
  }
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    limit = ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised : limit;
  }
  return limit.rlim_cur;
}

}  // namespace injector::http
