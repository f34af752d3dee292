#include "cli/document_change.h"

#include <fmt/format.h>

namespace injector::cli {
namespace {

using base::Json;

// Leaves out what complete_item() added.
Json as_in_list(Json item, const Json& place) {
  for (const char* key : {"kind", "apiVersion"}) {
    if (!place.contains(key)) {
      item.erase(key);
    }
  }
  return item;
}

void put_item(std::optional<NewValue>& value, const Json& before, std::size_t index,
              const ObjectChange& change) {
  if (!value) {
    value = NewValue{before, std::nullopt};
  }
  const Json& place = before.at("items").at(index);
  value->after.at("items").at(index) = as_in_list(*change.after, place);
  if (change.through) {
    if (!value->through) {
      value->through = before;
    }
    value->through->at("items").at(index) = as_in_list(*change.through, place);
  }
}

base::Result<ObjectChange> change_object(const Json& object, const Document& document,
                                         const ObjectCommand& command) {
  auto change = command(object);
  if (!change) {
    return base::annotate(
        std::move(change).error(),
        fmt::format("document at line {}: {}", document.raw.first_line, object_title(object)));
  }
  return change;
}

base::Result<DocumentChange> change_list(const Document& document, const ObjectCommand& command) {
  const Json& before = document.source.value;
  DocumentChange result;
  for (std::size_t i = 0; i < before.at("items").size(); ++i) {
    Json item = complete_item(before, before.at("items").at(i));
    INJ_ASSIGN(auto change, change_object(item, document, command));
    if (change.after) {
      put_item(result.value, before, i, change);
    }
    result.objects.emplace_back(std::move(item), std::move(change));
  }
  return result;
}

}  // namespace

base::Result<DocumentChange> change_document(const Document& document,
                                             const ObjectCommand& command) {
  const Json& before = document.source.value;
  if (is_list(before)) {
    return change_list(document, command);
  }
  INJ_ASSIGN(auto change, change_object(before, document, command));
  DocumentChange result;
  if (change.after) {
    result.value = NewValue{*change.after, change.through};
  }
  result.objects.emplace_back(before, std::move(change));
  return result;
}

}  // namespace injector::cli
