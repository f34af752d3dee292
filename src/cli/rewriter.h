// Walks files and their documents, has a command change the objects, and writes the result: to
// standard output, or back to the files. Nothing is written until all went well.
//
// Not thread-safe: one command, one rewriter.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/change_writer.h"
#include "cli/file_replacer.h"
#include "cli/object_report.h"
#include "cli/objects.h"
#include "cli/progress.h"
#include "cli/spool.h"

namespace injector::cli {

class Rewriter {
 public:
  Rewriter(const RewriteOptions& options, const ObjectCommand& command, const Streams& streams);

  /// The exit code.
  [[nodiscard]] int run();

 private:
  [[nodiscard]] base::Result<void> rewrite();
  [[nodiscard]] base::Result<void> print_files(const std::vector<std::string>& files);
  [[nodiscard]] base::Result<void> replace_files(const std::vector<std::string>& files);
  [[nodiscard]] base::Result<void> replace_file(const std::string& file);
  [[nodiscard]] base::Result<void> rewrite_documents(const std::string& file, ChangeWriter& writer);
  [[nodiscard]] base::Result<void> check_refused() const;
  [[nodiscard]] ChangeWriter::Sinks sinks();

  void report(const std::string& file, const base::Json& object, const ObjectChange& change);
  [[nodiscard]] std::string place_of(const std::string& file, const base::Json& object) const;
  [[nodiscard]] int failed(const base::Error& error);

  const RewriteOptions& options_;  // Not owned, nor are the next two.
  const ObjectCommand& command_;
  const Streams& streams_;
  Progress progress_;
  ObjectReport report_;
  Spool spool_;            // The result without --in-place,
  FileReplacer replacer_;  // and with it.
  bool several_inputs_ = false;
  bool unmet_ = false;
  std::size_t refused_ = 0;
};

}  // namespace injector::cli
