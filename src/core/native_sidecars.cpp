#include "core/native_sidecars.h"

namespace injector::core {

std::vector<std::string> native_sidecars(const Template& tpl) {
  std::vector<std::string> names;
  for (const Piece& container : tpl.init_containers) {
    if (base::text_of(base::find(container.value, "restartPolicy")) == "Always") {
      names.push_back(container.name);
    }
  }
  return names;
}

bool needs_native_sidecars(const Template& tpl) {
  return !native_sidecars(tpl).empty();
}

}  // namespace injector::core
