// What status prints: a row per workload, or with --show-all a row per Pod, in kubectl's formats.
// Pure but for the streams; any thread.

#pragma once

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/printing.h"
#include "cli/status_report.h"

namespace injector::cli {

struct StatusView {
  OutputSpec output{};
  bool show_all = false;  // Pods, not their owners.
  bool headers = true;
  std::string sort_by{};  // Empty: by namespace and name.
};

/// A row per owner of Pods that ask: {"namespace", "owner", "asked", "injected", "outdated",
/// "missing", "pods"}, the last those that are outdated or missing.
[[nodiscard]] std::vector<base::Json> owner_rows(const StatusReport& report);

/// A row per Pod: {"namespace", "name", "owner", "state", "template"}.
[[nodiscard]] std::vector<base::Json> pod_rows(const StatusReport& report);

/// An Error: --sort-by is not understood; nothing was written then.
[[nodiscard]] base::Result<void> write_status(const StatusReport& report, const StatusView& view,
                                              std::ostream& out);

/// For --watch: the rows that are not as they were in `before`, without headers and summary.
/// `before` is by namespace and name, and is brought up to date.
void write_changes(const StatusReport& report, const StatusView& view,
                   std::map<std::string, base::Json>& before, std::ostream& out);

}  // namespace injector::cli
