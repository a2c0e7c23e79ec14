#!/usr/bin/env bash
# How good is the pruned search, and how good is the nearest choice where a shape was not tuned?
#   tools/search-quality.sh [-nr] [-t SECONDS] BUILD_DIR [OUT_DIR] [OPTIONS OF mlaforge tune ...]
# For every problem of a grid: all candidates are tried (exhaustive, resumable: run it again after a stop), then the pruned
# search runs over the same samples, so that both see the very same times. Of each family and batch every second context length is
# held out: for those, what a plan takes that knows the other shapes is compared with the best of all.
# The options say which grid and device; without any: tools/search-grid.txt on the emulator. On one GPU:
#   tools/search-quality.sh -t 400 BUILD_DIR OUT_DIR @tools/search-grid-gpu.txt --device cuda --give-up 1.5
# (hopeless candidates get one sample; those within 1.5 times the best so far get all of theirs).
# -n: no exhaustive run, only the rest on what OUT_DIR holds. -t: stop the exhaustive run after so long; what is finished counts.
# -r: the pruned search measures for itself, with a database of its own. What it found is judged by its own time and by the
# exhaustive run's sample of the same variant, and the worse of the two counts.
# Prints a table, then the figures; OUT_DIR/search-quality.csv has the table. Exit code 1 when a target is missed (95 % of the
# problems within 3 % at no more than 15 % of the evaluations; held-out shapes within 5 %), 2 when problems of the grid are left.
set -euo pipefail
cd "$(dirname "$0")/.."
report_only= real= seconds=0
while getopts nrt: option; do
  case $option in
    n) report_only=1 ;;
    r) real=1 ;;
    t) seconds=$OPTARG ;;
    *) exit 64 ;;
  esac
done
shift $((OPTIND - 1))
build=${1:?usage: tools/search-quality.sh [-nr] [-t SECONDS] BUILD_DIR [OUT_DIR] [OPTIONS]}
out=${2:-$build/search-quality}
shift $(($# > 2 ? 2 : $#))
[ $# -gt 0 ] || set -- @tools/search-grid.txt --device emu:gfx942
mlaforge=${MLAFORGE:-$build/mlaforge}
mkdir -p "$out"
db=$out/exhaustive.db
device=$(printf '%s\n' "$@" | grep -A1 -x -- --device | tail -n 1 || true)

if [ -z "$report_only" ]; then
  # timeout 0 has no limit; an interrupted tuner ends with what it has finished
  timeout -s INT "$seconds" "$mlaforge" tune "$@" --strategy exhaustive --db "$db" --json > "$out/exhaustive.jsonl" || [ $? -eq 124 ]
fi
"$mlaforge" tune "$@" --dry-run --json > "$out/grid.jsonl"
lua5.4 tools/search-quality.lua "$out" finished > "$out/finished.txt"
[ -s "$out/finished.txt" ] || { echo "no problem of the grid is finished"; exit 2; }

# Over a copy (without -r): everything is known, nothing is timed, and what the search met is judged, not the choice.
rm -f "$out/pruned.db"* "$out/others.db"*
[ -n "$real" ] || "$mlaforge" db merge "$db" --db "$out/pruned.db" > /dev/null
pruned() { "$mlaforge" tune "$@" ${device:+--device "$device"} --strategy pruned --db "$out/pruned.db" --json; }
case $device in
  emu:*) # 40 candidates there unless told otherwise, which is less than the share that is asked for
    lua5.4 tools/search-quality.lua "$out" limits | while read -r problem limit; do
      pruned "$problem" --max-candidates "$limit" < /dev/null
    done ;;
  *) pruned "@$out/finished.txt" ;;
esac > "$out/pruned.jsonl"

: > "$out/samples.jsonl"
[ -z "$real" ] || while read -r problem; do
  "$mlaforge" db show "$problem" --samples --db "$db" --json >> "$out/samples.jsonl"
done < "$out/finished.txt"

# Held-out shapes: what a plan takes that knows the choices and the samples of all other shapes.
lua5.4 tools/search-quality.lua "$out" held > "$out/held.txt"
: > "$out/nearest.jsonl"
if [ -s "$out/held.txt" ]; then
  "$mlaforge" db merge "$db" --db "$out/others.db" > /dev/null
  python3 - "$out/others.db" "$out/held.txt" <<'END'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for problem in open(sys.argv[2]):
    for table in ("choice", "sample"):
        db.execute(f"DELETE FROM {table} WHERE problem = (SELECT id FROM problem WHERE canonical = ?)", (problem.strip(),))
db.commit()
END
  "$mlaforge" bench "@$out/held.txt" ${device:+--device "$device"} --db "$out/others.db" --json > "$out/nearest.jsonl"
fi
lua5.4 tools/search-quality.lua "$out"
