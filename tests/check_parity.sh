#!/usr/bin/env bash
# Is every kinformer test that PARITY.md names there, and does a row without one say why? Where client-go's sources are (the end-to-end
# tests download them): has each of its tests in the folders of PARITY.md a row, and is each row one of them? Run by ctest.
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

declare -A row_of # "tools/cache/store_test.go TestCache": how often it has a row
declare -A folders
folder='' file=''

note_rows() { # "TestA, TestB" or "TestA: a case of it"
    local tests test
    IFS=',' read -ra tests <<<"${1%%:*}"
    for test in "${tests[@]}"; do
        test="$folder/$file ${test// /}"
        row_of[$test]=$((${row_of[$test]:-0} + 1))
        [[ $1 = *:* || ${row_of[$test]} -eq 1 ]] || complain "$test: has more than one row"
    done
}

while IFS='|' read -r begin theirs ours note rest; do
    case "$begin" in
    '### '*) file=${begin#'### '} ;;
    '## '*)
        folder=${begin#'## '}
        folder=${folder%%:*} file=''
        folders[$folder]=1
        ;;
    esac
    theirs=${theirs# } theirs=${theirs% }
    case "$theirs" in '' | 'client-go test' | ---*) continue ;; esac
    rows=$((rows + 1))
    note_rows "$theirs"
    [ -z "${rest// /}" ] || complain "$theirs: more than three columns"
    if [ -n "${ours// /}" ]; then
        check_names "$theirs" "$ours"
    elif [ -z "${note// /}" ]; then
        complain "$theirs: neither a test nor a reason"
    fi
done < <(grep -E '^(\||##)' PARITY.md)

version=$(sed -n 's,^\tk8s.io/client-go \(v[0-9.]*\)$,\1,p' e2e/go.mod)
module=${GOMODCACHE:-${GOPATH:-${HOME:-}/go}/pkg/mod}/k8s.io/client-go@$version
compared='client-go is not here to compare with'
if [ -d "$module" ]; then
    declare -A theirs_of
    for folder in "${!folders[@]}"; do
        for file in "$module/$folder"/*_test.go; do
            while read -r test; do
                theirs_of["$folder/${file##*/} $test"]=1
            done < <(grep -oE '^func Test[A-Za-z0-9_]*' "$file" | cut -d ' ' -f 2 | grep -vx TestMain || true)
        done
    done
    for test in "${!theirs_of[@]}"; do [ -n "${row_of[$test]:-}" ] || complain "$test: has no row"; done
    for test in "${!row_of[@]}"; do [ -n "${theirs_of[$test]:-}" ] || complain "$test: client-go has no such test"; done
    compared="${#theirs_of[@]} tests of client-go $version, each with a row"
fi

[ "$rows" -gt 0 ] || complain "has no rows"
[ "$bad" -ne 0 ] || echo "PARITY.md: $rows rows, $names tests named, all there; $compared"
exit "$bad"
