#!/usr/bin/env bash
# The style and structure checks: arrows between folders, clang-format, and (with --tidy) clang-tidy on build/dev.
set -euo pipefail
cd "$(dirname "$0")/.."

python3 scripts/check_arrows.py
mapfile -t sources < <(git ls-files '*.h' '*.cc')
if command -v clang-format >/dev/null; then
  clang-format --dry-run --Werror "${sources[@]}"
  echo "clang-format: ${#sources[@]} files are formatted"
else
  echo "clang-format is not installed: formatting not checked (scripts/install-deps.sh --developer)" >&2
fi
if [[ "${1:-}" == "--tidy" ]]; then
  mapfile -t units < <(git ls-files 'core/*.cc' 'host/*.cc' 'plugins/*.cc')
  clang-tidy -p build/dev --quiet "${units[@]}"
fi
