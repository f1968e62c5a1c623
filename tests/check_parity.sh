#!/usr/bin/env bash
# Checks that every kinformer test that PARITY.md names exists, and that a row without one says why. Where client-go's sources are on this machine
# (the end-to-end tests download them): that each of its tests in the folders of PARITY.md has a row, and each row is one of them. Where
# controller-runtime's are: that each of its It("...") in the files of PARITY.md has a row. Run by ctest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

bad=0 rows=0 names=0
complain() { echo "PARITY.md: $*" >&2; bad=1; }

# "unit/store:name " for each test that a program runs.
registered=' '
for file in unit/*/test_*.c integration/test_*.c; do
    noun=${file%%/*}/${file##*/test_}
    while read -r name; do
        registered+="${noun%.c}:$name "
    done < <(sed -nE 's/^[A-Z_]*TEST[A-Z_]*\(([^()]* )?([A-Za-z0-9_]+)\) \{$/\2/p' "$file")
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

declare -A spec_of # "pkg/predicate/predicate_test.go should return true": it has a row
note_specs() {      # "should do this; in that case: should do that"
    local specs spec
    IFS=';' read -ra specs <<<"$1"
    for spec in "${specs[@]}"; do
        spec=${spec##*: } spec=${spec# } spec=${spec% }
        spec_of["$peer/$file $spec"]=1
    done
}

note_rows() { # "TestA, TestB" or "TestA: a case of it"
    local tests test
    IFS=',' read -ra tests <<<"${1%%:*}"
    for test in "${tests[@]}"; do
        test="$folder/$file ${test// /}"
        row_of[$test]=$((${row_of[$test]:-0} + 1))
        [[ $1 = *:* || ${row_of[$test]} -eq 1 ]] || complain "$test: has more than one row"
    done
}

peer='' # the folder of controller-runtime
while IFS='|' read -r begin theirs ours note rest; do
    case "$begin" in
    '### '*) file=${begin#'### '} ;;
    '## controller-runtime: '*) peer=${begin#'## controller-runtime: '} folder='' file='' ;;
    '## '*)
        peer=''
        folder=${begin#'## '}
        folder=${folder%%:*} file=''
        folders[$folder]=1
        ;;
    esac
    theirs=${theirs# } theirs=${theirs% }
    case "$theirs" in '' | 'client-go test' | 'controller-runtime test' | ---*) continue ;; esac
    rows=$((rows + 1))
    if [ -n "$peer" ]; then note_specs "$theirs"; else note_rows "$theirs"; fi
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

runtime=${GOMODCACHE:-${GOPATH:-${HOME:-}/go}/pkg/mod}/sigs.k8s.io/controller-runtime@v0.25.2
if [ -d "$runtime" ]; then
    declare -A files_of
    for spec in "${!spec_of[@]}"; do files_of[${spec%%_test.go *}_test.go]=1; done
    all_specs=$(printf '\n%s' "${!spec_of[@]}") # a text of several lines is known by its first
    for file in "${!files_of[@]}"; do
        while read -r spec; do
            [[ $all_specs == *$'\n'"$file $spec"* ]] || complain "controller-runtime: $file: \"$spec\" has no row"
        done < <(sed -nE 's/^[[:space:]]*F?It\("(([^"\\]|\\.)*)".*/\1/p' "$runtime/$file" | sed 's/\\"/"/g')
    done
    compared+="; ${#spec_of[@]} specs of controller-runtime have a row"
fi

[ "$rows" -gt 0 ] || complain "has no rows"
[ "$bad" -ne 0 ] || echo "PARITY.md: $rows rows, $names tests named, all there; $compared"
exit "$bad"
