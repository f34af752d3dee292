// The objects of a stream of documents, and the rewriting of those documents.
//
// A command says what becomes of one object; this walks files, documents and the items of Lists,
// edits the text where it can, prints anew where it must, and writes nothing until all went well.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/documents.h"
#include "cli/inputs.h"
#include "cli/streams.h"

namespace injector::cli {

enum class OutputFormat {
  AsInput,  // YAML stays YAML, JSON stays JSON.
  Yaml,
  Json,
  Diff,
  Strategic,
  JsonPatch,
};

[[nodiscard]] std::optional<OutputFormat> parse_output_format(std::string_view text);

/// What a command makes of one object.
struct ObjectChange {
  std::optional<base::Json> after;    // Unset: it stays as it is.
  std::optional<base::Json> through;  // Where something is replaced: the object without it.
  std::string report;                 // "injected (envoy)"; empty: not worth a line.
  std::vector<std::string> warnings;
  std::string json_patch;  // RFC 6902 from before to after, as text; empty: let it be computed.
  bool handled = false;    // An object of a kind that we know; the others pass through.
  bool unmet = false;      // It asked for the sidecar and does not get it.
  bool refused = false;    // It must not be passed on: the run fails and writes nothing.
};

using ObjectCommand = std::function<base::Result<ObjectChange>(const base::Json& object)>;

struct RewriteOptions {
  std::vector<std::string> files;
  Recursion recursion = Recursion::No;
  OutputFormat output = OutputFormat::AsInput;
  bool in_place = false;
  bool allow_reformat = false;  // With in_place: documents may lose their comments.
  bool strict = false;
  bool quiet = false;  // Only warnings and failures on `err`.
};

/// Runs `command` over every object and writes the result, all of it or, after any failure,
/// nothing. Returns the exit code.
[[nodiscard]] int rewrite_objects(const RewriteOptions& options, const ObjectCommand& command,
                                  const Streams& streams);

using ObjectVisitor = std::function<base::Result<void>(const base::Json& object)>;

/// Calls `visit` with every object of the files, items of Lists one by one; the first failure ends
/// it and names the place. Warnings of the YAML itself go to `err`.
[[nodiscard]] base::Result<void> visit_objects(const std::vector<std::string>& files,
                                               const ObjectVisitor& visit, const Streams& streams);

}  // namespace injector::cli
