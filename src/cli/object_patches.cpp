#include "cli/object_patches.h"

#include "base/json_text.h"
#include "core/render.h"
#include "core/workload.h"
#include "patch/json_patch.h"
#include "patch/merge_patch.h"
#include "patch/schema.h"

namespace injector::cli {
namespace {

using base::Json;

// Of a kind whose lists have merge keys; a kind of another API group may share the name.
const patch::Schema* schema_of(const Json& object) {
  const std::string_view version = base::text_of(base::find(object, "apiVersion"));
  const std::string_view kind = base::text_of(base::find(object, "kind"));
  const bool built_in = core::pod_path(version, kind).has_value() ||
                        (kind == "PodTemplate" && version.find('/') == std::string_view::npos);
  return built_in ? patch::schema_for_kind(kind) : nullptr;
}

}  // namespace

base::Result<Json> strategic_patch_of(const Json& before, const ObjectChange& change) {
  if (!change.after) {
    return Json::object();
  }
  if (schema_of(before) == nullptr) {
    return patch::diff_merge_patch(before, *change.after);
  }
  return core::strategic_patch(before, *change.after, base::text_of(base::find(before, "kind")));
}

base::Result<Json> json_patch_of(const Json& before, const ObjectChange& change) {
  if (!change.after) {
    return Json::array();
  }
  if (!change.json_patch.empty()) {
    return base::read_json(change.json_patch);
  }
  return patch::diff_json_patch(before, *change.after, schema_of(before));
}

}  // namespace injector::cli
