#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_pointer.h"
#include "patch/json_patch.h"
#include "patch/limits.h"

namespace injector::patch {
namespace {

using base::Error;
using base::Json;
using base::Result;

using Path = std::vector<std::string>;

struct Operation {
  std::string_view name;
  Path path;
  Path from;                    // copy and move.
  const Json* value = nullptr;  // add, replace and test.
};

// --- Reading an operation

Result<Path> read_path(const Json& operation, std::string_view member) {
  const Json* path = base::find(operation, member);
  if (path == nullptr || !path->is_string()) {
    return base::invalid("\"" + std::string(member) + "\" is missing or not a string");
  }
  Result<Path> tokens = base::parse_pointer(base::text_of(path));
  if (tokens && tokens.value().size() > base::kMaxJsonDepth) {
    return base::invalid("a path has too many steps");
  }
  return tokens;
}

bool takes_value(std::string_view name) {
  return name == "add" || name == "replace" || name == "test";
}

bool takes_from(std::string_view name) {
  return name == "copy" || name == "move";
}

Result<Operation> read_operation(const Json& source) {
  Operation operation;
  operation.name = base::text_of(base::find(source, "op"));
  if (!takes_value(operation.name) && !takes_from(operation.name) && operation.name != "remove") {
    return base::invalid("\"op\" is missing or unknown");
  }
  Result<Path> path = read_path(source, "path");
  if (!path) {
    return std::move(path).error();
  }
  operation.path = std::move(path).value();
  if (takes_from(operation.name)) {
    Result<Path> from = read_path(source, "from");
    if (!from) {
      return std::move(from).error();
    }
    operation.from = std::move(from).value();
  }
  operation.value = base::find(source, "value");
  if (takes_value(operation.name) && operation.value == nullptr) {
    return base::invalid("\"value\" is missing");
  }
  return operation;
}

// --- Finding places in the document

Error missing(std::string_view token) {
  return base::invalid("there is no \"" + std::string(token) + "\"");
}

Result<Json*> child(Json& parent, std::string_view token) {
  if (parent.is_array()) {
    const Result<std::size_t> index = base::parse_index(token, parent.size());
    if (!index) {
      return index.error();
    }
    return index.value() < parent.size()
               ? Result<Json*>(&parent[index.value()])
               : Result<Json*>(base::invalid("the index " + std::string(token) +
                                             " is beyond the end of the array"));
  }
  Json* member = base::find(parent, token);
  return member != nullptr ? Result<Json*>(member) : Result<Json*>(missing(token));
}

Result<Json*> walk(Json& document, Path::const_iterator begin, Path::const_iterator end) {
  Json* at = &document;
  for (; begin != end; ++begin) {
    Result<Json*> next = child(*at, *begin);
    if (!next) {
      return next;
    }
    at = next.value();
  }
  return at;
}

Result<Json*> target_of(Json& document, const Path& path) {
  return walk(document, path.begin(), path.end());
}

Result<Json*> parent_of(Json& document, const Path& path) {
  return walk(document, path.begin(), std::prev(path.end()));
}

bool is_proper_prefix(const Path& prefix, const Path& path) {
  return prefix.size() < path.size() && std::equal(prefix.begin(), prefix.end(), path.begin());
}

// --- The size of what is copied

struct Extent {
  std::size_t bytes = 0;
  std::size_t depth = 0;
};

// The document is never nested deeper than kMaxJsonDepth, so this may recurse.
Extent extent_of(const Json& value) {
  if (value.is_string()) {
    return {base::text_of(&value).size() + 2, 0};
  }
  Extent extent{8, 0};
  if (!value.is_structured()) {
    return extent;
  }
  for (const auto& item : value.items()) {
    const Extent inner = extent_of(item.value());
    extent.bytes += inner.bytes + (value.is_object() ? item.key().size() : 0);
    extent.depth = std::max(extent.depth, inner.depth);
  }
  ++extent.depth;
  return extent;
}

// --- Applying

class PatchedDocument {
 public:
  explicit PatchedDocument(Json document)
      : document_(std::move(document)) {}

  [[nodiscard]] Result<void> apply(const Operation& operation) {
    struct Step {
      std::string_view name;
      Result<void> (PatchedDocument::*run)(const Operation&);
    };

    static constexpr std::array<Step, 6> kSteps{{
        {"add", &PatchedDocument::add_value},
        {"remove", &PatchedDocument::remove},
        {"replace", &PatchedDocument::replace},
        {"move", &PatchedDocument::move},
        {"copy", &PatchedDocument::copy},
        {"test", &PatchedDocument::test},
    }};
    for (const Step& step : kSteps) {
      if (step.name == operation.name) {
        return (this->*step.run)(operation);
      }
    }
    return base::invalid("unknown operation");
  }

  [[nodiscard]] Json take() && { return std::move(document_); }

 private:
  Result<void> add_value(const Operation& operation) {
    return add(operation.path, *operation.value, extent_of(*operation.value).depth);
  }

