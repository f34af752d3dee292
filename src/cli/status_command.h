// status: how the Pods of a cluster stand to the template.

#pragma once

#include <stop_token>
#include <string>

#include "cli/cluster_template.h"
#include "cli/status_printer.h"
#include "cli/streams.h"
#include "core/policy.h"
#include "kube/rest_client.h"

namespace injector::cli {

struct StatusOptions {
  std::string name_space;  // Empty: all.
  std::string selector;    // Of labels, as kubectl's -l; empty: all Pods.
  StatusView view;
  bool watch = false;      // Go on, and print what changes.
  bool exit_code = false;  // A Pod that runs without the sidecar it asked for makes it kUnmet.
  TemplateChoice tpl;
  core::Policy policy;
};

/// Only Pods must be readable: what else may not be read is noted. A watch ends with `stop`, or
/// with a failure once the server can no longer be asked.
[[nodiscard]] int run_status(const StatusOptions& options, kube::RestClient& client,
                             const Streams& streams, const std::stop_token& stop = {});

}  // namespace injector::cli
