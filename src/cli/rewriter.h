// Walks files, documents and the items of Lists, has a command change the objects, and writes the
// result: to standard output, or back to the files. Nothing is written until all went well.
//
// Not thread-safe: one command, one rewriter.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/document_text.h"
#include "cli/file_replacer.h"
#include "cli/object_report.h"
#include "cli/objects.h"
#include "cli/progress.h"
#include "cli/spool.h"
#include "cli/stream_joiner.h"

namespace injector::cli {

class Rewriter {
 public:
  Rewriter(const RewriteOptions& options, const ObjectCommand& command, const Streams& streams);

  /// The exit code.
  [[nodiscard]] int run();

 private:
  // What a document becomes, and what its objects had to say.
  struct DocumentChange {
    std::optional<NewValue> value;  // Unset: no object changed.
    std::vector<std::pair<base::Json, ObjectChange>> objects;
  };

  [[nodiscard]] int failed(const base::Error& error);
  [[nodiscard]] int refused();
  [[nodiscard]] int finish();

  [[nodiscard]] base::Result<void> rewrite_file(const std::string& file);
  [[nodiscard]] base::Result<void> rewrite_in_place(const std::string& file);
  [[nodiscard]] base::Result<void> rewrite_documents();
  [[nodiscard]] base::Result<void> rewrite_document(const Document& document);
  [[nodiscard]] base::Result<void> write_result(const Document& document,
                                                const DocumentChange& change);

  [[nodiscard]] base::Result<DocumentChange> change_document(const Document& document);
  [[nodiscard]] base::Result<void> change_list(const Document& document, DocumentChange& into);
  [[nodiscard]] base::Result<const ObjectChange*> change_object(const base::Json& object,
                                                                const Document& document,
                                                                DocumentChange& into);
  void report(const base::Json& object, const ObjectChange& change);
  [[nodiscard]] std::string place_of(const base::Json& object) const;

  [[nodiscard]] base::Result<void> write_document(const Document& document,
                                                  const DocumentChange& change);
  [[nodiscard]] base::Result<void> write_json(const Document& document,
                                              const DocumentChange& change);
  [[nodiscard]] base::Result<std::string> yaml_text(const Document& document,
                                                    const NewValue& value);
  [[nodiscard]] base::Result<void> write_diff(const Document& document,
                                              const DocumentChange& change);
  [[nodiscard]] base::Result<void> write_patches(const DocumentChange& change);
  void write(std::string_view text);

  const RewriteOptions& options_;  // Not owned, nor are the next two.
  const ObjectCommand& command_;
  const Streams& streams_;
  Progress progress_;
  ObjectReport report_;
  Spool spool_;
  FileReplacer replacer_;
  StreamJoiner joiner_{StreamJoiner::Inputs::One};
  JsonListWriter list_;
  bool several_inputs_ = false;
  std::string file_;  // The one that is being read.
  std::size_t removed_lines_ = 0;
  std::size_t added_lines_ = 0;
  bool file_has_output_ = false;
  bool unmet_ = false;
  std::size_t refused_ = 0;
};

}  // namespace injector::cli
