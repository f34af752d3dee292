// Two JSON documents, one a line: every diff and apply ends in a value or an error, and the JSON
// Patch between two documents turns one into the other.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/json_text.h"
#include "patch/json_patch.h"
#include "patch/merge_patch.h"
#include "patch/schema.h"
#include "patch/strategic_merge.h"

namespace {

namespace base = injector::base;
namespace patch = injector::patch;
using injector::base::Json;

void require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

void check(const Json& one, const Json& two) {
  const patch::Schema& schema = *patch::schema_for_kind("Pod");
  static_cast<void>(patch::two_way_merge_patch(one, two, schema));
  static_cast<void>(patch::apply_strategic(one, two, schema));
  static_cast<void>(patch::apply_json_patch(one, two));
  static_cast<void>(patch::apply_merge_patch(one, two));
  for (const patch::Schema* keys : {&schema, static_cast<const patch::Schema*>(nullptr)}) {
    const auto operations = patch::diff_json_patch(one, two, keys);
    if (operations) {
      const auto applied = patch::apply_json_patch(one, operations.value());
      require(applied.has_value());
      require(injector::base::same(applied.value(), two));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const std::size_t newline = text.find('\n');
  if (newline == std::string::npos) {
    return 0;
  }
  const auto one = base::read_json(std::string_view(text).substr(0, newline));
  const auto two = base::read_json(std::string_view(text).substr(newline + 1));
  if (one && two) {
    check(one.value(), two.value());
  }
  return 0;
}
