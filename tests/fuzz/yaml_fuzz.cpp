// Any bytes: reading ends in a value or an error; a value that is written reads back the same; the
// texts of a stream join to the stream.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/json.h"
#include "yaml/document_stream.h"
#include "yaml/yaml.h"

namespace {

namespace base = injector::base;
namespace yaml = injector::yaml;

void require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void check_round_trip(const std::string& text) {
  const auto first = yaml::read_yaml_with_marks(text);
  require(first.has_value() == yaml::read_yaml(text).has_value());
  if (!first) {
    require(first.error().message.starts_with("line "));
    return;
  }
  for (const auto& [pointer, node] : first.value().nodes) {
    require(node.value_offset <= text.size() && node.key_offset <= text.size());
  }
  const std::string written = yaml::write_yaml(first.value().value);
  const auto second = yaml::read_yaml(written);
  require(second.has_value());
  require(injector::base::same(second.value().value, first.value().value));
}

void check_stream(const std::string& text) {
  std::istringstream in(text);
  yaml::DocumentStream stream(in);
  std::string joined;
  while (const auto document = stream.next().value()) {
    require(!document->text.empty());
    joined += document->text;
  }
  require(joined == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  check_round_trip(text);
  check_stream(text);
  return 0;
}
