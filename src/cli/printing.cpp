#include "cli/printing.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "yaml/yaml.h"

namespace injector::cli {
namespace {

using base::Json;

constexpr std::string_view kJsonPath = "jsonpath=";

// Numbers first, then texts, then nothing.
std::tuple<int, double, std::string> sort_key(const std::string& text) {
  if (text.empty()) {
    return {2, 0, {}};
  }
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::tuple(0, number, std::string()) : std::tuple(1, 0.0, text);
}

}  // namespace

base::Result<OutputSpec> parse_output(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, ListFormat>, 5> kFormats = {
      {{"table", ListFormat::Table},
       {"wide", ListFormat::Wide},
       {"json", ListFormat::Json},
       {"yaml", ListFormat::Yaml},
       {"name", ListFormat::Name}}};
  for (const auto& [name, format] : kFormats) {
    if (name == text) {
      return OutputSpec{format};
    }
  }
  if (!text.starts_with(kJsonPath)) {
    return base::invalid(fmt::format(
        "-o {}: it is none of table, wide, json, yaml, name and jsonpath=TEMPLATE", text));
  }
  auto path = JsonPath::parse(text.substr(kJsonPath.size()));
  if (!path) {
    return base::annotate(std::move(path).error(), "-o jsonpath");
  }
  return OutputSpec{ListFormat::JsonPath, std::move(path).value()};
}

void write_document(const Json& document, const OutputSpec& output, std::ostream& out) {
  if (output.path) {
    out << output.path->print(document);
  } else if (output.format == ListFormat::Yaml) {
    out << yaml::write_yaml(document);
  } else {
    out << base::write_json_pretty(document) << "\n";
  }
}

void TextTable::write(Headers headers, std::ostream& out) const {
  std::vector<std::size_t> widths;
  for (const std::string& header : headers_) {
    widths.push_back(header.size());
  }
  for (const Row& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  const auto write_row = [&](const Row& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    out << line << "\n";
  };
  if (headers == Headers::Shown) {
    write_row(headers_);
  }
  std::for_each(rows_.begin(), rows_.end(), write_row);
}

base::Result<std::vector<std::size_t>> sorted_order(const std::string& path,
                                                    const std::vector<Json>& rows) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (path.empty()) {
    return order;
  }
  const std::string text = path.starts_with('{')   ? path
                           : path.starts_with('.') ? "{" + path + "}"
                                                   : "{." + path + "}";
  auto parsed = JsonPath::parse(text);
  if (!parsed) {
    return base::annotate(std::move(parsed).error(), "--sort-by");
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return sort_key(parsed.value().print(rows[left])) < sort_key(parsed.value().print(rows[right]));
  });
  return order;
}

base::Result<void> sort_by(const std::string& path, std::vector<Json>& rows) {
  INJ_ASSIGN(const auto order, sorted_order(path, rows));
  std::vector<Json> sorted;
  for (const std::size_t index : order) {
    sorted.push_back(std::move(rows[index]));
  }
  rows = std::move(sorted);
  return {};
}

}  // namespace injector::cli
