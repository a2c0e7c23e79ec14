#!/bin/sh
# The table of instructions, tests/emu/instructions.txt, against what the emulator's tests have compiled: compare or write them.
# usage: tools/emu-coverage.sh BUILD_DIR --check | --update [--seen FILE] [--wild FILE], the files for gfx942
# CTest hands over the cache that this run's tests had to themselves (MLAF_EMU_CACHE); without it they run here.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 mode=$2
shift 2
cache=${MLAF_EMU_CACHE:-}
if [ -z "$cache" ]; then
  cache=$(mktemp -d)
  trap 'rm -rf "$cache"' EXIT
  for t in "$build"/test_emu_*; do
    [ -x "$t" ] || continue
    MLAF_SOURCE_DIR=$root MLAF_CACHE_DIR=$cache "$t" > "$cache/log" 2>&1 || { cat "$cache/log"; exit 1; }
  done
fi
MLAF_SOURCE_DIR=$root "$build/emu-coverage" "$mode" "$root/tests/emu/instructions.txt" "$cache" "$@"
