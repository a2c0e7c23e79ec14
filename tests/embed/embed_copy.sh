#!/usr/bin/env bash
# tests/embed/embed_copy.sh SOURCE BUILD: bundle -> embed -> the example project by copy, in a folder that holds nothing else, run
# against a HIP runtime over the emulator and compared with plain C in double precision; then a whole layer's operations.
set -euo pipefail
source_dir=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "embed: $*" >&2; exit 1; }
export MLAF_CACHE_DIR=${MLAF_TEST_CACHE:-$build/test-cache}
"$build/mlaforge" generate --models deepseek-v3 --tp 8 --targets gfx942 --batch 2 --ctx 256,4096 --out "$work/bundle" \
  >"$work/log" 2>&1 || { cat "$work/log"; fail "generate"; }
cp -r "$source_dir/examples/embed-copy" "$work/project"
"$build/mlaforge" embed --from "$work/bundle" --out "$work/project/kernels" || fail "embed"
"$build/mlaforge" embed --from "$work/bundle" --out "$work/again" >/dev/null
diff -r "$work/project/kernels" "$work/again" || fail "two runs differ"
for part in "$source_dir"/runtime/embed/*.[ch] "$source_dir"/runtime/ops/mla_decode/embed/*.[ch]; do
  cmp "$work/again/$(basename "$part")" "$part" || fail "$(basename "$part") is another one"
done
# The rest is the library's own text, but for the licence, includes and the prefix.
for part in device/kernel_launch.h op/{bound.h,op.h,compare.c,offer.c,point.c} ops/mla_decode/{args,block_tables,fit,prepare}.c; do
  name=$work/again/mlaf_embed_$(echo "${part#ops/}" | tr / _)
  sed -e 1,2d -e '/^#include "/d' -e 's/decode_workspace_of/decode_workspace/; s/decode_problem_of_bound/decode_problem/' \
    -e 's/decode_kernel_args/decode_args/g; s/mlaf_embed_/mlaf_/g; s/MLAF_EMBED_/MLAF_/g' "$name" |
    diff - <(grep -v '^#include "' "$source_dir/runtime/$part") || fail "$part is not the library's"
done
cmp "$work/again/LICENSE.mlaforge" "$source_dir/LICENSE" || fail "the licence is another one"
for file in "$work"/again/*.[ch]; do # whoever takes one file out has to see its licence
  [ "$(head -1 "$file")" = "/* SPDX-License-Identifier: MIT */" ] || fail "$(basename "$file") does not begin with its licence"
  sed -n 2p "$file" | grep -q "Copyright (c) 2026 the mlaforge authors" || fail "$(basename "$file") names no author"
done
if ls "$work/again" | grep mlaf_embed_mla_ | grep -v mlaf_embed_mla_decode; then fail "another operation's files"; fi
for file in "$work"/again/mlaf_embed*.[ch]; do
  [ "$(wc -l <"$file")" -lt 400 ] || fail "$(basename "$file") has 400 lines or more"
done
strict="-Wall -Wextra -Wshadow -pedantic -Wno-overlength-strings -Werror"
CFLAGS="-O1 $strict" make -C "$work/project" >"$work/log" 2>&1 || { cat "$work/log"; fail "build"; }
if readelf -d "$work/project/decode" | grep NEEDED | grep -vE 'lib(c|m|dl)\.so'; then fail "it needs other libraries"; fi
hip=$build/fakehip/libamdhip64_fakehip6.so
for ctx in 200 4096; do # one split, and many with a combine kernel behind
  (cd "$work/project" && MLAF_HIP_LIBRARY=$hip ./decode "$ctx") || fail "wrong result"
done
if (cd "$work/project" && MLAF_HIP_LIBRARY=/nowhere ./decode 2>"$work/log"); then fail "ran without a driver"; fi
grep -q "no usable libamdhip64" "$work/log" || { cat "$work/log"; fail "the message does not name the cause"; }

# The page's budget holds the baselines of the page's shapes, and drops something.
ln -s "$build" "$work/build"
sed -n '/^build.*generate.*--size-budget/p; /^grep.*dropped/p' "$source_dir/docs/offline.md" >"$work/page"
(cd "$work" && bash -e page) >"$work/log" 2>&1 || { cat "$work/log"; fail "docs/offline.md: --size-budget"; }
grep -q ^dropped "$work/log" || { cat "$work/log"; fail "docs/offline.md: nothing was dropped"; }

# A whole layer, of all operations that it has for prompts and for tokens.
cp -r "$source_dir/examples/embed-layer" "$work/layer"
cp "$source_dir/examples/layer/reference.h" "$work/layer"
"$build/mlaforge" generate "@$work/layer/problems.txt" --targets gfx942 --out "$work/whole" >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "generate of a layer"; }
"$build/mlaforge" embed --from "$work/whole" --out "$work/layer/kernels" || fail "embed of a layer"
CFLAGS="-O0 $strict" make -C "$work/layer" >"$work/log" 2>&1 || { cat "$work/log"; fail "build of a layer"; }
for file in "$work"/layer/kernels/*.h; do
  grep -q "include \"$(basename "$file")\"" "$work"/layer/kernels/*.[ch] "$work/layer/main.c" ||
    fail "$(basename "$file"): nobody includes it"
done
if command -v clang >/dev/null; then # it warns of other things than gcc
  for file in "$work"/again/mlaf_embed*.c "$work"/layer/kernels/mlaf_embed*.c; do
    clang -std=c11 $strict -fsyntax-only "$file" || fail "clang"
  done
fi
for compiler in c++ clang++; do # a C++ program may include what is for programs
  command -v $compiler >/dev/null || continue
  printf '#include "kernels/mlaf_kernels.h"\nint main() { return mlaf_kernels.n_targets; }\n' >"$work/layer/main.cc"
  for standard in 11 17; do
    $compiler -std=c++$standard -Wall -Wextra -Werror -fsyntax-only "$work/layer/main.cc" || fail "C++$standard"
  done
done
MLAF_HIP_LIBRARY=$hip "$work/layer/layer" || fail "wrong layer"
echo "embed: ok"
