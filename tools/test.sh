#!/usr/bin/env bash
# Set up, build and run every test: T0 (style, generator, goldens), T1 (C units, emulator, compiler, faults), and the C
# tests again under the address and undefined-behaviour sanitizers and, in the same run, a locale whose decimal point is a comma.
# comma: T1 as it is, under that locale. Usage: tools/test.sh [t0|t1|asan|comma|all]
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
case $what in t0|t1|asan|comma|all) ;; *) echo "usage: tools/test.sh [t0|t1|asan|comma|all]" >&2; exit 2 ;; esac
tools/setup.sh
jobs=$(nproc)
tests=$((jobs + 1)) # at a time: some wait for other processes, or for a second to be over
# No test skips: what finds no compiler fails. NVRTC alone may be done without, by asking for that.
without=none
if [ "${MLAF_PYPI_INDEX:-}" = none ] && [ ! -d .deps/nvrtc ]; then without=nvrtc; echo "without NVRTC, as MLAF_PYPI_INDEX=none asks"; fi
# A test that runs on and on ends by a signal: seconds of CPU time of each of its processes; the longest takes some 100 of them.
ulimit -S -t 3600
# Programs start as if their host had set another locale for numbers (tests/base/comma_preload.c); one that cannot have it fails.
comma() { LD_PRELOAD="$PWD/$1/libcomma.so" MLAF_COMMA_DIR="$PWD/$1/locale" "${@:2}"; }
# Compilers are asked once: both builds, with sanitizers and without, share what was compiled.
export MLAF_MEMO_DIR=${MLAF_MEMO_DIR:-$PWD/build/compile-memo}
step() { printf '\n== %s\n' "$*"; }

step "build (release)"
cmake --preset release >/dev/null
# Its own status, not that of grep, which finds nothing to show as a rule.
cmake --build build -j "$jobs" -- --no-print-directory | { grep -vE '^\[ *[0-9]+%\]' || true; }
if [ "$what" = t0 ] || [ "$what" = all ]; then step "T0"; ctest --test-dir build -L t0 --output-on-failure -j "$tests"; fi
if [ "$what" = t1 ] || [ "$what" = all ]; then step "T1"; ctest --test-dir build -L t1 -LE "$without" --output-on-failure -j "$tests"; fi
if [ "$what" = comma ]; then
  step "T1 under a locale with a decimal comma"
  comma build ctest --test-dir build -L t1 -LE "$without" --output-on-failure -j "$tests"
fi
if [ "$what" = asan ] || [ "$what" = all ]; then
  step "T1 under ASan and UBSan, and a locale with a decimal comma"
  # Rooms above the emulator are tested over the one that was just built: its own tests and those of kernels have it instrumented.
  cmake --preset asan -DMLAF_EMU_PLAIN="$PWD/build/libmlaf_emu.a" >/dev/null
  cmake --build build-asan -j "$jobs" >/dev/null
  # The same kernels by the same compiler: what the tests before have compiled need not be compiled again.
  for cache in test-cache emu-cache; do
    if [ -d "build/$cache" ]; then mkdir -p build-asan/test-cache && cp -rn "build/$cache/." build-asan/test-cache/; fi
  done
  # the sanitizer wants to be loaded first, but what comes before it here allocates nothing that it would have to see
  # 64 MB of freed memory are held back, not 256: new pages for each buffer of a device are most of a command's system time.
  ASAN_OPTIONS="quarantine_size_mb=64${ASAN_OPTIONS:+:$ASAN_OPTIONS}:verify_asan_link_order=0" \
    comma build-asan ctest --test-dir build-asan -L t1 -LE "slow|$without" --output-on-failure -j "$tests"
fi
