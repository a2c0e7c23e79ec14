#!/usr/bin/env bash
# Make the tuning texts that are shipped.
#
#   tools/ship-tuning.sh BUILD_DIR [SCRATCH_DIR]
#     tuning/gfx942.tsv: choices for the shapes of the main models, found on the emulator and marked `modelled`, which serve as the
#     "default" rung on every gfx942 that nobody tuned. Hashes and keys are left out: an entry names its variant, which the
#     generator of the day rebuilds for the problem at hand (or refuses, and the plan goes on to the model). Resumable;
#     MLAF_SHIP_CANDIDATES (16) per problem. No device ran them, so there is nothing to soak. Samples that the scratch database
#     already had may be of an older emulator, so all times are taken anew (tools/retime.lua).
#
#   tools/ship-tuning.sh --measured NAME CHOICES.tsv REPORT.jsonl...
#     tuning/NAME.tsv from choices measured on a device (`mlaforge db export`). A choice is shippable when it was soaked:
#     MLAF_SHIP_SOAK (10000) launches or more of these very kernels on its device, none wrong, by the reports of
#     `mlaforge verify --soak N --choices user --json`. One that was not, and nothing is written.
set -euo pipefail
cd "$(dirname "$0")/.."

ship_measured() {
  local name=$1 choices=$2 said
  shift 2
  said=$(lua5.4 tools/soaked.lua "${MLAF_SHIP_SOAK:-10000}" "$choices" "$@") || {
    echo "$said"
    echo "not shipped: soak what is listed (mlaforge verify --soak ${MLAF_SHIP_SOAK:-10000} --choices user --json), or leave it out"
    return 1
  } >&2
  awk -v said="$(echo "$said" | tail -1)" '/^#/ && NR > 1 { next } { print } NR == 2 { print "# Soaked: " said "." }' \
    "$choices" > "tuning/$name.tsv.new"
  mv "tuning/$name.tsv.new" "tuning/$name.tsv"
  echo "$said"
}

if [ "${1:-}" = --measured ]; then
  [ $# -ge 4 ] || { echo "usage: tools/ship-tuning.sh --measured NAME CHOICES.tsv REPORT.jsonl..." >&2; exit 2; }
  shift
  ship_measured "$@"
  exit
fi
build=${1:?usage: tools/ship-tuning.sh BUILD_DIR [SCRATCH_DIR]}
scratch=${2:-$build/ship-tuning}
mkdir -p "$scratch"
tune=("$build/mlaforge" tune --device emu:gfx942 --db "$scratch/ship.db" --max-candidates "${MLAF_SHIP_CANDIDATES:-16}" --json)
models=deepseek-v3,kimi-k2,minicpm3-4b,mistral-small-4
"${tune[@]}" --model "$models" --tp 1,8 --batch 1,8,64 --ctx 1024,4096,16384 > "$scratch/ship.jsonl"
"$build/mlaforge" db export --db "$scratch/ship.db" --out "$scratch/ship.tsv"
awk -F'\t' -v OFS='\t' '
  NR == 1 { print; print "# Defaults for every gfx942: chosen on the emulator, times modelled. Made by tools/ship-tuning.sh."; next }
  NR == 2 { for (i = 1; i <= NF; i++) at[$i] = i; header = $0; next }
  $1 ~ /^emu:gfx942\|/ {
    $at["device"] = "arch:gfx942"
    $at["source"] = "modelled"
    split("toolchain driver clock_mhz mem_clock_mhz", soft, " ")
    for (k in soft) $at[soft[k]] = "*"
    for (k = 0; at["stage"] + k <= NF; k += at["rows_per_wg"] - at["stage"] + 1) {
      $(at["template_hash"] + k) = $(at["src_hash"] + k) = $(at["code_key"] + k) = "-"
    }
    rows[++n] = $0
  }
  END { print header; for (i = 1; i <= n; i++) print rows[i] }' "$scratch/ship.tsv" |
  awk 'NR == 1 { first = $0; next } NR == 2 { note = $0; next } NR == 3 { print first; print; print note; next } { print }' \
    > tuning/gfx942.tsv
lua5.4 tools/retime.lua "$build/mlaforge" tuning/gfx942.tsv --within 0.1 --write # and says in the header when that was
grep -c '^arch:' tuning/gfx942.tsv
