// What kubectl makes of a stream, by a YAML reader that is not ours (yaml-cpp): the stream is cut
// at lines of "---", and of each piece the first document counts. A stream that begins with a brace
// is JSON to its end.

#pragma once

#include <string>
#include <vector>

namespace injector::cli::tests {

/// One text per object, which is the same for objects that are the same: items of Lists one by one,
/// keys sorted, scalars as they are read. It begins with "kind/name ". Throws on malformed text.
[[nodiscard]] std::vector<std::string> objects_by_kubectl(const std::string& stream);

/// The same by the rules of YAML alone.
[[nodiscard]] std::vector<std::string> objects_by_yaml(const std::string& stream);

}  // namespace injector::cli::tests
