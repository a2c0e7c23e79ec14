#!/usr/bin/env bash
# compute-sanitizer over a representative set of the CUDA kernels: every family, schedule and way of merging, each through the
# verifier's three cases with the broken inputs. One line a variant; exit code 1 when one is wrong or anything is reported.
#   tools/sanitize.sh racecheck | memcheck [ARG...]   ARGs go to `mlaforge verify`
# Known: racecheck holds back who waits at a cluster's barrier until all wait, so sm90_few with cluster=2 and one split comes out
# NaN; docs/lab/server.md, "racecheck", proves it.
# COMPUTE_SANITIZER names the program. racecheck wants 2026.4 (of CUDA 13.5): 2025.3 (of 13.0) does not know what bar.arrive
# orders and reports races that are none (tests/gpu/racecheck_control.cu, docs/lab/kernels-hopper.md). MLAFORGE names ours.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${1:-}
case $tool in racecheck | memcheck) ;; *) echo "usage: $0 racecheck | memcheck [ARG...]" >&2; exit 2 ;; esac
shift
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
program=${MLAFORGE:-${MLAF_BUILD_DIR:-build}/mlaforge}
command -v "$sanitizer" > /dev/null || { echo "$0: no $sanitizer here: COMPUTE_SANITIZER names it" >&2; exit 3; }
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

check() { # NUMBER PROBLEM VARIANT: a line in $log/NUMBER
  local out=$log/$1.out status=0 said
  "$sanitizer" --tool "$tool" --error-exitcode 9 "$program" verify "mla_decode:$2" --device cuda --inject nan-q,oob-page \
    --variant "$3" "${arguments[@]}" > "$out" 2>&1 || status=$?
  said=$(grep -o 'SUMMARY: .*' "$out" || grep -m 1 '^mlaforge:' "$out" || tail -n 1 "$out")
  printf '%-9s %s %s: %s correct, %s\n' "$([ $status = 0 ] && echo clean || echo "FAILED $status")" "$2" "$3" \
    "$(grep -c '^correct' "$out")" "$said" > "$log/$1"
}

arguments=("$@")
number=100
while read -r problem variant; do
  number=$((number + 1))
  check $number "$problem" "$variant" &
  while [ "$(jobs -rp | wc -l)" -ge "${MLAF_JOBS:-$(nproc)}" ]; do wait -n; done
done << 'SET'
h128,r512,p64,q1,bf16,page64,b2,s330 sm90_many:cluster=2,schedule=turns/s1
h64,r512,p64,q1,bf16,page64,b2,s330 sm90_many:cluster=1,schedule=turns/s1
h128,r512,p64,q1,bf16,page64,b2,s330 sm90_many:cluster=2,schedule=splits/s3,rows=1,team=4
h128,r512,p64,q1,f16,page8,b3,s330 sm90_many:cluster=1,schedule=turns/s2,rows=1,team=2
h40,r512,p64,q2,causal,bf16,page16,b2,s330 sm90_many:cluster=1,schedule=fitted/s1,rows=4,team=2
h128,r512,p64,q1,bf16,page64,b2,s330 sm90_many:cluster=2,schedule=fitted/s1,rows=4,team=2
h128,r512,p64,q1,bf16,page16,b2,s330 sm90_many:cluster=2,schedule=fitted/s1,early=1,rows=4,team=2
h80,r512,p64,q1,bf16,page64,b2,s330 sm90_mid:rows=80,schedule=fitted/s1,early=1,rows=4,team=2
h128,r512,p64,q1,bf16,page64,b2,s330 sm90_many:cluster=2,schedule=fitted/s3,rows=1,team=8
h16,r512,p64,q1,bf16,page64,b2,s330 sm90_few:cluster=1,load=tma,rows=16,schedule=fitted,wgs=2/s1
h16,r512,p64,q1,bf16,page64,b2,s330 sm90_few:cluster=6,load=tma,rows=16,schedule=splits,wgs=2/s1
h16,r512,p64,q1,bf16,page1,b2,s330 sm90_few:cluster=2,load=gather,rows=16,schedule=splits,wgs=2/s1
h16,r512,p64,q1,bf16,page64,b2,s330 sm90_few:cluster=2,load=tma,rows=16,schedule=fitted,wgs=2/s3,rows=1,team=8
h80,r512,p64,q1,bf16,page64,b2,s330 sm90_mid:rows=80,schedule=splits/s2,rows=1,team=2
h128,r512,p64,q1,bf16,page1,b2,s330 sm90_many_gather:schedule=fitted/s1,rows=4,team=2
h40,r512,p64,q2,causal,bf16,page3,b3,s330 sm90_many_gather:schedule=splits/s3,rows=1,team=4
h80,r512,p64,q1,bf16,page1,b2,s330 sm90_mid_gather:rows=80,schedule=splits/s2,rows=1,team=2
h40,r512,p64,q1,bf16,page1,b2,s330 sm90_mid_gather:rows=48,schedule=fitted/s1,early=1,rows=4,team=2
h20,r512,p64,q3,causal,bf16,page16,b3,s330 sm90_mid:rows=64,schedule=fitted/s1,rows=4,team=2
h128,r256,p64,q1,bf16,page64,b2,s330 sm90_small_rank:schedule=splits/s3,rows=1,team=2
h128,r256,p64,q1,bf16,page64,b2,s330 sm90_small_rank:schedule=fitted/s1,rows=4,team=2
h80,r512,p64,q1,bf16,page64,b2,s330 mma:blocks=1,cols=4,stages=3,teams=1,tile=32/s11,rows=1,team=4
h80,r512,p64,q1,bf16,rope_pairs,page64,b2,s330 mma_rotate:blocks=1,cols=4,stages=3,teams=1,tile=32/s11,rows=1,team=4
h64,r512,p0,q1,bf16,fp8_v4,page1,b2,s330 mma_cache:blocks=2,cols=4,stages=3,teams=2,tile=32/s5,rows=1,team=4
h16,r512,p64,q1,bf16,rope_halves,page64,b2,s330 sm90_few_rotate:cluster=2,load=tma,rows=16,schedule=fitted,wgs=2/s1
h16,r512,p64,q1,bf16,rope_pairs,page1,b2,s330 sm90_few_rotate:cluster=2,load=gather,rows=16,schedule=splits,wgs=2/s1
h128,r512,p64,q1,bf16,rope_halves,page64,b2,s330 sm90_many_rotate:cluster=2,schedule=fitted/s1,rows=4,team=2
h64,r512,p64,q1,bf16,e4m3fn,page64,b2,s330 sm90_raw_mid:load=pages,rows=64,schedule=fitted/s2,rows=1,team=8
h64,r512,p64,q1,bf16,fp8_ds_mla,page1,b2,s330 sm90_raw_mid:load=rows,rows=64,schedule=fitted/s2,rows=1,team=8
h64,r512,p0,q1,bf16,fp8_v4,page1,b2,s330 sm90_raw_mid:load=rows,rows=64,schedule=fitted/s2,rows=1,team=8
h32,r512,p0,q1,bf16,fp8_v4,page1,b2,s330 sm90_raw_two:load=rows,rows=32,schedule=fitted/s2,rows=1,team=8
h64,r256,p32,q1,bf16,rope_halves,page16,b2,s330 sm90_many_rotate:cluster=1,schedule=splits/s3,rows=1,team=4
SET
wait
cat "$log"/1??
[ "$(cat "$log"/1?? | grep -c '^clean .*: [1-9][0-9]* correct, ')" = $((number - 100)) ]
