#!/bin/sh
# tools/engines.sh [ENGINE...]: runs engines with mlaforge and without it, on tiny random models and the emulator: no GPU is needed. ENGINE:
# transformers (all without arguments). Prints a table; exits with 1 where a row fails. docs/engines.md.
#
# The engines' packages go to build-engines/ENGINE, pinned below, once. MLAF_LIBRARY: the library, build/libmlaforge.so.0 by default.
# MLAF_ENGINES_VENV: a virtual environment that has the packages already.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build-engines
TORCH=2.13.0

packages() {
  case $1 in
    transformers) echo "torch==$TORCH transformers==5.19.0 numpy" ;;
    *) echo "tools/engines.sh: $1 is no engine, must be transformers" >&2; exit 2 ;;
  esac
}

install() {
  [ -n "${MLAF_ENGINES_VENV:-}" ] && return
  wanted=$(packages "$1")
  [ "$(cat "$work/$1/installed" 2>/dev/null)" = "$wanted" ] && return
  echo "engines: installing $wanted"
  python3 -m venv "$work/$1"
  # shellcheck disable=SC2086 # words
  "$work/$1/bin/pip" install --quiet $wanted
  echo "$wanted" >"$work/$1/installed"
}

[ $# -gt 0 ] || set -- transformers
mkdir -p "$work"
export MLAF_LIBRARY="${MLAF_LIBRARY:-$root/build/libmlaforge.so.0}" MLAF_DEVICE=emu:gfx942 MLAF_CACHE_DIR="$work/cache" MLAF_DB="$work/none.db"
export PYTHONPATH="$root/python:$root/tools/engines" PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 MLAF_ENGINES="$work"
[ -f "$MLAF_LIBRARY" ] || { echo "tools/engines.sh: there is no $MLAF_LIBRARY: build first, or set MLAF_LIBRARY" >&2; exit 2; }
for engine in "$@"; do packages "$engine" >/dev/null; done
failed=
for engine in "$@"; do
  install "$engine"
  start=$(date +%s)
  "${MLAF_ENGINES_VENV:-$work/$engine}/bin/python" "$root/tools/engines/check_$engine.py" 2>"$work/$engine.log" || failed="$failed $engine"
  echo "engines: $engine took $(($(date +%s) - start)) s; what it says beside this is in $work/$engine.log"
done
[ -z "$failed" ] || { echo "engines: failed:$failed"; exit 1; }
