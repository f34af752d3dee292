#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "template/quantity.h"
#include "template/rules.h"
#include "template/text_format.h"

namespace injector::templates {
namespace {

using base::Json;

constexpr std::string_view kHugePages = "hugepages-";

bool is_huge_page(std::string_view name) {
  return name.rfind(kHugePages, 0) == 0;
}

bool is_standard(std::string_view name) {
  constexpr std::array<std::string_view, 3> kStandard = {"cpu", "memory", "ephemeral-storage"};
  return std::find(kStandard.begin(), kStandard.end(), name) != kStandard.end() ||
         is_huge_page(name);
}

// Kubernetes' own, which may be overcommitted; all others come from devices.
bool is_native(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool is_resource_name(std::string_view name) {
  if (name.find('/') == std::string_view::npos) {
    return is_standard(name) && is_qualified_name(name);
  }
  if (is_native(name)) {
    return is_qualified_name(name);
  }
  return is_qualified_name(name) && name.rfind("requests.", 0) != 0 &&
         is_qualified_name(fmt::format("requests.{}", name));
}

std::optional<Quantity> page_size(std::string_view name) {
  return read_quantity(Json(std::string(name.substr(kHugePages.size()))));
}

void check_amount(std::string_view name, const Quantity& amount, const Place& place,
                  Findings& findings) {
  if (amount.thousandths < 0) {
    findings.problem(place, "is negative");
  } else if (!is_native(name) && !amount.is_whole()) {
    findings.problem(place, "is not a whole number, as the resource of a device must be");
  }
  if (!is_huge_page(name)) {
    return;
  }
  const auto size = page_size(name);
  if (!size || size->thousandths <= 0) {
    findings.problem(place, "is not the name of a resource: use hugepages- and a size such as 2Mi");
  } else if (amount.thousandths <= 0 || std::fmod(amount.thousandths, size->thousandths) != 0) {
    findings.problem(place, "is not a multiple of the page's size");
  }
}

void check_list(const Json* list, const Place& place, Findings& findings) {
  if (list == nullptr || !list->is_object()) {
    return;
  }
  for (const auto& [name, value] : list->items()) {
    const Place where = place.member(name);
    if (!is_resource_name(name)) {
      findings.problem(where,
                       "is not the name of a resource: use cpu, memory, ephemeral-storage, "
                       "hugepages-SIZE or DOMAIN/NAME");
    } else if (const auto amount = read_quantity(value)) {
      check_amount(name, *amount, where, findings);
    }
  }
}

std::optional<Quantity> amount_of(const Json* list, std::string_view name) {
  const Json* value = list == nullptr ? nullptr : base::find(*list, name);
  return value == nullptr ? std::nullopt : read_quantity(*value);
}

std::string amount_text(const Json& value) {
  return value.is_string() ? std::string(base::text_of(&value)) : base::to_text(value);
}

void check_request(const std::string& name, const Json& value, const Json* limits,
                   const Place& place, Findings& findings) {
  const auto request = read_quantity(value);
  const Json* limit_value = limits == nullptr ? nullptr : base::find(*limits, name);
  const auto limit = amount_of(limits, name);
  const bool overcommit = is_native(name) && !is_huge_page(name);
  if (!request) {
    return;
  }
  if (limit_value == nullptr && !overcommit) {
    findings.problem(place, "needs a limit of the same amount");
  } else if (limit && !overcommit && limit->thousandths != request->thousandths) {
    findings.problem(place, fmt::format("is {}, not equal to the limit of {}", amount_text(value),
                                        amount_text(*limit_value)));
  } else if (limit && request->thousandths > limit->thousandths) {
    findings.problem(place, fmt::format("is {}, above the limit of {}", amount_text(value),
                                        amount_text(*limit_value)));
  }
}

void check_requests(const Json* requests, const Json* limits, const Place& place,
                    Findings& findings) {
  if (requests == nullptr || !requests->is_object()) {
    return;
  }
  for (const auto& [name, value] : requests->items()) {
    check_request(name, value, limits, place.member(name), findings);
  }
}

template <class Predicate>
bool names_any(const Json* list, Predicate predicate) {
  if (list == nullptr || !list->is_object()) {
    return false;
  }
  for (const auto& item : list->items()) {
    if (predicate(item.key())) {
      return true;
    }
  }
  return false;
}

void check_huge_pages(const Json* requests, const Json* limits, const Place& place,
                      Findings& findings) {
  const auto is_base = [](std::string_view name) { return name == "cpu" || name == "memory"; };
  const bool pages = names_any(requests, is_huge_page) || names_any(limits, is_huge_page);
  if (pages && !names_any(requests, is_base) && !names_any(limits, is_base)) {
    findings.problem(place, "have huge pages, which need cpu or memory beside them");
  }
}

constexpr std::array<std::string_view, 2> kCpuDivisors = {"1", "1m"};
constexpr std::array<std::string_view, 13> kOtherDivisors = {
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"};

// 1000 is as good as 1k; 1024 is not 1Ki, which is another notation.
template <class Divisors>
bool is_one_of(const Quantity& divisor, const Divisors& known) {
  return std::any_of(known.begin(), known.end(), [&](std::string_view text) {
    const auto other = read_quantity(Json(std::string(text)));
    return other && other->thousandths == divisor.thousandths &&
           (text == "1" || other->notation == divisor.notation);
  });
}

}  // namespace

void check_resources(const Json& container, const Place& place, Findings& findings) {
  const Json* resources = base::find(container, "resources");
  if (resources == nullptr) {
    return;
  }
  const Place where = place.member("resources");
  const Json* limits = base::find(*resources, "limits");
  const Json* requests = base::find(*resources, "requests");
  check_list(limits, where.member("limits"), findings);
  check_list(requests, where.member("requests"), findings);
  check_requests(requests, limits, where.member("requests"), findings);
  check_huge_pages(requests, limits, where, findings);
}

void check_divisor(const Json& reference, const Place& place, Findings& findings) {
  const Json* value = base::find(reference, "divisor");
  const auto divisor = value == nullptr ? std::nullopt : read_quantity(*value);
  const std::string_view resource = text_at(reference, "resource");
  if (!divisor || divisor->thousandths == 0 || resource.empty()) {
    return;
  }
  const bool cpu = resource == "limits.cpu" || resource == "requests.cpu";
  if (cpu ? !is_one_of(*divisor, kCpuDivisors) : !is_one_of(*divisor, kOtherDivisors)) {
    findings.problem(
        place.member("divisor"),
        fmt::format("is {}, not {}", amount_text(*value),
                    cpu ? "1 or 1m" : "1 or one k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei"));
  }
}

}  // namespace injector::templates
