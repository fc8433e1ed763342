#!/usr/bin/env bash
# Every command-line and bad-plugin case under AddressSanitizer and UBSan (build/asan). Arguments go to ctest.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
cmake --preset asan
cmake --build --preset asan --target zomboss zb_plugin_gemmini zb_plugin_hill zb_plugin_random cli_test badplugins_test
ctest --preset asan -j "$(nproc)" -R '^(cli_test|badplugins_test)\.' "$@"
