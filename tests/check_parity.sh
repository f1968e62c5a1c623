#!/usr/bin/env bash
# Is every kinformer test that PARITY.md names there, and does a row without one say why? Run by ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

bad=0 rows=0 names=0
complain() { echo "PARITY.md: $*" >&2; bad=1; }
trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }

while IFS='|' read -r _ theirs ours note rest; do
    theirs=$(trim "$theirs") ours=$(trim "$ours") note=$(trim "$note")
    case "$theirs" in 'client-go test' | ---*) continue ;; esac
    rows=$((rows + 1))
    [ -z "$(trim "$rest")" ] || complain "$theirs: more than three columns"
    [ -n "$ours$note" ] || complain "$theirs: neither a test nor a reason"
    while read -r place; do
        [ -n "$place" ] || continue
        file=${place%%:*}
        file=${file%/*}/test_${file##*/}.c
        if [ ! -f "$file" ]; then complain "$theirs: there is no tests/$file"; continue; fi
        while read -r name; do
            names=$((names + 1))
            grep -Eq "cmocka_unit_test[a-z_]*\(${name}[,)]" "$file" || complain "$theirs: tests/$file has no test '$name'"
        done < <(tr -d ' ' <<<"${place#*:}" | tr , '\n')
    done < <(tr ';' '\n' <<<"$ours" | sed 's/^ *//; s/ *$//')
done < <(grep '^|' PARITY.md)

[ "$rows" -gt 0 ] || complain "has no rows"
[ "$bad" -ne 0 ] || echo "PARITY.md: $rows rows, $names tests named, all there"
exit "$bad"
