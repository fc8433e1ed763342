#!/usr/bin/env python3
"""Checks the arrows between folders over all #include lines: who may include whom, and where third-party libraries
may appear. Prints each violation as file:line and exits 1 if there is one."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# folder -> folders that its files may include besides their own. plugin-api headers ("zomboss/...") have their own rule.
ARROWS = {
    "core/base": set(),
    "core/wire": {"core/base"},
    "core/hlo": {"core/base"},
    "core/graph": {"core/base", "core/hlo"},
    "core/oracle": {"core/base", "core/hlo", "core/graph"},
    "core/taidl": {"core/base", "core/hlo"},
    "core/mapping": {"core/base"},
    "core/resolver": {"core/base", "core/mapping"},
    "core/evaluate": {"core/base", "core/wire", "core/hlo", "core/graph", "core/oracle", "core/taidl"},
    "core/history": {"core/base"},
    "core/report": {"core/base", "core/history"},
    "core/search": {"core/base", "core/wire", "core/mapping", "core/resolver", "core/evaluate", "core/history"},
    "core/config": {"core/base", "core/evaluate"},
    "host/loader": {"core/base", "core/wire", "core/config"},
    "host/worker": {"core", "host/loader"},
    "host/cli": {"core", "host/loader", "host/worker"},
    "plugins/targets/gemmini": set(),
    "plugins/targets/plena": set(),
    "plugins/policies/common": set(),
    "plugins/policies/random": {"plugins/policies/common"},
    "plugins/policies/hill": {"plugins/policies/common"},
    "plugins/policies/genetic": {"plugins/policies/common"},
    "plugins/policies/exhaustive": {"plugins/policies/common"},
    "plugins/policies/llm": {"plugins/policies/common"},
    "plugin-api": set(),
}
# Third-party header prefix -> the folders that may name it.
THIRD_PARTY = {
    "toml++/": {"core/config", "plugins/targets/gemmini"},  # host/loader reads its small files through core/config/toml_reader.h
    "z3": {"core/resolver"},
    "boost/": {"host/loader"},
    "openssl/": {"host/loader"},
    "dlfcn.h": {"host/loader"},
    "CLI/": {"host/cli"},
    "nlohmann/": {"host/cli", "core/report", "plugins/policies/llm"},
    "sqlite3.h": {"core/history"},
    "curl/": {"plugins/policies/llm"},
    "xxhash.h": {"core/base"},
    "flatbuffers/": {"plugin-api"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """The longest key of ARROWS that contains the path, or None."""
    best = None
    for folder in ARROWS:
        if (path + "/").startswith(folder + "/") and (best is None or len(folder) > len(best)):
            best = folder
    return best


def check_include(folder, is_test, included):
    """Why `folder` may not include it, or None."""
    for prefix, owners in THIRD_PARTY.items():
        if included.startswith(prefix):
            return None if folder in owners else f"only {', '.join(sorted(owners))} may include {included}"
    target = folder_of(os.path.dirname(included)) if included.startswith(("core/", "host/", "plugins/", "tests/")) else None
    if target is None or target == folder:
        return None
    allowed = ARROWS[folder]
    if target in allowed or ("core" in allowed and target.startswith("core/")):
        return None
    if is_test:
        return None  # tests and benchmarks may build their inputs with anything
    return f"{folder} may not include {target}"


def main():
    problems = 0
    files = 0
    for top in ("core", "host", "plugins", "plugin-api"):
        for directory, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                if not name.endswith((".h", ".cc", ".c", ".inc")):
                    continue
                path = os.path.relpath(os.path.join(directory, name), ROOT)
                folder = folder_of(path)
                if folder is None:
                    print(f"{path}: error: no arrow rule covers this folder; add it to scripts/check_arrows.py")
                    problems += 1
                    continue
                files += 1
                is_test = "_test." in name or "_benchmark." in name or "/tests/" in path
                with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
                    for number, line in enumerate(stream, 1):
                        match = INCLUDE.match(line)
                        if not match:
                            continue
                        why = check_include(folder, is_test, match.group(2))
                        if why:
                            print(f"{path}:{number}: error: {why}")
                            problems += 1
    print(f"checked {files} files, {problems} violations")
    return 1 if problems or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
