#!/usr/bin/env bash
# Rules a program can check: widths, tabs, banned calls, file and function sizes, order-dependent Lua, pages. Prints file:line.
set -u
cd "$(dirname "$0")/.."
bad=0
complain() { bad=1; printf '%s\n' "$1"; }

sources=$(git ls-files '*.c' '*.h')
lua=$(git ls-files '*.lua')
templates=$(git ls-files 'templates/*')

while read -r hit; do [ -n "$hit" ] && complain "$hit: longer than 130 columns"; done < <(
  awk 'length($0) > 130 { print FILENAME ":" FNR }' $sources $lua $templates)
while read -r hit; do [ -n "$hit" ] && complain "$hit: tab or trailing blank"; done < <(
  grep -nP '\t|[ ]+$' $sources $lua $templates | cut -d: -f1,2)
# Unbounded or process-wide C calls. Library code may not end the caller's process either (tests and *_main.c may).
while read -r hit; do [ -n "$hit" ] && complain "$hit: banned call"; done < <(
  grep -nP '\b(strcpy|strcat|sprintf|vsprintf|gets|atoi|atol|atof|system|setenv|putenv)\s*\(' $(echo "$sources" | grep '^runtime/\|^include/') | cut -d: -f1,2)
while read -r hit; do [ -n "$hit" ] && complain "$hit: ends the caller's process"; done < <(
  grep -nP '\b(abort|exit|assert)\s*\(' $(echo "$sources" | grep '^runtime/' | grep -v '_main\.c$\|^runtime/cli/') | cut -d: -f1,2)
# Numbers have a point in every locale (base/numbers.h): nothing in the library reads or prints one by itself. The command's own
# process is in the "C" locale from its first line to its last (it alone writes the pages of runtime/report), and the loader for
# other projects prints none.
while read -r hit; do [ -n "$hit" ] && complain "$hit follows the locale; use base/numbers.h"; done < <(
  perl -0777 -ne '
    sub at { 1 + (substr($_[0], 0, $_[1]) =~ tr/\n//) }
    my ($t, $words) = ($_, qr/"(?:\\.|[^"\\])*"/);
    $t =~ s{(/\*.*?\*/)}{$1 =~ tr/\n/ /cr}gse;
    while ($t =~ /(?<!\w)(\w*printf|\w*scanf)\s*\(((?:$words|[^;"])*);/g) {
      my ($name, $body, $place) = ($1, $2 =~ s/\bPRI\w+/"u"/gr, $-[0]);
      my $format = join "", map { substr $_, 1, -1 } $body =~ /$words/g;
      $format =~ s/%%//g;
      print "$ARGV:", at($t, $place), ": $name\n" if $name !~ /^mlaf_/ && $format =~ /%[-+ #0-9.*]*[lL]?[aefgAEFG]/;
    }
    while ($t =~ /(?<!\w)(strto(?:d|f|ld)|setlocale|localeconv|uselocale)\s*\(/g) { print "$ARGV:", at($t, $-[0]), ": $1\n" }' \
    $(echo "$sources" | grep '^runtime/\|^python/' | grep -v '^runtime/\(cli\|report\|embed\)/\|^runtime/base/numbers'))
while read -r hit; do [ -n "$hit" ] && complain "$hit: pairs() has no order; use the sorted iterator"; done < <(
  grep -nP '(?<![i\w])pairs\s*\(' $(echo "$lua" | grep '^gen/') | grep -v 'style: pairs-ok' | cut -d: -f1,2)
while read -r lines file; do
  [ "$file" != total ] && [ "$lines" -gt 800 ] && complain "$file: $lines lines; 800 is the limit"
done < <(wc -l $sources $lua $templates)
# A C function body starts at "{" ending a column-0 line and ends at "}" in column 0.
while read -r hit; do [ -n "$hit" ] && complain "$hit"; done < <(
  awk 'FNR == 1 { start = 0 }
       /^[A-Za-z].*\) \{$/ { start = FNR; name = $0 }
       /^\}/ && start { if (FNR - start > 80) print FILENAME ":" start ": function of " FNR - start " lines; 80 is the limit"; start = 0 }' \
    $(echo "$sources" | grep '^runtime/'))
# Pages for people: short sentences, no long lines, and every page that is named is there.
pages=$(lua5.4 tools/check-docs.lua $(git ls-files) 2>&1) || complain "${pages:-tools/check-docs.lua failed}"
# Comments, terms, subjects of commits, versions.
words=$(lua5.4 tools/check-words.lua $(git ls-files) 2>&1) || complain "${words:-tools/check-words.lua failed}"
# Pictures are what their texts make.
pictures=$(lua5.4 tools/draw.lua --check 2>&1) || complain "${pictures:-tools/draw.lua failed}"
[ "$bad" = 0 ] && echo "style: ok ($(echo "$sources" | wc -w) C files, $(echo "$lua" | wc -w) Lua files)"
exit "$bad"
