// kubectl's output formats for lists: aligned tables, and documents as JSON, YAML or by a JSONPath.
// Pure but for the streams; any thread.

#pragma once

#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cli/json_path.h"

namespace injector::cli {

enum class ListFormat { Table, Wide, Json, Yaml, Name, JsonPath };

/// What -o says.
struct OutputSpec {
  ListFormat format = ListFormat::Table;
  std::optional<JsonPath> path{};  // Of a JsonPath.

  [[nodiscard]] bool is_table() const noexcept {
    return format == ListFormat::Table || format == ListFormat::Wide;
  }
};

/// How a command lists: -o, --no-headers, --sort-by.
struct ListView {
  OutputSpec output{};
  bool headers = true;
  std::string sort_by{};  // Empty: as they come.
};

/// "table", "wide", "json", "yaml", "name", "jsonpath=TEMPLATE".
[[nodiscard]] base::Result<OutputSpec> parse_output(std::string_view text);

/// As `output` says, one that is a document: JSON, YAML or JSONPath.
void write_document(const base::Json& document, const OutputSpec& output, std::ostream& out);

/// Lines of columns, each as wide as its longest text.
class TextTable {
 public:
  using Row = std::vector<std::string>;

  explicit TextTable(Row headers)
      : headers_(std::move(headers)) {}

  void add(Row row) { rows_.push_back(std::move(row)); }

  enum class Headers { Shown, Hidden };

  void write(Headers headers, std::ostream& out) const;

 private:
  Row headers_;
  std::vector<Row> rows_;
};

/// Sorts rows by the value at `path`, as --sort-by gives it: "missing", ".missing", "{.missing}".
/// Numbers by size, before texts; rows without the value come last. Keeps the order of equals.
[[nodiscard]] base::Result<void> sort_by(const std::string& path, std::vector<base::Json>& rows);

/// The same as an order: which of the rows comes first, second and so on. An empty path keeps it.
[[nodiscard]] base::Result<std::vector<std::size_t>> sorted_order(
    const std::string& path, const std::vector<base::Json>& rows);

}  // namespace injector::cli
