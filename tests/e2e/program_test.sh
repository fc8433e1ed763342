#!/usr/bin/env bash
# program_test.sh ZOMBOSS SOURCE: same seed, same JSON (timing and place in the history aside); the exported kernel, the plan file and the
# reproduce command give the reported latency again; a damaged kernel does not verify.
set -euo pipefail
zomboss=$1
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cp -r "$source/workloads" .
export HOME=$folder XDG_CONFIG_HOME='' XDG_DATA_HOME=''

without_timing() { python3 -c 'import json,sys; d=json.load(sys.stdin); d.pop("timing"); d.pop("history"); print(json.dumps(d, sort_keys=True))'; }
field() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval("d"+sys.argv[2]))' "$1" "$2"; }
expect_equal() { [[ "$1" == "$2" ]] || { echo "FAIL: $3: '$1' is not '$2'"; exit 1; }; echo "ok: $3"; }

for policy in hill random; do
  for workload in gemm_c3 linear_c2; do
    args=(search "workloads/gemmini/$workload.hlo" --target gemmini --policy "$policy" --seed 1 --json)
    "$zomboss" "${args[@]}" -o a >first.json 2>/dev/null
    "$zomboss" "${args[@]}" -o a >second.json 2>/dev/null
    expect_equal "$(without_timing <first.json)" "$(without_timing <second.json)" "$policy $workload: same seed, same JSON"
    latency=$(field first.json '["best"]["latency"]')

    check=$(field first.json '["check"]')
    eval "$check --json" >check.json
    expect_equal "$(field check.json '["latency"]')" "$latency" "$policy $workload: the exported kernel has the reported latency"
    expect_equal "$(field check.json '["outcome"]')" valid "$policy $workload: the exported kernel verifies"

    "$zomboss" compile "workloads/gemmini/$workload.hlo" --plan "a/$workload/plan.json" -o b --json >compile.json
    expect_equal "$(field compile.json '["latency"]')" "$latency" "$policy $workload: the plan file has the reported latency"
    cmp "a/$workload/kernel.trace" "b/$workload/kernel.trace"
    cmp "a/$workload/kernel.c" "b/$workload/kernel.c"

    reproduce=$(field first.json '["reproduce"]')
    eval "$reproduce --json -o a" >again.json 2>/dev/null
    expect_equal "$(field again.json '["best"]["latency"]')" "$latency" "$policy $workload: the reproduce command gives the same best"
  done
done

# A kernel without its last store leaves part of the output unwritten.
grep -v '^#' a/gemm_c3/kernel.trace | awk '$1 == 3' | tail -n 1 >last_store
grep -vxFf last_store a/gemm_c3/kernel.trace >damaged.trace
code=0
"$zomboss" check damaged.trace --workload workloads/gemmini/gemm_c3.hlo >damaged.out || code=$?
expect_equal "$code" 4 "a kernel without its last store is refused with exit code 4"
echo "all ok"
