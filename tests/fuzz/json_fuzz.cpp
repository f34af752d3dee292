// Any bytes: reading ends in a value or an error; a value that is written reads back the same.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json.h"
#include "codec/json.h"

namespace {

namespace codec = injector::codec;

void require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void check_reads_back(const injector::base::Json& value, const std::string& written) {
  const auto read = codec::read_json(written);
  require(read.has_value());
  require(injector::base::same(read.value(), value));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto value = codec::read_json(text);
  if (value) {
    check_reads_back(value.value(), codec::write_json(value.value()));
    check_reads_back(value.value(), codec::write_json_pretty(value.value()));
  }
  return 0;
}
