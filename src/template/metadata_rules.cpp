#include <array>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "template/rules.h"
#include "template/text_format.h"

namespace injector::templates {
namespace {

using base::Json;

constexpr std::size_t kMaxAnnotations = 262144;

bool starts_with(std::string_view text, std::string_view start) {
  return text.rfind(start, 0) == 0;
}

bool is_localhost(std::string_view value) {
  constexpr std::string_view kStart = "localhost/";
  return starts_with(value, kStart);
}

bool is_app_armor(std::string_view value) {
  return value.empty() || value == "runtime/default" || value == "unconfined" ||
         is_localhost(value);
}

bool is_seccomp(std::string_view value) {
  return value == "runtime/default" || value == "docker/default" || value == "unconfined" ||
         (is_localhost(value) &&
          objection(Format::RelativePath, value.substr(sizeof("localhost/") - 1)).empty());
}

bool is_deletion_cost(std::string_view value) {
  std::int32_t number = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  return read.ec == std::errc{} && read.ptr == value.data() + value.size() &&
         fmt::format("{}", number) == value;
}

struct Meaning {
  std::string_view start;  // Of the key.
  bool (*holds)(std::string_view);
  std::string_view objection;
};

constexpr std::array<Meaning, 5> kMeanings = {{
    {"container.apparmor.security.beta.kubernetes.io/", is_app_armor,
     "is not an AppArmor profile: use runtime/default, unconfined or localhost/NAME"},
    {"container.seccomp.security.alpha.kubernetes.io/", is_seccomp,
     "is not a seccomp profile: use runtime/default, unconfined or localhost/PATH"},
    {"seccomp.security.alpha.kubernetes.io/pod", is_seccomp,
     "is not a seccomp profile: use runtime/default, unconfined or localhost/PATH"},
    {"controller.kubernetes.io/pod-deletion-cost", is_deletion_cost,
     "is not a 32-bit whole number"},
    {"kubernetes.io/config.mirror", [](std::string_view) { return false; },
     "would make each Pod a mirror Pod: remove this annotation"},
}};

void check_meaning(std::string_view key, std::string_view value, const Place& place,
                   Findings& findings) {
  for (const Meaning& meaning : kMeanings) {
    const bool applies =
        meaning.start.back() == '/' ? starts_with(key, meaning.start) : key == meaning.start;
    if (applies && !meaning.holds(value)) {
      findings.problem(place, fmt::format("{} {}", quoted(value), meaning.objection));
    }
  }
}

const Json* map_at(const Json& root, const char* field) {
  const Json* map = base::find(root, field);
  return map != nullptr && map->is_object() ? map : nullptr;
}

void bad_key(const Place& place, Findings& findings) {
  findings.problem(place, "is not a key: use [prefix/]name of letters, digits, -, _ and .");
}

void check_labels(const Json& labels, Findings& findings) {
  for (const auto& [key, value] : labels.items()) {
    const Place place = Place{}.member("labels").member(key);
    if (!is_qualified_name(key)) {
      bad_key(place, findings);
    } else if (!is_label_value(base::text_of(&value))) {
      findings.problem(place, fmt::format("{} is not a label value: use up to 63 letters, digits, "
                                          "-, _ and .",
                                          quoted(base::text_of(&value))));
    }
  }
}

void check_annotations(const Json& annotations, Findings& findings) {
  std::size_t size = 0;
  for (const auto& [key, value] : annotations.items()) {
    const Place place = Place{}.member("annotations").member(key);
    size += key.size() + base::text_of(&value).size();
    if (!is_annotation_key(key)) {
      bad_key(place, findings);
    } else if (value.is_string()) {
      check_meaning(key, base::text_of(&value), place, findings);
    }
  }
  if (size > kMaxAnnotations) {
    findings.problem(Place{}.member("annotations"),
                     fmt::format("are {} bytes: a Pod may have {}", size, kMaxAnnotations));
  }
}

}  // namespace

void check_metadata(const Json& root, Findings& findings) {
  if (const Json* labels = map_at(root, "labels")) {
    check_labels(*labels, findings);
  }
  if (const Json* annotations = map_at(root, "annotations")) {
    check_annotations(*annotations, findings);
  }
}

}  // namespace injector::templates
