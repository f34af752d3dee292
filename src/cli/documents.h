// The documents of the files that -f names, read one after the other, and the objects in them.

#pragma once

#include <functional>
#include <istream>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "cli/streams.h"
#include "yaml/document_stream.h"
#include "yaml/yaml.h"

namespace injector::cli {

/// One document, read.
struct Document {
  yaml::RawDocument raw;
  yaml::YamlSource source;
};

using DocumentVisitor = std::function<base::Result<void>(const Document& document)>;
using UnreadableDocument = std::function<void(const base::Error& error)>;

/// Calls `visit` with every document of `file`; "-" is the standard input of `streams`. The first
/// failure ends it and names the line, except that with `skip` a document that cannot be read is
/// reported there and the next one is read. Warnings of the YAML itself go to `err`.
[[nodiscard]] base::Result<void> visit_documents(const std::string& file,
                                                 const DocumentVisitor& visit,
                                                 const Streams& streams,
                                                 const UnreadableDocument& skip = {});

/// The file's name, for people.
[[nodiscard]] std::string display_name(const std::string& file);

/// Kind List, or PodList and the like, whose items may leave out their kind and version.
[[nodiscard]] bool is_list(const base::Json& document);
[[nodiscard]] base::Json complete_item(const base::Json& list, const base::Json& item);

/// "deployment/web", for reports. A name that the server is still to generate ends in an asterisk.
[[nodiscard]] std::string object_title(const base::Json& object);

}  // namespace injector::cli
