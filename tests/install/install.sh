#!/usr/bin/env bash
# tests/install/install.sh SOURCE BUILD: install into a prefix, move the prefix, and use it as other projects do.
set -euo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "install: $*" >&2; exit 1; }
export MLAF_CACHE_DIR=${MLAF_TEST_CACHE:-$build/test-cache} MLAF_DB=$work/tuning.db MLAF_DEVICE=emu:gfx942
unset MLAF_WORKER MLAF_LIBRARY MLAF_TUNING_DIR || true

DESTDIR=$work/stage cmake --install "$build" --prefix /opt/mlaforge >"$work/log" || { cat "$work/log"; fail "cmake --install"; }
[ ! -e /opt/mlaforge ] || [ -n "${MLAF_HAVE_OPT:-}" ] || fail "DESTDIR was not honoured"
prefix=$work/elsewhere # nothing in the tree may know where it was installed to
mv "$work/stage/opt/mlaforge" "$prefix"
for file in bin/mlaforge libexec/mlaforge-worker lib/libmlaforge.so.0 include/mlaforge/mlaforge.h share/man/man1/mlaforge.1 \
            lib/pkgconfig/mlaforge.pc lib/cmake/mlaforge/mlaforgeConfig.cmake share/mlaforge/tuning/models.tsv \
            lib/python3/dist-packages/mlaforge/__init__.py share/doc/mlaforge/LICENSE \
            share/bash-completion/completions/mlaforge share/zsh/site-functions/_mlaforge share/fish/vendor_completions.d/mlaforge.fish; do
  [ -e "$prefix/$file" ] || fail "$file is missing"
done

# what the library exports, and nothing else
nm -D --defined-only "$prefix/lib/libmlaforge.so.0" | awk '{print $3}' | sort >"$work/exports"
sort "$source_dir/tests/abi.txt" | diff - "$work/exports" || fail "exported symbols differ from tests/abi.txt"
readelf -d "$prefix/lib/libmlaforge.so.0" | grep -q 'SONAME.*libmlaforge.so.0' || fail "no SONAME"
if readelf -d "$prefix/lib/libmlaforge.so.0" "$prefix/bin/mlaforge" | grep -qE 'R(UN)?PATH'; then fail "a run path is in it"; fi
# the man page knows every command
for command in $("$prefix/bin/mlaforge" --help | awk '/^  [a-z]+ /{print $1}'); do
  grep -qi "^.SH $command\$" "$prefix/share/man/man1/mlaforge.1" || fail "man page lacks $command"
done

# the installed command compiles with the installed worker
"$prefix/bin/mlaforge" env >"$work/env" 2>&1 || true
grep -q '^hiprtc  *hiprtc' "$work/env" || { cat "$work/env"; fail "no compiler here: run tools/setup.sh, or ctest -LE rocm"; }
mkdir "$work/cache"
trace=() # where there is strace, see which worker it is: the build's would do as well
command -v strace >/dev/null && trace=(strace -f -s 4096 -e trace=execve -o "$work/trace")
MLAF_CACHE_DIR=$work/cache "${trace[@]}" "$prefix/bin/mlaforge" compile --heads 16 \
  --variant 'mfma_reg:blocks=1,kvload=temporal,psplit=1,qsrc=reg,rescale=always,schedule=splits,tile=16,waves=4/s1' >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "compile with the installed worker"; }
[ ! -s "$work/trace" ] || grep -q "libexec/mlaforge-worker" "$work/trace" || fail "another worker was started"

cmake -S "$source_dir/examples/find-package" -B "$work/fp" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "find_package"; }
cmake --build "$work/fp" >"$work/log" 2>&1 || { cat "$work/log"; fail "build with find_package"; }
cp -r "$source_dir/examples/find-package" "$work/pc"
# with no other package to be seen: a machine that serves has none of the libraries' development packages
(cd "$work/pc" && PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig make) >"$work/log" 2>&1 || { cat "$work/log"; fail "build with pkg-config"; }
cmake -S "$source_dir/examples/cpp" -B "$work/cpp" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 &&
  cmake --build "$work/cpp" >"$work/log" 2>&1 || { cat "$work/log"; fail "C++ example"; }
# the static library, where the build was asked for it (the release preset does)
static=()
if grep -q '^MLAF_INSTALL_STATIC:BOOL=ON' "$build/CMakeCache.txt"; then
  [ -e "$prefix/lib/libmlaforge.a" ] || fail "lib/libmlaforge.a is missing"
  mkdir "$work/st"
  cp "$source_dir/examples/find-package/main.c" "$work/st"
  sed 's/mlaforge::mlaforge/mlaforge::mlaforge_static/' "$source_dir/examples/find-package/CMakeLists.txt" >"$work/st/CMakeLists.txt"
  cmake -S "$work/st" -B "$work/st/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1 && cmake --build "$work/st/build" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "the static library"; }
  ldd "$work/st/build/uses_mlaforge" | grep -q libmlaforge && fail "linked with the shared library after all"
  # shellcheck disable=SC2046  # flags are words
  cc -o "$work/st/by_hand" "$work/st/main.c" $(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs mlaforge-static) \
    >"$work/log" 2>&1 || { cat "$work/log"; fail "the static library with pkg-config"; }
  static=("$work/st/build/uses_mlaforge" "$work/st/by_hand")
fi
for program in "${static[@]}"; do "$program" || fail "the static library's result is wrong"; done
"$work/fp/uses_mlaforge" && "$work/pc/uses_mlaforge" && "$work/cpp/mlaforge_from_cpp" || fail "an example's result is wrong"
# a bundle serves it without a compile; with none it says what would help
"$prefix/bin/mlaforge" generate --heads 16 --batch 4 --ctx 128 --targets gfx942 --out "$work/bundle" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "generate"; }
MLAF_CACHE_DIR=$work/none MLAF_BUNDLE=$work/bundle "$work/pc/uses_mlaforge" --no-compile | tee "$work/log" |
  grep -q '(bundle), 0 of' || { cat "$work/log"; fail "served from a bundle"; }
if MLAF_CACHE_DIR=$work/none "$work/pc/uses_mlaforge" --no-compile >"$work/log" 2>&1; then fail "compiled although it must not"; fi
grep -q "no cache entry" "$work/log" || { cat "$work/log"; fail "a plan without code does not say why"; }
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$prefix/lib/python3/dist-packages python3 "$source_dir/examples/python/decode.py" || fail "python"
echo "install: ok${static:+, with the static library}"
