// How a strategic merge patch changes a list. Pure; any thread.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "patch/list_order.h"
#include "patch/schema.h"

namespace injector::patch {

struct MergedList {
  std::vector<Item> items;
  // Upstream edits the live list in place and then looks places up in what is left of it: deletions
  // close ranks, additions fill the room, and behind them stand stale elements.
  Ranks live;
};

/// The elements with their identities. An element that has none is an error.
[[nodiscard]] base::Result<std::vector<Item>> to_items(base::Json list, std::string_view merge_key);

/// Elements that `order` names follow it; the others keep the order of the live list.
[[nodiscard]] std::vector<Item> in_order(std::vector<Item> items, const Ranks& order,
                                         const Ranks& live);

/// `patch` merged into `original`, both lists of the merge list `field`.
[[nodiscard]] base::Result<MergedList> merge_lists(base::Json original, const base::Json& patch,
                                                   const Field& field);

/// `original` without the scalars in `patch` ($deleteFromPrimitiveList).
[[nodiscard]] base::Result<base::Json> delete_scalars(base::Json original, const base::Json& patch);

/// The elements of the patch must be among those of its $setElementOrder, and in that order.
/// Deletions may stand anywhere; another directive must not come after the last element of the
/// order.
[[nodiscard]] base::Result<void> check_order(const base::Json& patch,
                                             const std::vector<std::string>& order,
                                             std::string_view merge_key);

/// Objects and lists contain each other: this one is defined in strategic_apply.cpp.
[[nodiscard]] base::Result<base::Json> merge_objects(base::Json original, const base::Json& patch,
                                                     const Schema& schema);

}  // namespace injector::patch
