#include "cli/decide.h"

#include <utility>

#include <fmt/format.h>

#include "core/decide.h"

namespace injector::cli {
namespace {

constexpr const char* kDefaultNamespace = "default";

const core::MetaFacts* namespace_of(const base::Json& object, const DecisionContext& context) {
  const std::string_view name = base::text_of(base::find(object, "metadata", "namespace"));
  const auto found = context.namespaces.find(name.empty() ? kDefaultNamespace : std::string(name));
  return found == context.namespaces.end() ? nullptr : &found->second;
}

}  // namespace

base::Result<std::optional<DecidedObject>> decide_object(const base::Json& object,
                                                         const DecisionContext& context) {
  const auto path = core::pod_path(object);
  if (!path) {
    return std::optional<DecidedObject>();
  }
  const base::Json* pod = core::pod_at(object, *path);
  if (pod == nullptr) {
    return base::invalid(fmt::format("{}: missing", path->dotted));
  }
  auto decided = core::decide({object, *path, *pod}, namespace_of(object, context), context.tpl,
                              context.policy);
  if (!decided) {
    return std::move(decided).error();
  }
  return std::optional<DecidedObject>(
      DecidedObject{*path, std::move(decided.value().facts), std::move(decided.value().decision)});
}

}  // namespace injector::cli
