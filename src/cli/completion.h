// Completion of the command line: one implementation for bash, zsh and fish, whose scripts only ask
// `envoy-initializer __complete WORD...` and print what it answers, as cobra's programs do it.

#pragma once

#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"
#include "kube/config.h"

namespace injector::cli {

/// What a line's own flags say about the cluster that it is for.
struct ClusterWords {
  std::string kubeconfig;
  std::string context;
  std::string master;
  std::string name_space;
};

/// Names that only a kubeconfig or a cluster knows. Nothing where they cannot be had in time.
class NameSource {
 public:
  virtual ~NameSource() = default;

  [[nodiscard]] virtual std::vector<std::string> contexts(const ClusterWords& words) = 0;
  [[nodiscard]] virtual std::vector<std::string> namespaces(const ClusterWords& words) = 0;
  /// Of objects of `kind` ("deployment") in the line's namespace.
  [[nodiscard]] virtual std::vector<std::string> objects(const std::string& kind,
                                                         const ClusterWords& words) = 0;
};

struct Candidate {
  std::string text;
  std::string description;
};

/// cobra's numbers; the shells' scripts, and kubectl's, know them.
enum Directive : unsigned {
  kFilesAsWell = 0,
  kNoSpace = 2,
  kNoFiles = 4,
  kOnlyDirectories = 16,
};

struct Completion {
  std::vector<Candidate> candidates;  // All begin with the last word, or with its value.
  unsigned directive = kNoFiles;
};

/// `words` are those behind the program's name up to the one to complete, which may be empty.
/// Candidates of "--flag=val" are the values alone.
[[nodiscard]] Completion complete(const CommandSpec& root, const std::vector<std::string>& words,
                                  NameSource& names);

/// One line per candidate, text and description with a tab between, and ":DIRECTIVE" at the end.
void write_completion(const Completion& completion, std::ostream& out);

enum class Shell { Bash, Zsh, Fish };

/// The script that teaches a shell to complete `program`.
[[nodiscard]] std::string completion_script(Shell shell, const std::string& program);

}  // namespace injector::cli
