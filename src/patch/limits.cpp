#include "patch/limits.h"

#include <string>

namespace injector::patch {

base::Result<void> check_depth(std::initializer_list<const base::Json*> documents) {
  for (const base::Json* document : documents) {
    if (base::deeper_than(*document, base::kMaxJsonDepth)) {
      return base::invalid("the document is nested deeper than " +
                           std::to_string(base::kMaxJsonDepth) + " levels");
    }
  }
  return {};
}

}  // namespace injector::patch
