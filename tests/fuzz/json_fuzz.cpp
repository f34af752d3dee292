// Any bytes: reading ends in a value or an error; a value that is written reads back the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/json_text.h"

namespace {

namespace base = injector::base;

void require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void check_reads_back(const injector::base::Json& value, const std::string& written) {
  const auto read = base::read_json(written);
  require(read.has_value());
  require(injector::base::same(read.value(), value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto value = base::read_json(text);
  if (value) {
    check_reads_back(value.value(), base::write_json(value.value()));
    check_reads_back(value.value(), base::write_json_pretty(value.value()));
  }
  return 0;
}
