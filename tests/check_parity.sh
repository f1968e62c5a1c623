#!/usr/bin/env bash
# Is every kinformer test that PARITY.md names there, and does a row without one say why? Run by ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

bad=0 rows=0 names=0
complain() { echo "PARITY.md: $*" >&2; bad=1; }

# "unit/store:name " for each test that a program runs.
registered=' '
for file in */test_*.c; do
    noun=${file%/*}/${file##*/test_}
    while read -r name; do
        registered+="${noun%.c}:$name "
    done < <(grep -oE '(cmocka_unit_test[a-z_]*|\bTEST)\([A-Za-z0-9_]+' "$file" | cut -d '(' -f 2)
done

check_names() { # ROW'S NAME, "unit/noun: name, name; unit/other: name"
    local row=$1 place file name places names_of
    IFS=';' read -ra places <<<"${2// /}"
    for place in "${places[@]}"; do
        file=${place%%:*}
        IFS=',' read -ra names_of <<<"${place#*:}"
        for name in "${names_of[@]}"; do
            names=$((names + 1))
            case "$registered" in *" $file:$name "*) ;; *) complain "$row: there is no test '$name' in '$file'" ;; esac
        done
    done
}

while IFS='|' read -r _ theirs ours note rest; do
    theirs=${theirs# } theirs=${theirs% }
    case "$theirs" in 'client-go test' | ---*) continue ;; esac
    rows=$((rows + 1))
    [ -z "${rest// /}" ] || complain "$theirs: more than three columns"
    if [ -n "${ours// /}" ]; then
        check_names "$theirs" "$ours"
    elif [ -z "${note// /}" ]; then
        complain "$theirs: neither a test nor a reason"
    fi
done < <(grep '^|' PARITY.md)

[ "$rows" -gt 0 ] || complain "has no rows"
[ "$bad" -ne 0 ] || echo "PARITY.md: $rows rows, $names tests named, all there"
exit "$bad"
