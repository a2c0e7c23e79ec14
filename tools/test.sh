#!/usr/bin/env bash
# Set up, build and run every test: T0 (style, generator, goldens), T1 (C units, emulator, compiler, faults), and the C
# tests again under the address and undefined-behaviour sanitizers. Usage: tools/test.sh [t0|t1|asan|all]
set -euo pipefail
cd "$(dirname "$0")/.."
what=${1:-all}
case $what in t0|t1|asan|all) ;; *) echo "usage: tools/test.sh [t0|t1|asan|all]" >&2; exit 2 ;; esac
tools/setup.sh
jobs=$(nproc)
# No test skips: what finds no compiler fails. NVRTC alone may be done without, by asking for that.
without=none
if [ "${MLAF_PYPI_INDEX:-}" = none ] && [ ! -d .deps/nvrtc ]; then without=nvrtc; echo "without NVRTC, as MLAF_PYPI_INDEX=none asks"; fi
step() { printf '\n== %s\n' "$*"; }

step "build (release)"
cmake --preset release >/dev/null
cmake --build build -j "$jobs" -- --no-print-directory | grep -vE '^\[ *[0-9]+%\]' || true
cmake --build build -j "$jobs" >/dev/null # the status the pipe above hid
if [ "$what" = t0 ] || [ "$what" = all ]; then step "T0"; ctest --test-dir build -L t0 --output-on-failure -j "$jobs"; fi
if [ "$what" = t1 ] || [ "$what" = all ]; then step "T1"; ctest --test-dir build -L t1 -LE "$without" --output-on-failure -j "$jobs"; fi
if [ "$what" = asan ] || [ "$what" = all ]; then
  step "T1 under ASan and UBSan"
  cmake --preset asan >/dev/null
  cmake --build build-asan -j "$jobs" >/dev/null
  ctest --test-dir build-asan -L t1 -LE "slow|$without" --output-on-failure -j "$jobs"
fi
