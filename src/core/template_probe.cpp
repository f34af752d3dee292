#include "core/template_probe.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace injector::core {
namespace {

using base::Json;

constexpr std::string_view kProbeName = "envoy-initializer-probe";
constexpr std::string_view kPlaceholderImage = "registry.k8s.io/pause:3.9";

constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kInvalid = 422;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool has_name(const std::vector<Piece>& pieces, std::string_view name) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](const Piece& piece) { return piece.name == name; });
}

// The stand-in must not be what makes the names clash.
std::string placeholder_name(const Template& tpl) {
  std::string name = "app";
  while (has_name(tpl.containers, name) || has_name(tpl.init_containers, name)) {
    name += "-x";
  }
  return name;
}

void add_pieces(Json& spec, const char* field, const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    spec[field].push_back(
        piece.pattern.empty()
            ? piece.value
            : Json::parse(fill_with_samples(piece.pattern, Escaping::Json), nullptr, false));
  }
}

void add_entries(Json& metadata, const char* field, const StringMap& map) {
  for (const auto& [key, value] : map) {
    const auto pattern = parse_pattern(value);
    metadata[field][key] = pattern && !pattern.value().empty()
                               ? fill_with_samples(pattern.value(), Escaping::None)
                               : value;
  }
}

// Plugins that run after validation: what they refuse was valid.
bool is_late_refusal(int code, std::string_view message) {
  constexpr std::array<std::string_view, 6> kLate = {
      "violates PodSecurity", "exceeded quota:",         "failed quota:",
      "usage per Container",  "usage to request ratio,", "usage per Pod"};
  if (contains(message, "ValidatingAdmissionPolicy")) {
    return true;
  }
  return code == kForbidden && std::any_of(kLate.begin(), kLate.end(), [&](std::string_view late) {
           return contains(message, late);
         });
}

// Mutating or validating, a webhook chooses its code as it likes.
bool is_by_webhook(std::string_view message) {
  return message.rfind("admission webhook ", 0) == 0 || contains(message, "failed calling webhook");
}

bool is_refusal(int code, std::string_view message) {
  return (code == kInvalid && contains(message, "is invalid")) ||
         (code == kBadRequest && (contains(message, "cannot be handled as a Pod") ||
                                  contains(message, "strict decoding error")));
}

ProbeVerdict refused(const Json& status, std::string_view message) {
  ProbeVerdict verdict{ProbeOutcome::Refused, template_paths(message), {}};
  const Json* causes = base::find(status, "details", "causes");
  if (causes != nullptr && causes->is_array()) {
    for (const Json& cause : *causes) {
      verdict.problems.push_back({template_paths(base::text_of(base::find(cause, "field"))),
                                  template_paths(base::text_of(base::find(cause, "message")))});
    }
  }
  if (verdict.problems.empty()) {
    verdict.problems.push_back({"", verdict.message});
  }
  return verdict;
}

std::string words_of(int code, const Json& body) {
  const std::string_view message = base::text_of(base::find(body, "message"));
  return message.empty() ? fmt::format("the server answered {}", code) : std::string(message);
}

// "containers[1]" to "containers[0]", and "containers[0]", our own, to a word of its own.
std::string without_placeholder(std::string_view digits) {
  std::size_t index = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), index);
  return index == 0 ? "(the application's container)" : fmt::format("containers[{}]", index - 1);
}

bool starts_word(std::string_view text, std::size_t at) {
  constexpr std::string_view kInside =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-/";
  return at == 0 || kInside.find(text[at - 1]) == std::string_view::npos;
}

// The text that stands for what `text` starts with, and how much of it that is; zero if nothing.
using Replacement = std::pair<std::string, std::size_t>;

Replacement container_replacement(std::string_view text) {
  constexpr std::string_view kContainers = "spec.containers[";
  if (text.rfind(kContainers, 0) == 0) {
    const std::size_t end = text.find(']');
    const std::string_view digits = text.substr(0, end).substr(kContainers.size());
    if (end != std::string_view::npos && !digits.empty() &&
        digits.find_first_not_of("0123456789") == std::string_view::npos) {
      return {without_placeholder(digits), end + 1};
    }
  }
  return {"", 0};
}

Replacement replacement(std::string_view text) {
  constexpr std::array<std::string_view, 5> kPaths = {"spec.initContainers", "spec.volumes",
                                                      "spec.imagePullSecrets", "metadata.labels",
                                                      "metadata.annotations"};
  for (const std::string_view path : kPaths) {
    if (text.rfind(path, 0) == 0) {
      return {std::string(path.substr(path.find('.') + 1)), path.size()};
    }
  }
  return container_replacement(text);
}

}  // namespace

std::string_view to_string(ProbeOutcome outcome) noexcept {
  switch (outcome) {
    case ProbeOutcome::Accepted:
      return "accepted";
    case ProbeOutcome::Refused:
      return "refused";
    case ProbeOutcome::Undecided:
      break;
  }
  return "undecided";
}

Json probe_pod(const Template& tpl, std::string_view name_space, const Policy& policy) {
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  Json& metadata = pod["metadata"];
  metadata["generateName"] = fmt::format("{}-", kProbeName);
  metadata["namespace"] = name_space;
  add_entries(metadata, "labels", tpl.labels);
  add_entries(metadata, "annotations", tpl.annotations);
  metadata["annotations"][policy.key] = "false";
  Json& spec = pod["spec"];
  spec["containers"].push_back(
      Json::object({{"name", placeholder_name(tpl)}, {"image", kPlaceholderImage}}));
  add_pieces(spec, "containers", tpl.containers);
  add_pieces(spec, "initContainers", tpl.init_containers);
  add_pieces(spec, "volumes", tpl.volumes);
  add_pieces(spec, "imagePullSecrets", tpl.image_pull_secrets);
  return pod;
}

ProbeVerdict judge(int code, const Json& body) {
  constexpr int kOk = 200;
  constexpr int kRedirect = 300;
  if (code >= kOk && code < kRedirect) {
    return {ProbeOutcome::Accepted, "", {}};
  }
  const std::string message = words_of(code, body);
  if (is_by_webhook(message)) {
    return {ProbeOutcome::Undecided, message, {}};
  }
  if (is_late_refusal(code, message)) {
    return {ProbeOutcome::Accepted, template_paths(message), {}};
  }
  return is_refusal(code, message) ? refused(body, message)
                                   : ProbeVerdict{ProbeOutcome::Undecided, message, {}};
}

std::string template_paths(std::string_view text) {
  std::string result;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto [words, length] = starts_word(text, at) ? replacement(text.substr(at))
                                                       : std::pair<std::string, std::size_t>{};
    result += length == 0 ? std::string(1, text[at]) : words;
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace injector::core
