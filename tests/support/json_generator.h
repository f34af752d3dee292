// Documents for property tests. The same seed gives the same documents on every machine.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"

namespace injector::tests {

class JsonGenerator {
 public:
  explicit JsonGenerator(std::uint32_t seed)
      : engine_(seed) {}

  /// Uniform in [0, count). Not std::uniform_int_distribution, which differs between libraries.
  [[nodiscard]] std::size_t below(std::size_t count) { return engine_() % count; }

  [[nodiscard]] bool chance(std::size_t percent) { return below(100) < percent; }

  /// Anything: all types, empty containers, nulls, keys that need escaping.
  [[nodiscard]] base::Json value(std::size_t depth = 4) {
    switch (below(depth == 0 ? 6 : 9)) {
      case 0:
        return nullptr;
      case 1:
        return chance(50);
      case 2:
        return static_cast<std::int64_t>(below(5)) - 2;
      case 3:
        return static_cast<double>(below(5)) / 2;
      case 4:
      case 5:
        return pick({"", "a", "b", "~", "/", "a/b~c", "0", "-", "\xc3\xa9"});
      case 6:
        return list(depth);
      default:
        return object(depth);
    }
  }

  /// `from` with some members and elements changed, removed, added or in another order.
  [[nodiscard]] base::Json changed(const base::Json& from, std::size_t depth = 4) {
    if (from.is_object() && chance(80)) {
      return changed_object(from, depth);
    }
    if (from.is_array() && chance(80)) {
      return changed_list(from, depth);
    }
    return chance(30) ? value(depth) : from;
  }

  /// A Pod as people write them: no nulls, merge keys present and unique, finalizers sorted.
  [[nodiscard]] base::Json pod() {
    base::Json pod = base::Json::object();
    pod["apiVersion"] = "v1";
    pod["kind"] = "Pod";
    pod["metadata"] = metadata();
    pod["spec"] = pod_spec();
    return pod;
  }

 private:
  using Names = std::initializer_list<std::string_view>;

  base::Json pick(Names choices) {
    return base::Json(std::string(choices.begin()[below(choices.size())]));
  }

  base::Json list(std::size_t depth) {
    base::Json items = base::Json::array();
    for (std::size_t left = below(5); left > 0; --left) {
      items.push_back(value(depth - 1));
    }
    return items;
  }

  base::Json object(std::size_t depth) {
    base::Json members = base::Json::object();
    for (std::size_t left = below(5); left > 0; --left) {
      members[key()] = value(depth - 1);
    }
    return members;
  }

  std::string key() {
    return pick({"", "a", "b", "c", "~1", "x/y", "0", "-", "name"}).get<std::string>();
  }

  base::Json changed_object(const base::Json& from, std::size_t depth) {
    base::Json members = base::Json::object();
    for (const auto& item : from.items()) {
      if (!chance(15)) {
        members[item.key()] = changed(item.value(), depth == 0 ? 0 : depth - 1);
      }
    }
    if (chance(30)) {
      members[key()] = value(depth == 0 ? 0 : depth - 1);
    }
    return members;
  }

  base::Json changed_list(const base::Json& from, std::size_t depth) {
    base::Json items = base::Json::array();
    for (const base::Json& item : from) {
      if (chance(15)) {
        items.push_back(value(depth == 0 ? 0 : depth - 1));
      }
      if (!chance(15)) {
        items.push_back(changed(item, depth == 0 ? 0 : depth - 1));
      }
    }
    return chance(20) ? shuffled(std::move(items)) : items;
  }

  base::Json shuffled(base::Json items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[below(left)]);
    }
    return items;
  }

  base::Json labels() {
    base::Json map = base::Json::object();
    for (std::size_t left = below(4); left > 0; --left) {
      map[pick({"app", "tier", "a/b", "c~d"}).get<std::string>()] = pick({"", "x", "y", "true"});
    }
    return map;
  }

  base::Json metadata() {
    base::Json meta = base::Json::object();
    meta["name"] = pick({"p1", "p2"});
    meta["labels"] = labels();
    if (chance(60)) {
      meta["annotations"] = labels();
    }
    if (chance(50)) {
      meta["finalizers"] = base::Json::array();
      for (const std::string_view name : {"f/1", "f/2", "f/3"}) {
        if (chance(50)) {
          meta["finalizers"].push_back(name);
        }
      }
    }
    if (chance(20)) {
      meta["unknown"] = base::Json{{"list", {1, 2, below(3)}}, {"map", labels()}};
    }
    return meta;
  }

  /// A list with unique keys in random order; `fill` completes each element.
  template <class Fill>
  base::Json keyed(std::string_view key, Names names, Fill fill) {
    base::Json items = base::Json::array();
    for (const std::string_view name : names) {
      if (chance(55)) {
        base::Json item = base::Json::object();
        item[key] = name;
        fill(item);
        items.push_back(std::move(item));
      }
    }
    return shuffled(std::move(items));
  }

  base::Json containers() {
    return keyed("name", {"app", "web", "db", "envoy"}, [this](base::Json& container) {
      container["image"] = pick({"nginx", "redis", "busybox"});
      if (chance(50)) {
        container["args"] = {pick({"-a", "-b"}), pick({"-c", "-d"})};
      }
      if (chance(60)) {
        container["env"] = environment();
      }
      if (chance(60)) {
        container["ports"] = ports();
      }
      if (chance(40)) {
        container["volumeMounts"] =
            keyed("mountPath", {"/a", "/b", "/a/b"}, [this](base::Json& mount) {
              mount["name"] = pick({"data", "tmp"});
            });
      }
      if (chance(40)) {
        container["securityContext"] = base::Json{{"runAsUser", below(3)}};
      }
    });
  }

  base::Json environment() {
    return keyed("name", {"A", "B", "C", "D"}, [this](base::Json& variable) {
      if (chance(50)) {
        variable["value"] = pick({"", "1", "x y"});
      } else {
        variable["valueFrom"]["fieldRef"]["fieldPath"] = pick({"metadata.name", "status.podIP"});
      }
    });
  }

  base::Json ports() {
    base::Json items = base::Json::array();
    for (const int number : {80, 443, 9, 10000}) {
      if (chance(50)) {
        items.push_back(base::Json{{"containerPort", number}, {"protocol", pick({"TCP", "UDP"})}});
      }
    }
    return shuffled(std::move(items));
  }

  base::Json volumes() {
    return keyed("name", {"data", "tmp", "conf"}, [this](base::Json& volume) {
      if (chance(40)) {
        volume["emptyDir"] = base::Json::object();
      } else if (chance(50)) {
        volume["configMap"] = base::Json{{"name", pick({"a", "b"})}};
      } else {
        volume["hostPath"] = base::Json{{"path", pick({"/x", "/y"})}};
      }
    });
  }

  base::Json pod_spec() {
    base::Json spec = base::Json::object();
    spec["containers"] = containers();
    if (chance(40)) {
      spec["initContainers"] = containers();
    }
    if (chance(60)) {
      spec["volumes"] = volumes();
    }
    if (chance(40)) {
      spec["imagePullSecrets"] = keyed("name", {"s1", "s2", "s3"}, [](base::Json&) {});
    }
    if (chance(40)) {
      spec["nodeSelector"] = labels();
    }
    if (chance(40)) {
      spec["tolerations"] = {base::Json{{"key", pick({"a", "b"})}, {"operator", "Exists"}}};
    }
    return spec;
  }

  std::mt19937 engine_;
};

}  // namespace injector::tests