  Result<void> remove(const Operation& operation) {
    if (operation.path.empty()) {
      return base::invalid("the whole document cannot be removed");
    }
    Result<Json> removed = extract(operation.path);
    return removed ? Result<void>() : Result<void>(std::move(removed).error());
  }

  Result<void> replace(const Operation& operation) {
    const Result<Json*> target = target_of(document_, operation.path);
    if (!target) {
      return target.error();
    }
    if (Result<void> fits = check_nesting(operation.path, extent_of(*operation.value).depth);
        !fits) {
      return fits;
    }
    *target.value() = *operation.value;
    return {};
  }

  Result<void> move(const Operation& operation) {
    if (is_proper_prefix(operation.from, operation.path)) {
      return base::invalid("a value cannot be moved into itself");
    }
    const Result<Json*> source = target_of(document_, operation.from);
    if (!source) {
      return base::annotate(source.error(), "from");
    }
    if (operation.from == operation.path) {
      return {};
    }
    const Result<Extent> extent = charge(*source.value());
    if (!extent) {
      return extent.error();
    }
    Result<Json> value = extract(operation.from);
    if (!value) {
      return std::move(value).error();
    }
    return add(operation.path, std::move(value).value(), extent.value().depth);
  }

  Result<void> copy(const Operation& operation) {
    const Result<Json*> source = target_of(document_, operation.from);
    if (!source) {
      return base::annotate(source.error(), "from");
    }
    const Result<Extent> extent = charge(*source.value());
    if (!extent) {
      return extent.error();
    }
    return add(operation.path, *source.value(), extent.value().depth);
  }

  Result<void> test(const Operation& operation) {
    const Result<Json*> target = target_of(document_, operation.path);
    if (!target) {
      return target.error();
    }
    return base::same(*target.value(), *operation.value)
               ? Result<void>()
               : Result<void>(base::invalid("the value is another one"));
  }

  // By value: it may be a part of the document.
  Result<void> add(const Path& path, Json value, std::size_t depth) {
    if (Result<void> fits = check_nesting(path, depth); !fits) {
      return fits;
    }
    if (path.empty()) {
      document_ = std::move(value);
      return {};
    }
    const Result<Json*> parent = parent_of(document_, path);
    if (!parent) {
      return parent.error();
    }
    return insert(*parent.value(), path.back(), std::move(value));
  }

  static Result<void> insert(Json& parent, const std::string& token, Json value) {
    if (parent.is_object()) {
      parent[token] = std::move(value);
      return {};
    }
    if (!parent.is_array()) {
      return base::invalid("the parent is neither an object nor an array");
    }
    const Result<std::size_t> index =
        token == "-" ? Result<std::size_t>(parent.size()) : base::parse_index(token, parent.size());
    if (!index) {
      return index.error();
    }
    parent.insert(std::next(parent.begin(), static_cast<std::ptrdiff_t>(index.value())),
                  std::move(value));
    return {};
  }

  Result<Json> extract(const Path& path) {
    if (path.empty()) {
      return std::exchange(document_, nullptr);
    }
    const Result<Json*> parent = parent_of(document_, path);
    if (!parent) {
      return parent.error();
    }
    const Result<Json*> target = child(*parent.value(), path.back());
    if (!target) {
      return target.error();
    }
    Json value = std::move(*target.value());
    erase(*parent.value(), path.back());
    return value;
  }

  static void erase(Json& parent, const std::string& token) {
    if (parent.is_object()) {
      parent.erase(token);
    } else {
      parent.erase(base::parse_index(token, parent.size()).value());
    }
  }

  static Result<void> check_nesting(const Path& path, std::size_t depth) {
    if (path.size() + depth > base::kMaxJsonDepth) {
      return base::invalid("the document would be nested too deep");
    }
    return {};
  }

  Result<Extent> charge(const Json& value) {
    const Extent extent = extent_of(value);
    copied_ += extent.bytes;
    if (copied_ > kMaxCopiedBytes) {
      return base::invalid("the patch copies and moves more than 3 MiB");
    }
    return extent;
  }

  Json document_;
  std::size_t copied_ = 0;
};

std::string describe(std::size_t number, const Json& operation) {
  std::string text = "operation " + std::to_string(number);
  const std::string_view name = base::text_of(base::find(operation, "op"));
  if (!name.empty()) {
    text.append(" (").append(name).append(" ");
    text.append(base::text_of(base::find(operation, "path"))).append(")");
  }
  return text;
}

}  // namespace

Result<Json> apply_json_patch(const Json& document, const Json& operations) {
  if (!operations.is_array()) {
    return base::invalid("a JSON patch is a list of operations");
  }
  INJ_TRY(check_depth({&document, &operations}));
  PatchedDocument patched(document);
  std::size_t number = 0;
  for (const Json& source : operations) {
    ++number;
    Result<Operation> operation = read_operation(source);
    Result<void> done =
        operation ? patched.apply(operation.value()) : Result<void>(std::move(operation).error());
    if (!done) {
      return base::annotate(done.error(), describe(number, source));
    }
  }
  return std::move(patched).take();
}

}  // namespace injector::patch
