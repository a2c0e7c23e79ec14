#!/usr/bin/env bash
# Make this checkout ready to build: Debian's build tools and libraries, a ROCm compiler (hiprtc and comgr) and NVIDIA's NVRTC.
#
#   tools/setup.sh            install or unpack what is missing; a second run finds everything and takes no time
#   tools/setup.sh --tools    the Debian packages alone, which is all that a build needs
#   tools/setup.sh --check    change nothing; exit 0 if everything is there, 1 if not, and say what
#   tools/setup.sh --force    unpack the private ROCm again even if it is there
#
# Where things go: Debian packages into the system (only when run as root, else the command to run is printed). ROCm is
# taken from $MLAF_ROCM, the system or /opt/rocm if it is there, else Debian's own packages are unpacked, without root,
# into .deps/rocm of this checkout. NVRTC is taken from $MLAF_NVRTC, $CUDA_HOME, /usr/local/cuda or the system, else NVIDIA's own
# wheel is unpacked into .deps/nvrtc; where that cannot be had the rest works, without targets sm_*. Nothing else is touched.
#
# MLAF_DEBIAN_MIRROR names the mirror for the private ROCm (default: the one apt uses here); apt's own proxy settings apply.
# MLAF_PYPI_INDEX names the package index for NVRTC (default: what pip is configured for); "none": do without.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=forky              # the Debian suite that carries HIP 6.4 and LLVM 21: bookworm has no hiprtc
rocm_package=libamdhip64-dev
stamp_format=1           # raise to make every private prefix unpack anew
deps=$PWD/.deps
prefix=$deps/rocm
libs=$prefix/usr/lib/x86_64-linux-gnu
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
need_mb=500              # 60 MB of archives and 290 MB of files, at once
nvrtc=$deps/nvrtc
nvrtc_wheel=nvidia-cuda-nvrtc==13.0.88
nvrtc_sha256=ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575

mode=install
case ${1:-} in
  '') ;;
  --check) mode=check ;;
  --tools) mode=tools ;;
  --force) mode=force ;;
  -h | --help) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
  *) echo "usage: tools/setup.sh [--tools|--check|--force|--help]" >&2; exit 2 ;;
esac

started=$(date +%s)
say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$@" >&2; exit 3; }
missing=0

# ---- build tools and libraries -------------------------------------------------------------------------------------

# "probe|package": the probe is what the build really needs, so libraries from elsewhere (Fedora, conda) count too.
wanted='command -v cc && command -v make|build-essential
command -v cmake|cmake
command -v pkg-config|pkg-config
command -v lua5.4|lua5.4
command -v git|git
command -v python3|python3
pkg-config --exists lua5.4|liblua5.4-dev
pkg-config --exists sqlite3|libsqlite3-dev
pkg-config --exists cmocka|libcmocka-dev
pkg-config --exists libcjson|libcjson-dev
pkg-config --exists libcrypto|libssl-dev
pkg-config --exists zlib|zlib1g-dev
python3 -m pip --version|python3-pip
ls /etc/ssl/certs/ca-*|ca-certificates'

lacking() {
  while IFS='|' read -r probe package; do
    (eval "$probe") >/dev/null 2>&1 || printf '%s ' "$package"
  done <<<"$wanted"
}

setup_packages() {
  local packages root
  packages=$(lacking)
  if [ -z "$packages" ]; then say "build tools and libraries: all there"; return; fi
  root=''
  [ "$(id -u)" = 0 ] || root='sudo '
  local command="${root}apt-get update && ${root}apt-get install -y --no-install-recommends $packages"
  if [ "$mode" = check ]; then say "missing Debian packages: $packages"; missing=1; return; fi
  command -v apt-get >/dev/null || die "missing: $packages(Debian's names) and there is no apt-get: install them by your system's means"
  [ -z "$root" ] || die "missing Debian packages, and only root may install them. Run:" "  $command" "then tools/setup.sh again."
  say "installing Debian packages: $packages"
  export DEBIAN_FRONTEND=noninteractive
  # One retry: mirrors hiccup, and a half-fetched index is the usual reason for a failed install.
  apt-get -q -o Dpkg::Use-Pty=0 update >"$deps/apt.log" 2>&1 || true
  # shellcheck disable=SC2086  # the list is meant to split
  apt-get -qy -o Dpkg::Use-Pty=0 install --no-install-recommends $packages >>"$deps/apt.log" 2>&1 ||
    { sleep 3 && apt-get -q update >>"$deps/apt.log" 2>&1 &&
      apt-get -qy -o Dpkg::Use-Pty=0 install --no-install-recommends $packages >>"$deps/apt.log" 2>&1; } ||
    { tail -n 15 "$deps/apt.log" >&2; die "apt-get could not install them (log: .deps/apt.log; no network, or no mirror?). By hand:" "  $command"; }
  packages=$(lacking)
  [ -z "$packages" ] || die "still missing after the installation: $packages"
  say "installed"
}

