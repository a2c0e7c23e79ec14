#!/usr/bin/env bash
# tests/install/package.sh SOURCE BUILD: make the package, unpack it elsewhere, and decode with it in an empty environment, from C, from
# Python and from the wheel.
set -euo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "package: $*" >&2; exit 1; }

export MLAF_REUSE=$build CMAKE_C_COMPILER_LAUNCHER=$source_dir/tests/install/reuse.sh
MLAF_PACKAGE_BUILD=$build/package "$source_dir/tools/package.sh" "$work/out" >"$work/log" 2>&1 || { cat "$work/log"; fail "tools/package.sh"; }
unset MLAF_REUSE CMAKE_C_COMPILER_LAUNCHER
mkdir "$work/elsewhere"
tar -C "$work/elsewhere" -xzf "$work"/out/mlaforge-*.tar.gz
prefix=$(echo "$work"/elsewhere/mlaforge-*)
# nothing but libc, and nothing exported but the API
for file in lib/libmlaforge.so.0 bin/mlaforge libexec/mlaforge-worker; do
  ldd "$prefix/$file" | grep -E 'lua|sqlite|crypto|libz\.|not found' && fail "$file wants a library that such a machine has not"
done
nm -D --defined-only "$prefix/lib/libmlaforge.so.0" | awk '{print $3}' | sort >"$work/exports"
sort "$source_dir/tests/abi.txt" | diff - "$work/exports" || fail "exported symbols differ from tests/abi.txt"
if grep -qaF "$source_dir" "$prefix/lib/libmlaforge.so.0" "$prefix/bin/mlaforge"; then fail "a path of the machine that built it is in it"; fi

# where hiprtc is, the machine that serves has to say, as any machine does
rocm=${MLAF_ROCM:-}
[ -n "$rocm" ] || [ ! -d "$source_dir/.deps/rocm" ] || rocm=$source_dir/.deps/rocm
clean=(env -i "PATH=/usr/bin:/bin" "HOME=$work" "MLAF_DEVICE=emu:gfx942" "MLAF_DB=$work/t.db" "MLAF_CACHE_DIR=$build/test-cache"
       "PYTHONDONTWRITEBYTECODE=1" "MLAF_ROCM=$rocm")
cp -r "$source_dir/examples/find-package" "$work/c"
(cd "$work/c" && "${clean[@]}" PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" make) >"$work/log" 2>&1 || { cat "$work/log"; fail "C against the package"; }
"${clean[@]}" LD_LIBRARY_PATH="$prefix/lib" "$work/c/uses_mlaforge" || fail "C: the result is wrong"
"${clean[@]}" "$prefix/bin/mlaforge" plan --help >/dev/null 2>&1 || "${clean[@]}" "$prefix/bin/mlaforge" devices >/dev/null || fail "the command"
python=$(command -v python3)
cp "$source_dir/examples/python/decode.py" "$work/"
(cd "$work" && "${clean[@]}" PYTHONPATH="$prefix/lib/python3/dist-packages" "$python" decode.py) || fail "Python from the tar"
# the wheel, as an installer lays it out: the files of the archive with their modes
"$python" - "$work"/out/mlaforge-*.whl "$work/site" <<'END'
import base64, hashlib, os, sys, zipfile
wheel, site = sys.argv[1:]
with zipfile.ZipFile(wheel) as z:
    record = next(n for n in z.namelist() if n.endswith("/RECORD"))
    listed = dict(line.split(",")[:2] for line in z.read(record).decode().splitlines())
    assert set(listed) == set(z.namelist()), "RECORD and archive differ"
    for entry in z.infolist():
        data = z.read(entry)
        if entry.filename != record:
            want = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert listed[entry.filename] == want, entry.filename
        path = z.extract(entry, site)
        os.chmod(path, entry.external_attr >> 16 & 0o777)
END
cmp "$source_dir/LICENSE" "$work"/site/mlaforge-*.dist-info/LICENSE || fail "the wheel's licence"
grep -qx "License: MIT" "$work"/site/mlaforge-*.dist-info/METADATA || fail "the wheel's metadata name no licence"
(cd "$work" && "${clean[@]}" PYTHONPATH="$work/site" "$python" decode.py) || fail "Python from the wheel"
(cd "$work" && "${clean[@]}" PYTHONPATH="$work/site" "$python" -c '
import mlaforge, mlaforge.library as l
assert l.library()._name.endswith("site/mlaforge/prefix/lib/libmlaforge.so.0"), l.library()._name
print("compiled module:", bool(l.fast()))') || fail "the wheel loads another library"
echo "package: ok"
