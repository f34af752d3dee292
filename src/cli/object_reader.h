// All objects of some files at once, for commands that only report: what cannot be read is noted,
// and the rest is read all the same.

#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/inputs.h"
#include "cli/streams.h"

namespace injector::cli {

struct ReadObjects {
  std::vector<base::Json> objects;    // The items of Lists one by one.
  std::vector<std::string> failures;  // "web.yaml: document at line 7: ..."
};

/// `files` are what -f takes. Warnings of the YAML itself go to `err`.
[[nodiscard]] ReadObjects read_objects(const std::vector<std::string>& files, Recursion recursion,
                                       const Streams& streams);

}  // namespace injector::cli
