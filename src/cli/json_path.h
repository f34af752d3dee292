// kubectl's JSONPath templates, the part that people use:
//
//   {.pods[*].name}            fields, all elements
//   {.pods[0]}, {.pods[-1]}    one element, from the end as well
//   {.labels['app.io/x']}      a field of any name; a backslash escapes a dot in .labels.app\.io/x
//   {range .pods[*]}{.name}{"\n"}{end}
//   text outside of braces, and {"text"} inside, as they are
//
// Several values are printed with a space between; what is not there is nothing. Filters, slices,
// unions and recursive descent are not supported, and parsing says so.
//
// Pure; any thread.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace injector::cli {

class JsonPath {
 public:
  /// An Error names the piece that is not understood.
  [[nodiscard]] static base::Result<JsonPath> parse(std::string_view text);

  /// Texts as they are, other values as JSON.
  [[nodiscard]] std::string print(const base::Json& document) const;

 private:
  // One step from values to values.
  struct Step {
    enum class Kind { Field, Index, All };

    Kind kind = Kind::Field;
    std::string field{};
    int index = 0;
  };

  // A piece of the template.
  struct Piece {
    enum class Kind { Text, Values, Range };

    Kind kind = Kind::Text;
    std::string text{};
    std::vector<Step> steps{};
    std::vector<Piece> body{};  // Of a Range.
  };

  class Parser;

  static void walk(const base::Json& value, const std::vector<Step>& steps, std::size_t at,
                   std::vector<const base::Json*>& found);
  static void print(const std::vector<Piece>& pieces, const base::Json& value, std::string& out);

  std::vector<Piece> pieces_;
};

}  // namespace injector::cli
