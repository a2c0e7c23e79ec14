#!/usr/bin/env bash
# tools/api-reference.sh [DIR]: the API reference, of the public headers' comments and the Python package's docstrings, as HTML in
# DIR (build/api-reference). Wants doxygen and python3; a build does not. Prints the page to open; exits 1 where Doxygen warns.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-build/api-reference}
command -v doxygen >/dev/null || { echo "tools/api-reference.sh: doxygen is missing: apt-get install doxygen" >&2; exit 3; }
lua=$(command -v lua5.4 || command -v lua) || { echo "tools/api-reference.sh: lua5.4 is missing: tools/setup.sh" >&2; exit 3; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
version=$(sed -n 's/^project(mlaforge VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)

cat > "$work/main.md" <<MAIN
# mlaforge $version

- [C: headers](files.html): start with problem.h, then context.h and plan.h. layer.h runs a whole layer.
- [Python](@ref python): \`import mlaforge\`.
- Pages with tasks and examples are in \`docs/\` of the source: README.md lists them.
MAIN
python3 tools/api-python.py > "$work/python.md"
cat > "$work/Doxyfile" <<DOXY
PROJECT_NAME = mlaforge
PROJECT_NUMBER = $version
INPUT = include/mlaforge $work/main.md $work/python.md
FILE_PATTERNS = *.h *.md
FILTER_PATTERNS = "*.h=$lua tools/api-filter.lua"
FILTER_SOURCE_FILES = NO
USE_MDFILE_AS_MAINPAGE = $work/main.md
STRIP_FROM_PATH = include $work
STRIP_FROM_INC_PATH = include
OUTPUT_DIRECTORY = $out
HTML_OUTPUT = .
GENERATE_LATEX = NO
OPTIMIZE_OUTPUT_FOR_C = YES
TYPEDEF_HIDES_STRUCT = YES
JAVADOC_AUTOBRIEF = YES
EXTRACT_ALL = YES
DISTRIBUTE_GROUP_DOC = NO
SORT_MEMBER_DOCS = NO
SORT_BRIEF_DOCS = NO
HIDE_UNDOC_RELATIONS = YES
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = MLAF_API= __cplusplus_not
INLINE_SIMPLE_STRUCTS = YES
INLINE_INFO = NO
SHOW_INCLUDE_FILES = NO
SHOW_USED_FILES = NO
DISABLE_INDEX = NO
GENERATE_TREEVIEW = YES
HAVE_DOT = NO
CLASS_GRAPH = NO
SEARCHENGINE = YES
TOC_INCLUDE_HEADINGS = 3
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_LOGFILE = $work/warnings
HTML_TIMESTAMP = NO
DOXY
doxygen "$work/Doxyfile"
if [ -s "$work/warnings" ]; then
  sed "s#$PWD/##; s#$work/##" "$work/warnings" >&2
  exit 1
fi
echo "$out/index.html"
