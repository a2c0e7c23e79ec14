#!/bin/sh
# The table of instructions, docs/emu-coverage.md: run the emulator's tests with a code cache of their own, then compare or
# write the table. usage: tools/emu-coverage.sh BUILD_DIR --check | --update [--seen FILE] [--wild FILE]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$1 mode=$2
shift 2
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
for t in "$build"/test_emu_*; do
  [ -x "$t" ] || continue
  MLAF_SOURCE_DIR=$root MLAF_CACHE_DIR=$cache "$t" > "$cache/log" 2>&1 || { cat "$cache/log"; exit 1; }
done
[ "$mode" = --check ] || set -- --wild "$root/tests/emu/wild_gfx942.txt" "$@"
MLAF_SOURCE_DIR=$root "$build/emu-coverage" "$mode" "$root/docs/emu-coverage.md" "$cache" "$@"
