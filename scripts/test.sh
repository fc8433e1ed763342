#!/usr/bin/env bash
# Installs what is missing, builds everything with its tests (build/dev), and runs them. Arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset dev
cmake --build --preset dev
ctest --preset dev -j "$(nproc)" "$@"
