// Any YAML: where a member can be added in place, the text means it, and taking it out again gives
// the old bytes back.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "yaml/edit.h"
#include "yaml/yaml.h"

namespace {

namespace base = injector::base;
namespace yaml = injector::yaml;
using injector::base::Json;

void require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const auto source = yaml::read_yaml_with_marks(text);
  if (!source || !source.value().value.is_object() || source.value().value.contains("fuzz/added")) {
    return 0;
  }
  Json after = source.value().value;
  after["fuzz/added"] = Json::array({Json::object({{"name", "x"}})});
  const auto edited = yaml::edit_yaml(text, source.value(), after);
  if (!edited) {
    return 0;
  }
  const auto again = yaml::read_yaml_with_marks(*edited);
  require(again.has_value());
  require(injector::base::same(again.value().value, after));
  const auto back = yaml::edit_yaml(*edited, again.value(), source.value().value);
  require(!back || *back == text);
  return 0;
}
