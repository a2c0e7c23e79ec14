#!/usr/bin/env bash
# The main job, from a fresh clone: set up, build, tune DeepSeek-V3's decode attention at TP8 (16 heads) and TP1 (128 heads) for
# a small batch on the emulated MI300X, plan both again from the database with no compile at all, then check a whole layer
# against double precision and write the page that says where its time goes.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh --tools
# Compilers of kernels are needed at run time only: they are fetched while the library is built.
tools/setup.sh &
setup=$!
cmake --preset release >/dev/null
cmake --build build -j "$(nproc)" --target mlaforge mlaforge-worker >/dev/null
wait "$setup"
# The demo's own database and cache: nothing of the user's is touched, and a second run starts from what the first one learned.
export MLAF_DB=${MLAF_DB:-build/demo/tuning.db} MLAF_CACHE_DIR=${MLAF_CACHE_DIR:-build/demo/cache}
mkdir -p build/demo

step() { printf '\n== %s\n' "$*"; }
shape=(--model deepseek-v3 --batch 2 --ctx 1024 --device emu:gfx942)
# 8 candidates keep the demo short; by default tune tries 40 of a problem on an emulator.
for tp in 8 1; do
  step "tune DeepSeek-V3 at TP$tp: mlaforge tune ${shape[*]} --tp $tp --max-candidates 8"
  build/mlaforge tune "${shape[@]}" --tp "$tp" --max-candidates 8
done
for tp in 8 1; do
  step "plan DeepSeek-V3 at TP$tp again, from the database: mlaforge bench ${shape[*]} --tp $tp"
  build/mlaforge bench "${shape[@]}" --tp "$tp"
done
step "what the database holds for this device now"
build/mlaforge db show --device emu:gfx942
step "a whole layer at TP8, checked against double precision: mlaforge layer ${shape[*]} --tp 8 --profile --out build/demo/layer.html"
build/mlaforge layer "${shape[@]}" --tp 8 --profile --out build/demo/layer.html
step "done: build/demo/layer.html says where its time goes"
