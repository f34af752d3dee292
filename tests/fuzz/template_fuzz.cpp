// Any bytes as a template: a template or problems, never both, never neither.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "template/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  for (const bool allow_unknown : {false, true}) {
    const auto report = injector::templates::check_template_file(text, {allow_unknown});
    if (report.value.has_value() != report.problems.empty()) {
      std::abort();
    }
  }
  return 0;
}