# ---- ROCm ----------------------------------------------------------------------------------------------------------

has_rocm() { ls "$1"/libhiprtc.so* >/dev/null 2>&1 && ls "$1"/libamd_comgr.so* >/dev/null 2>&1; }

# A ROCm that needs no unpacking; prints its library folder. The same places, in the same order, as the runtime looks.
system_rocm() {
  local dir
  if [ -n "${MLAF_ROCM:-}" ]; then
    for dir in "$MLAF_ROCM"/usr/lib/x86_64-linux-gnu "$MLAF_ROCM"/lib "$MLAF_ROCM"/lib64 "$MLAF_ROCM"/lib/x86_64-linux-gnu "$MLAF_ROCM"; do
      if has_rocm "$dir"; then echo "$dir"; return 0; fi
    done
    die "MLAF_ROCM is '$MLAF_ROCM', which holds no libhiprtc and libamd_comgr: correct it or unset it"
  fi
  # shellcheck disable=SC2086,SC2046
  for dir in $(tr : ' ' <<<"${LD_LIBRARY_PATH:-}") /opt/rocm/lib /opt/rocm/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64 /usr/local/lib /usr/lib \
             $(cat /etc/ld.so.conf.d/*.conf 2>/dev/null | grep '^/' || true); do
    if has_rocm "$dir"; then echo "$dir"; return 0; fi
  done
  return 1
}

# Checks what the private prefix must say and do to be trusted. It is only ever put in place whole (by rename), so this guards
# against an older layout and against files removed since.
prefix_good() {
  local stamp=$prefix/mlaforge-setup
  [ -f "$stamp" ] && grep -qx "format $stamp_format" "$stamp" && grep -qx "suite $suite" "$stamp" && loads "$libs"
}

# Every library of the prefix finds every other through the prefix's own loader, with nothing patched.
loads() {
  local list
  for lib in libamd_comgr.so.? libhiprtc.so.?; do
    # shellcheck disable=SC2086
    list=$("$1"/ld-linux-x86-64.so.2 --library-path "$1" --list "$1"/$lib 2>&1) || return 1
    # a library missing here might be found in the system: not good enough, that one is of another libc
    if grep '=>' <<<"$list" | grep -vqF "=> $1/"; then return 1; fi
  done
}

# Mirrors to try, best first.
mirrors() {
  if [ -n "${MLAF_DEBIAN_MIRROR:-}" ]; then echo "${MLAF_DEBIAN_MIRROR%/}"; return; fi
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    grep -oE '^(deb .*|URIs: *)https?://[^ ]*/debian/?( |$)' | grep -oE 'https?://[^ ]*/debian' || true
}

fetch_archives() { # mirror, work folder
  local work=$2
  mkdir -p "$work"/lists/partial "$work"/cache/archives/partial "$work"/empty
  : >"$work/status"
  echo "deb [check-valid-until=no signed-by=$keyring] $1 $suite main" >"$work/sources.list"
  # Private apt state: an empty package database, so that every dependency down to libc is fetched; no lock, no sandbox
  # user, none of the machine's pins or other sources. The machine's proxy settings stay in force.
  local apt=(apt-get -o Dir::State::lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache"
    -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::preferences=- -o
    Dir::Etc::preferencesparts="$work/empty" -o Debug::NoLocking=1 -o APT::Sandbox::User= -o APT::Install-Recommends=0
    -o APT::Default-Release= -o APT::Architecture=amd64 -o Acquire::Languages=none -o Acquire::Retries=2
    -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30 -o Binary::apt-get::APT::Keep-Downloaded-Packages=1)
  # update exits 0 when a mirror cannot be reached: what it fetched is what counts
  "${apt[@]}" -q update || return 1
  ls "$work"/lists/*_Packages* >/dev/null 2>&1 || return 1
  "${apt[@]}" -qy install --download-only "$rocm_package" || return 1
  ls "$work"/cache/archives/*.deb >/dev/null 2>&1
}

unpack_archives() { # work folder
  local deb root=$1/root
  mkdir "$root"
  for deb in "$1"/cache/archives/*.deb; do dpkg -x "$deb" "$root" || return 1; done
  rm -rf "$root"/usr/share/doc "$root"/usr/share/man "$root"/usr/share/locale "$root"/usr/share/lintian "$root"/usr/lib/x86_64-linux-gnu/gconv
  loads "$root/usr/lib/x86_64-linux-gnu" || return 1
  {
    echo "format $stamp_format"
    echo "suite $suite"
    # shellcheck disable=SC2016  # dpkg expands these
    for deb in "$1"/cache/archives/*.deb; do dpkg-deb -W --showformat '${Package} ${Version}\n' "$deb"; done
  } >"$root/mlaforge-setup"
}

private_rocm() {
  local work log mirror tried='' mb
  [ "$(uname -m)" = x86_64 ] || die "no ROCm here, and Debian's is for x86_64 only (this is $(uname -m)): install ROCm and set MLAF_ROCM"
  for tool in apt-get dpkg dpkg-deb; do
    command -v $tool >/dev/null || die "no ROCm here, and no $tool to unpack Debian's: install ROCm (hiprtc, comgr) and set MLAF_ROCM to its prefix"
  done
  [ -n "$(mirrors)" ] || die "apt's configuration names no Debian mirror: name one with" \
    "  MLAF_DEBIAN_MIRROR=http://HOST/debian tools/setup.sh   or install ROCm and set MLAF_ROCM to its prefix"
  [ -r $keyring ] || die "no $keyring: install debian-archive-keyring, or install ROCm and set MLAF_ROCM"
  mb=$(stat -f -c '%a %S' "$deps" | awk '{ printf "%d", $1 * $2 / 1048576 }') # df wants /proc, which a bare chroot lacks
  [ "$mb" -ge $need_mb ] || die "$deps has $mb MB free and $need_mb MB are needed while unpacking"
  work=$(mktemp -d "$deps/tmp.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  trap 'exit 130' INT TERM HUP
  log=$deps/rocm.log
  : >"$log"
  for mirror in $(mirrors | awk '!seen[$0]++'); do
    say "fetching hiprtc, comgr and the HIP runtime ($suite) from $mirror"
    if fetch_archives "$mirror" "$work" >>"$log" 2>&1; then tried=''; break; fi
    tried="$tried $mirror"
    rm -rf "$work"/lists "$work"/cache
  done
  if [ -n "$tried" ]; then
    grep -E '^(E|Err|W):|Could not|Temporary failure|Unable' "$log" | tail -n 5 >&2 || true
    die "could not fetch ROCm from$tried (log: .deps/rocm.log). Is there a network? Name a reachable Debian mirror with" \
      "  MLAF_DEBIAN_MIRROR=http://HOST/debian tools/setup.sh   (apt's proxy settings are honoured)" \
      "or install ROCm and set MLAF_ROCM to its prefix. Nothing was changed."
  fi
  say "unpacking $(du -sm "$work/cache/archives" | cut -f1) MB of archives into .deps/rocm"
  unpack_archives "$work" >>"$log" 2>&1 || die "could not unpack ROCm (log: .deps/rocm.log; a full disk?). Nothing was changed."
  rm -rf "$prefix"
  mv "$work/root" "$prefix" # one rename: whoever looks sees all of it or nothing
  rm -rf "$work"
  trap - EXIT INT TERM HUP
}

versions() { # library folder
  local file out=''
  for file in "$1"/libhiprtc.so "$1"/libhiprtc.so.? "$1"/libamd_comgr.so.? "$1"/libLLVM.so.*; do
    [ -e "$file" ] && out="$out $(basename "$(readlink -f "$file")")"
  done
  tr ' ' '\n' <<<"$out" | sort -u | xargs
}

setup_rocm() {
  local where
  if [ "$mode" != force ] && where=$(system_rocm); then say "ROCm: $where ($(versions "$where"))"; return; fi
  [ -z "${MLAF_ROCM:-}" ] || [ "$mode" = force ] || exit 3 # system_rocm has said why
  if [ "$mode" != force ] && prefix_good; then
    say "ROCm: .deps/rocm, $(du -sm "$prefix" | cut -f1) MB ($(versions "$libs"))"
    return
  fi
  if [ "$mode" = check ]; then say "no ROCm (hiprtc, comgr)"; missing=1; return; fi
  private_rocm
  say "ROCm: .deps/rocm, $(du -sm "$prefix" | cut -f1) MB ($(versions "$libs"))"
}

# ---- NVRTC ---------------------------------------------------------------------------------------------------------

has_nvrtc() { ls "$1"/libnvrtc.so.1[23] >/dev/null 2>&1; }

# An NVRTC that needs no unpacking; prints its folder. The same places, in the same order, as the runtime looks.
system_nvrtc() {
  local root dir
  for root in ${MLAF_NVRTC:-"${CUDA_HOME:-}" /usr/local/cuda}; do
    for dir in "$root"/lib64 "$root"/lib "$root"/targets/x86_64-linux/lib "$root"; do
      if [ -n "$root" ] && has_nvrtc "$dir"; then echo "$dir"; return 0; fi
    done
  done
  [ -z "${MLAF_NVRTC:-}" ] || die "MLAF_NVRTC is '$MLAF_NVRTC', which holds no libnvrtc.so.13 or .12: correct it or unset it"
  # shellcheck disable=SC2086,SC2046
  for dir in $(tr : ' ' <<<"${LD_LIBRARY_PATH:-}") /usr/lib/x86_64-linux-gnu /usr/lib64; do
    if has_nvrtc "$dir"; then echo "$dir"; return 0; fi
  done
  return 1
}

# The wheel by its name and sum, through the index that pip is configured for or that was named; unpacked and put in place whole.
private_nvrtc() { # index or "", work folder
  say "fetching NVRTC ($nvrtc_wheel)"
  echo "$nvrtc_wheel --hash=sha256:$nvrtc_sha256" >"$2/wanted"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    ${1:+--index-url "$1"} --dest "$2" --requirement "$2/wanted" || { echo "pip cannot fetch $nvrtc_wheel"; return 1; }
  mv "$2"/nvidia_cuda_nvrtc-*.whl "$2/wheel"
  (cd "$2" && cmake -E tar xf wheel) || { echo "cannot unpack $nvrtc_wheel"; return 1; }
  rm -f "$2"/nvidia/cu13/lib/*.alt.so*
  cp "$2"/nvidia_cuda_nvrtc-*.dist-info/licenses/License.txt "$2/nvidia/cu13/"
  echo "$nvrtc_sha256" >"$2/nvidia/cu13/mlaforge-setup"
  rm -rf "$nvrtc"
  mv "$2/nvidia/cu13" "$nvrtc"
}

setup_nvrtc() {
  local where work why
  if [ "$mode" != force ] && where=$(system_nvrtc); then say "NVRTC: $where"; return; fi
  [ -z "${MLAF_NVRTC:-}" ] || [ "$mode" = force ] || exit 3 # system_nvrtc has said why
  if [ "$mode" != force ] && grep -qsx "$nvrtc_sha256" "$nvrtc/mlaforge-setup" && has_nvrtc "$nvrtc/lib"; then
    say "NVRTC: .deps/nvrtc"
    return
  fi
  why="not wanted (MLAF_PYPI_INDEX=none)"
  if [ "$mode" = check ]; then say "no NVRTC: no targets sm_* (not needed for the rest)"; return; fi
  if [ "${MLAF_PYPI_INDEX:-}" != none ] && [ "$(uname -m)" = x86_64 ]; then
    work=$(mktemp -d "$deps/tmp.XXXXXX")
    if why=$(private_nvrtc "${MLAF_PYPI_INDEX:-}" "$work" 2>&1); then why=''; fi
    rm -rf "$work"
  fi
  if [ -z "$why" ]; then say "NVRTC: .deps/nvrtc, $(du -sm "$nvrtc" | cut -f1) MB"; return; fi
  say "no NVRTC, so no targets sm_*; the rest works: $(tail -n 1 <<<"$why")"
  say "  install the CUDA toolkit, or name one with MLAF_NVRTC, or a reachable index with MLAF_PYPI_INDEX, and run this again"
}

# ---- one set-up at a time --------------------------------------------------------------------------------------------

if [ "$mode" != check ]; then
  mkdir -p "$deps"
  exec 9>"$deps/setup.lock"
  if ! flock -n 9; then # the kernel drops the lock when its holder dies, however it dies
    say "another tools/setup.sh is at work in this checkout: waiting for it (20 minutes at most)"
    flock -w 1200 9 || die "it is still at work; look for a hanging apt-get, end it, and run this again"
  fi
  rm -rf "$deps"/tmp.?????? # left by a killed run; nobody else can be using it while we hold the lock
fi
setup_packages
if [ "$mode" = tools ]; then exit 0; fi
setup_rocm
setup_nvrtc
if [ "$mode" = check ]; then exit "$missing"; fi
say "done in $(($(date +%s) - started)) s"
