#!/usr/bin/env python3
"""Fails if a file includes a folder it may not. The table is the architecture; change it in review."""
import pathlib
import re
import sys

MAY_INCLUDE = {
    "base": set(),
    "yaml": {"base"},
    "patch": {"base"},
    "tls": {"base"},
    "http": {"base", "tls"},
    "runtime": {"base"},
    "kube": {"base", "tls", "http", "runtime"},
    "core": {"base", "patch"},
    "template": {"base", "yaml", "core"},
    "admission": {"base", "core", "template", "http"},
    "cluster": {"base", "core", "patch", "template", "runtime", "kube", "tls"},
    "controller": {"base", "core", "patch", "template", "runtime", "kube", "cluster"},
    "cli": {"base", "core", "yaml", "template", "patch", "tls", "kube", "cluster"},
    "dashboard": {"base", "core", "yaml", "template", "patch", "http", "runtime", "kube", "cluster", "cli"},
}
MAY_INCLUDE["app"] = set(MAY_INCLUDE)
MAY_INCLUDE["examples"] = {"base", "runtime", "kube"}

# Third-party headers that only the named folders may see.
CONFINED = {
    "yaml-cpp/": {"kube"},
    "simdjson": {"admission"},
    "httplib.h": {"http"},
    "openssl/": {"core", "tls", "http"},
    "CLI/": {"app", "examples"},
    "spdlog/": {"base"},
    "prometheus/": {"runtime", "kube", "http", "admission", "cluster", "controller", "app"},
    "nlohmann/": {"base"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def problems(root: pathlib.Path):
    for path in sorted([*(root / "src").rglob("*"), *(root / "examples").rglob("*")]):
        if path.suffix not in {".h", ".cpp"}:
            continue
        place = path.relative_to(root).parts
        folder = place[1] if place[0] == "src" else place[0]
        for target in INCLUDE.findall(path.read_text(encoding="utf-8")):
            top = target.split("/")[0]
            if top in MAY_INCLUDE and top != folder and top not in MAY_INCLUDE[folder]:
                yield f"{path}: {folder} may not include {target}"
            for prefix, allowed in CONFINED.items():
                if target.startswith(prefix) and folder not in allowed:
                    yield f"{path}: only {sorted(allowed)} may include {target}"


found = list(problems(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
print("\n".join(found) if found else "layers ok")
sys.exit(1 if found else 0)
