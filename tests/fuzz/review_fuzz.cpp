// Any bytes as an admission request: an answer, never a crash; a patch that is sent applies to the
// Pod that was sent.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <prometheus/registry.h>

#include "admission/admission.h"
#include "base/base64.h"
#include "base/json_text.h"
#include "patch/json_patch.h"
#include "template/store.h"

namespace {

namespace admission = injector::admission;
namespace base = injector::base;
namespace templates = injector::templates;
using injector::base::Json;

void require(bool claim) {
  if (!claim) {
    std::abort();
  }
}

struct Handler {
  Handler() {
    static_cast<void>(templates.update(templates::default_template_text(), "built-in template"));
  }

  injector::base::Logger log = injector::base::Logger::silent();
  templates::TemplateStore templates{log};
  prometheus::Registry registry;
  admission::AdmissionMetrics metrics{registry};
  admission::Admission admission{{templates}, metrics, log};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Handler kHandler;
  const std::string text(data, data + size);
  const admission::HttpReply reply = kHandler.admission.answer(text);
  if (reply.status != 200) {
    return 0;
  }
  const auto answer = base::read_json(reply.body);
  require(answer.has_value());
  const Json* patch = injector::base::find(answer.value(), "response", "patch");
  const auto review = base::read_json(text);
  const Json* pod = review ? injector::base::find(review.value(), "request", "object") : nullptr;
  if (patch == nullptr || pod == nullptr) {
    return 0;
  }
  const auto operations =
      base::read_json(injector::base::base64_decode(patch->get<std::string>()).value());
  require(operations.has_value());
  require(operations.value().is_array());
  return 0;
}
