#!/usr/bin/env bash
# A compiler launcher for package.sh: what MLAF_REUSE, a build of the same sources, has compiled by the very same command need not be
# compiled again. All files that this read must be older than its object, too; else the compiler runs.
command=("$@") plain=()
while [ $# -gt 0 ]; do
  case $1 in
    -MD) ;;
    -MT) shift ;;
    -MF) dependencies=$2; shift ;;
    -o) object=$2; plain+=("$1") ;;
    *) plain+=("$1") ;;
  esac
  shift
done
here=$PWD
if [ -n "${object:-}" ] && [ -n "${dependencies:-}" ] && cd "$MLAF_REUSE"; then
  set -f
  if [ -f "$object" ] && [ -f "$object.d" ] && grep -qF -- "${plain[*]//"$here"/$MLAF_REUSE}\"" compile_commands.json &&
    newer=$(find $(sed 's/^[^ ]*://; s/\\$//' "$object.d") -newer "$object" -print -quit) && [ -z "$newer" ]; then
    cp -p "$object" "$here/$object" && sed "s|\( \)\(\.\.*/\)|\1$MLAF_REUSE/\2|g; s|$MLAF_REUSE/generated|$here/generated|g" "$object.d" >"$here/$dependencies" && exit 0
  fi
  cd "$here"
fi
exec "${command[@]}"
