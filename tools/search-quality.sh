#!/usr/bin/env bash
# How good is the pruned search, and how good is the nearest choice where a shape was not tuned?
#   tools/search-quality.sh [-n] BUILD_DIR [OUT_DIR] [OPTIONS OF mlaforge tune ...]
# For every problem of a grid: all candidates are tried (exhaustive, resumable: run it again after a stop), then the pruned
# search runs over the same samples, so that both see the very same times. Every second context length of the grid is held out:
# for those, the choice of the nearest other shape is compared with the best of all.
# The options say which grid and device; without any: a small one on the emulator. -n: no exhaustive run, only the rest on what
# OUT_DIR holds, also of a stopped run. Works on any device. Prints a table, then the figures; exit code 1 when a target is
# missed (95 % of the problems within 3 % at no more than 15 % of the evaluations; held-out shapes within 5 %).
set -euo pipefail
cd "$(dirname "$0")/.."
report_only=
if [ "${1:-}" = -n ]; then report_only=1; shift; fi
build=${1:?usage: tools/search-quality.sh [-n] BUILD_DIR [OUT_DIR] [OPTIONS]}
out=${2:-$build/search-quality}
shift $(($# > 2 ? 2 : $#))
[ $# -gt 0 ] || set -- --device emu:gfx942 --model deepseek-v3 --tp 8,32 --batch 1,2,4 --ctx 256,384,512,768,1024
mkdir -p "$out"
db=$out/exhaustive.db
if [ -z "$report_only" ]; then
  "$build/mlaforge" tune "$@" --strategy exhaustive --db "$db" --json > "$out/exhaustive.jsonl"
fi
# Over a copy: everything is known, nothing is timed, and what the search met is judged, not the choice. Problem by problem, so that
# a stopped exhaustive run counts as far as it came.
rm -f "$out/pruned.db"*
"$build/mlaforge" db merge "$db" --db "$out/pruned.db" > /dev/null
: > "$out/pruned.jsonl"
: > "$out/nearest.jsonl"
device=$(printf '%s\n' "$@" | grep -A1 -x -- --device | tail -n 1 || true)
sed -n 's/.*"schema":"mlaforge.tune".*"problem":"\([^"]*\)".*/\1/p' "$out/exhaustive.jsonl" | while read -r problem; do
  "$build/mlaforge" tune "$problem" ${device:+--device "$device"} --strategy pruned --db "$out/pruned.db" --json >> "$out/pruned.jsonl"
done
# Held-out shapes: what a plan takes that knows the choices of all other shapes.
held=$(lua5.4 tools/search-quality.lua "$out" held | tr '\n' '|')
rm -f "$out/others.db"*
"$build/mlaforge" db export --db "$db" | awk -F'\t' -v held="${held%|}" 'NR <= 2 || $2 !~ ",s(" held ")$"' |
  "$build/mlaforge" db import - --db "$out/others.db" > /dev/null
sed -n 's/.*"schema":"mlaforge.tune".*"problem":"\([^"]*\)".*/\1/p' "$out/exhaustive.jsonl" | grep -E ",s(${held%|})$" |
  while read -r problem; do
    "$build/mlaforge" bench "$problem" ${device:+--device "$device"} --db "$out/others.db" --json >> "$out/nearest.jsonl"
  done
lua5.4 tools/search-quality.lua "$out"
