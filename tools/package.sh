#!/usr/bin/env bash
# tools/package.sh OUT: a build for machines that have neither Lua, SQLite, OpenSSL nor cJSON (docs/embedding.md). OUT receives
#   mlaforge-VERSION-linux-ARCH.tar.gz              command, worker, library, headers, tuning data, Python package: unpack anywhere
#   mlaforge-VERSION-py3-none-linux_ARCH.whl        the Python package with library, worker and tuning data in it: pip install
# Both hold one shared library with all of gen/ and templates/ inside; what it wants of the machine is libc (of this machine's
# version or later), a driver, and hiprtc or NVRTC for what is not compiled yet. MLAF_PACKAGE_BUILD: the build folder (kept).
set -euo pipefail
[ $# = 1 ] || { sed -n '2,7s/^# //p' "$0" >&2; exit 2; }
source_dir=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=${MLAF_PACKAGE_BUILD:-$source_dir/build-package}
arch=$(uname -m)

cmake -S "$source_dir" -B "$build" -DCMAKE_BUILD_TYPE=Release -DMLAF_TESTS=OFF -DMLAF_STATIC_DEPS=ON -DMLAF_BUILD_PATHS=OFF >/dev/null
cmake --build "$build" -j"$(nproc)" >/dev/null
version=$(sed -n 's/^project(mlaforge VERSION \([0-9.]*\).*/\1/p' "$source_dir/CMakeLists.txt")
prefix=$work/mlaforge-$version
cmake --install "$build" --prefix "$prefix" --strip >/dev/null

# --- what has no archive, and the terms of what is inside ---
mkdir -p "$prefix/lib/mlaforge" "$prefix/share/doc/mlaforge"
cjson=$(ldd "$build/mlaforge" | awk '/libcjson/ {print $3}')
[ -n "$cjson" ] && cp -L "$cjson" "$prefix/lib/mlaforge/"
for package in liblua5.4-dev libsqlite3-dev libssl-dev libcjson1 zlib1g-dev; do
  [ ! -e "/usr/share/doc/$package/copyright" ] || cp -L "/usr/share/doc/$package/copyright" "$prefix/share/doc/mlaforge/$package"
done
if readelf -d "$prefix"/lib/libmlaforge.so.0 | grep -E 'NEEDED.*(lua|sqlite|crypto|cjson|libz)'; then
  echo "package.sh: the library still wants one of the above" >&2
  exit 1
fi
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -czf "$out/mlaforge-$version-linux-$arch.tar.gz" "mlaforge-$version"

# --- the wheel: one more prefix inside the Python package ---
wheel=$work/wheel inside=$work/wheel/mlaforge/prefix
mkdir -p "$inside/lib" "$inside/libexec" "$inside/share/mlaforge"
cp -r "$prefix"/lib/python3/dist-packages/mlaforge/* "$wheel/mlaforge/"
cp -L "$prefix/lib/libmlaforge.so.0" "$inside/lib/"
cp "$prefix/libexec/mlaforge-worker" "$inside/libexec/"
cp -r "$prefix/share/mlaforge/tuning" "$inside/share/mlaforge/"
cp -r "$prefix/share/doc" "$inside/share/"
cp "$source_dir/LICENSE" "$wheel/"
python3 "$source_dir/tools/make-wheel.py" "$wheel" "$version" "linux_$arch" "$out"
ls "$out"
