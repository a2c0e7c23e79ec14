#!/usr/bin/env bash
# tools/ship-tuning.sh --measured ships what was soaked and nothing else; tools/rehash.lua --soaked gives choices whose machine code
# is another one the hashes of kernels that were soaked, and no others. Usage: ship_tuning.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MLAF_TUNING_DIR=/nonexistent MLAF_SITE_DB= MLAF_CACHE_DIR="${MLAF_CACHE_DIR:-$build/test-cache}" MLAF_DB="$work/tuning.db"
mkdir "$work/tuning" # the script writes into the tree that it lies in
cp -r "$source/tools" "$work/tools"
fail() { echo "$1" >&2; exit 1; }
refused() { # what the refusal must say, then the reports
  local says=$1
  shift
  if MLAF_SHIP_SOAK=3 "$work/tools/ship-tuning.sh" --measured box "$work/choices.tsv" "$@" > "$work/said" 2>&1; then
    fail "shipped, although: $says"
  fi
  grep -q "$says" "$work/said" || { cat "$work/said"; fail "does not say: $says"; }
  [ ! -e "$work/tuning/box.tsv" ] || fail "written, although: $says"
}
device=(--device emu:gfx942)
"$build/mlaforge" tune --heads 4,8 --rank 64 --rope 32 --batch 2 --ctx 200 --max-candidates 2 "${device[@]}" > "$work/log"
"$build/mlaforge" db export --out "$work/choices.tsv"
"$build/mlaforge" verify --soak 3 --choices user --json "${device[@]}" > "$work/soak.jsonl"
[ "$(grep -c '"correct":true' "$work/soak.jsonl")" = 2 ] || fail "two choices were to be soaked"
"$build/mlaforge" verify --soak 1 --choices user --shard 0/2 --json "${device[@]}" > "$work/half.jsonl"
[ "$(wc -l < "$work/half.jsonl")" = 1 ] || fail "half of two choices is one"

refused "0 launches soaked with these very kernels, 3 wanted" /dev/null
refused "1 launches soaked" "$work/half.jsonl"
sed 's/"src_hash":"./"src_hash":"x/' "$work/soak.jsonl" > "$work/other.jsonl"
refused "0 launches soaked" "$work/other.jsonl"
sed 's/"correct":true/"correct":false/;s/b2,s200/b9,s900/' "$work/half.jsonl" > "$work/wrong.jsonl"
refused "found a wrong launch" "$work/soak.jsonl" "$work/wrong.jsonl"
MLAF_SHIP_SOAK=3 "$work/tools/ship-tuning.sh" --measured box "$work/choices.tsv" "$work/soak.jsonl" > "$work/said"
grep -q "^# Soaked: 2 choices, 0 modelled; of the others 0 not soaked, the rest with at least 3 launches" "$work/tuning/box.tsv" ||
  fail "the text does not say what was soaked"
MLAF_DB="$work/other.db" "$build/mlaforge" db import "$work/tuning/box.tsv" > "$work/log"
keys() { grep -v '^#' "$1" | cut -f1-4,18; }
MLAF_DB="$work/other.db" "$build/mlaforge" db export --out "$work/again.tsv"
[ "$(keys "$work/again.tsv")" = "$(keys "$work/choices.tsv")" ] || fail "other choices than those exported"

# Other machine code in the tree as it was, other hashes in the choices.
mkdir "$work/old"
cp -r "$source/gen" "$source/templates" "$source/tools" "$work/old"
sed -i 's/LAZY ? 8.0f/LAZY ? 7.0f/' "$work/old/templates/mla_decode/mfma_reg.hip.in"
sed -E 's/[0-9a-f]{64}/x&/g' "$work/choices.tsv" > "$work/stale.tsv"
rehash() { # reports, or none
  cp "$work/stale.tsv" "$work/fresh.tsv"
  lua5.4 "$source/tools/rehash.lua" "$@" "$work/old" gfx942 "$work/fresh.tsv" "$build" > "$work/said" 2>&1
}
rehash && fail "hashes of kernels that are other ones and were not soaked"
rehash --soaked 4 "$work/soak.jsonl" -- && fail "3 launches are not 4"
rehash --soaked 3 "$work/soak.jsonl" "$work/wrong.jsonl" -- && fail "a soak found a wrong launch"
grep -q "no soak of it was good" "$work/said" || fail "does not say why a choice was left"
rehash --soaked 3 "$work/soak.jsonl" -- || { cat "$work/said"; fail "soaked choices were left"; }
cmp "$work/fresh.tsv" "$work/choices.tsv" || fail "other hashes than those that were soaked"
echo "ship_tuning: ok"
