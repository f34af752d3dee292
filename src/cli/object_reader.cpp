#include "cli/object_reader.h"

#include <utility>

#include <fmt/format.h>

#include "base/result.h"
#include "cli/documents.h"

namespace injector::cli {
namespace {

using base::Json;

void add_objects(const Json& value, std::vector<Json>& into) {
  if (!is_list(value)) {
    if (!value.is_null()) {
      into.push_back(value);
    }
    return;
  }
  for (const Json& item : value.at("items")) {
    into.push_back(complete_item(value, item));
  }
}

void read_file(const std::string& file, const Streams& streams, ReadObjects& into) {
  const auto fail = [&](const base::Error& error) {
    into.failures.push_back(fmt::format("{}: {}", display_name(file), error.message));
  };
  const auto visit = [&](const Document& document) -> base::Result<void> {
    add_objects(document.source.value, into.objects);
    return {};
  };
  if (auto done = visit_documents(file, visit, streams, fail); !done) {
    fail(done.error());
  }
}

}  // namespace

ReadObjects read_objects(const std::vector<std::string>& files, Recursion recursion,
                         const Streams& streams) {
  ReadObjects result;
  for (const std::string& argument : files) {
    const auto expanded = expand_inputs({argument}, recursion);
    if (!expanded) {
      result.failures.push_back(expanded.error().message);
      continue;
    }
    for (const std::string& file : expanded.value()) {
      read_file(file, streams, result);
    }
  }
  return result;
}

}  // namespace injector::cli
