// Values of the Pod in the strings of a template:
//
//   ${metadata.name}  ${metadata.namespace}  ${spec.serviceAccountName}  ${owner.kind}
//   ${owner.name}  ${metadata.labels['app']}  ${metadata.annotations['x']:-default}
//   ${spec.containers[0].ports[0].containerPort:-8080}
//
// `${` is the start of a value only before `metadata.`, `spec.` and `owner.`; before anything else
// it is text, so that shell scripts and the configuration files of other programs need no escapes.
// `$${metadata.name}` is the text `${metadata.name}`.
//
// A string that is nothing but one value keeps the value's type: a port stays a number. Everywhere
// else it is text. Values are data: whatever a Pod's author writes stays inside its string.
//
// A template's strings are parsed once, when it is loaded. Pure; any thread.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace injector::core {

struct PodFacts;

enum class ValueSource {
  Name,
  Namespace,
  Label,
  Annotation,
  ServiceAccount,
  ContainerPort,
  OwnerKind,
  OwnerName,
};

/// One `${...}`.
struct PodValue {
  ValueSource source = ValueSource::Name;
  std::string key = {};                      // Of a label or an annotation.
  std::size_t container = 0;                 // Of a port: which container,
  std::size_t port = 0;                      // and which of its ports.
  std::optional<std::string> fallback = {};  // What follows `:-`.
  std::string path = {};                     // "metadata.labels['app']", for people.

  [[nodiscard]] bool is_number() const noexcept { return source == ValueSource::ContainerPort; }
};

/// A piece of literal text, and the value behind it.
struct PatternPart {
  std::string literal = {};
  std::optional<PodValue> value = {};  // None: the text ends here.
  bool alone = false;  // In JSON: the value is all there is of its string, so it keeps its type.
};

/// A text with values in it. Without parts there are none, and it is the text it was made from.
using Pattern = std::vector<PatternPart>;

/// From a string of a template. No parts if it holds neither a value nor an escaped one. An Error
/// says what is wrong with a value: "${metadata.nam}: ...".
[[nodiscard]] base::Result<Pattern> parse_pattern(std::string_view text);

/// From a JSON value, whose every string may hold values: the pattern of its JSON text. Strings
/// that do not parse are text; templates::check_templates has refused them.
[[nodiscard]] Pattern json_pattern(const base::Json& value);

/// The value in this Pod as text; nothing if the Pod has none and there is no default.
[[nodiscard]] std::optional<std::string> value_in(const PodFacts& pod, const PodValue& value);

/// Something that such a value may be, for checks without a Pod: its default if it has one.
[[nodiscard]] std::string sample_of(const PodValue& value);

enum class Escaping { None, Json };

/// The text for this Pod. The Error is the path of the value that is missing.
[[nodiscard]] base::Result<std::string> fill(const Pattern& pattern, const PodFacts& pod,
                                             Escaping escaping);

/// The text for some Pod, by sample_of().
[[nodiscard]] std::string fill_with_samples(const Pattern& pattern, Escaping escaping);

}  // namespace injector::core
