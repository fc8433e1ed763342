#!/usr/bin/env bash
# Installs what is missing, builds Zomboss, and runs one real search on a bundled workload: HLO in, verified Gemmini
# kernel out. Extra arguments go to `zomboss search`.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh
echo "zomboss: building (build/release)"
cmake --preset release -DZB_BUILD_TESTS=OFF -DZB_BUILD_BENCHMARKS=OFF >build-demo.log 2>&1 \
  && cmake --build --preset release >>build-demo.log 2>&1 \
  || { tail -n 40 build-demo.log >&2; echo "zomboss: the build failed; the whole log is in build-demo.log" >&2; exit 1; }
rm -f build-demo.log

set -x
build/release/bin/zomboss search workloads/gemmini/gemm_c3.hlo --target gemmini --policy hill --seed 1 "$@"
