#!/usr/bin/env bash
# Compile, execute and verify N variants (default 24) of each of the 40 problems of a covering grid: heads
# {1,5,8,16,20,40,64,128} x q_len {1,2,3,5,8}, with the four (rank, rope) pairs, page sizes {64,1,16} and masks in rotation; one
# line a problem.
#   tools/verify-grid.sh [N | all]                         on the emulator, by its test program; some 7 minutes on two cores
#   tools/verify-grid.sh --device cuda [N | all] [ARG...]  by `mlaforge verify` on a device: the model's N best, bf16 and f16 in
#                                                          rotation, with the broken inputs; ARGs go to it
# MLAFORGE names the program; MLAF_GRID_PART=K/N takes only every N-th problem from the K-th (0..N-1) on; MLAF_GRID_CACHES="e4m3fn
# e4m3fnuz fp8_ds_mla": 8-bit caches of these formats in rotation, on a device.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ "${1:-}" != --device ]; then
  MLAF_KERNEL_GRID=1 MLAF_KERNEL_VARIANTS=${1:-24} exec "${MLAF_BUILD_DIR:-build}/test_kernels"
fi
device=${2:?which device?}
count=${3:-24}
shift $(($# < 3 ? $# : 3))
limit=()
[ "$count" = all ] || limit=(--max-candidates "$count")
program=${MLAFORGE:-${MLAF_BUILD_DIR:-build}/mlaforge}
heads=(1 5 8 16 20 40 64 128)
q_lens=(1 2 3 5 8)
pages=(64 1 16)
dims=(r512,p64 r512,p0 r256,p64 r256,p32)
part=${MLAF_GRID_PART:-0/1}
read -ra caches <<< "${MLAF_GRID_CACHES:-}"
wrong=0 total=0 problems=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for i in "${!heads[@]}"; do
  for j in "${!q_lens[@]}"; do
    [ $(((5 * i + j) % ${part#*/})) = "${part%/*}" ] || continue
    problems=$((problems + 1))
    causal=
    [ $((q_lens[j] > 1 && (i + j) % 2 == 0)) = 1 ] && causal=,causal
    dtype=bf16
    [ $(((i + 2 * j) % 5)) = 4 ] && dtype=f16
    cache=
    [ ${#caches[@]} = 0 ] || cache=,${caches[(i + j) % ${#caches[@]}]}
    problem="mla_decode:h${heads[i]},${dims[(i + j) % 4]},q${q_lens[j]}$causal,$dtype$cache,page${pages[(2 * i + j) % 3]},b4,s1024"
    status=0
    "$program" verify "$problem" --device "$device" --all "${limit[@]}" --inject nan-q,oob-page "$@" > "$log" 2>&1 || status=$?
    n=$(grep -c -E '^(correct|WRONG) +random' "$log" || true)
    worst=$(awk '$1 == "correct" && $2 == "random" && $4 > m { m = $4 } END { print m + 0 }' "$log")
    printf '%-64s %3d variants, worst error %.2e%s\n' "$problem" "$n" "$worst" "$([ $status = 0 ] || echo "  FAILED ($status)")"
    total=$((total + n))
    if [ $status != 0 ]; then
      wrong=$((wrong + 1))
      grep -E '^WRONG|^mlaforge:|error' "$log" | head -3 || true
    fi
  done
done
echo "$problems problems, $total variants on $device, $wrong problems with findings"
[ $wrong = 0 ]
