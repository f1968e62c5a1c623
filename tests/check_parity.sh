#!/usr/bin/env bash
# Checks that every kinformer test that PARITY.md names exists, and that a row without one says why. Where the sources of client-go and
# controller-runtime are on this machine (the end-to-end tests download them): that each of their tests (func Test..., It("..."),
# DescribeTable("...")) has a row, that each folder with tests is a heading or a line under "without rows", and that each row of a func Test is one.
# Run by ctest.
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
note_specs() {      # "should do this; TestA, TestB; in that case: should do that"
    local specs spec parts part
    IFS=';' read -ra specs <<<"$1"
    for spec in "${specs[@]}"; do
        spec=${spec##*: } spec=${spec# } spec=${spec% }
        parts=("$spec")
        [[ $spec != Test* ]] || IFS=',' read -ra parts <<<"${spec// /}"
        for part in "${parts[@]}"; do spec_of["$peer/$file $part"]=1; done
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
    '## client-go: without rows') peer='' folder='' file='' ;;
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

modules=${GOMODCACHE:-${GOPATH:-${HOME:-}/go}/pkg/mod}
compared=''
version_of() { sed -n "s,^\t$1 \(v[0-9.]*\)\$,\1,p" e2e/go.mod; }

# Complains of each folder of a module that has tests, and neither a heading "## PREFIX FOLDER" nor a line under "without rows".
check_folders() { # NAME, MODULE'S FOLDER, PREFIX
    local path
    while read -r path; do complain "$1: $path has tests, and neither rows nor a reason"; done < <(LC_ALL=C comm -23 \
        <(cd "$2" && grep -rlE '^func Test|^[[:space:]]*F?It\(' --include='*_test.go' . | sed 's,^\./,,; s,/[^/]*$,,' | LC_ALL=C sort -u) \
        <({
            sed -nE "s/^## $3([^:]*).*/\1/p" PARITY.md
            sed -n "/^## $1: without rows/,/^## /p" PARITY.md | sed -n 's/^- \([^:]*\):.*/\1/p; s/^- \(pkg[^ ,]*\), .*/\1/p' | tr -d ' ' | tr ',' '\n'
        } | LC_ALL=C sort -u))
}

version=$(version_of k8s.io/client-go) module=$modules/k8s.io/client-go@$version
if [ -d "$module" ]; then
    declare -A theirs_of
    while IFS=: read -r path test; do
        [ -z "${folders[${path%/*}]:-}" ] || theirs_of["$path ${test#func }"]=1
    done < <(cd "$module" && grep -roE '^func Test[A-Za-z0-9_]*' --include='*_test.go' . | sed 's,^\./,,' | grep -v ' TestMain$')
    for test in "${!theirs_of[@]}"; do [ -n "${row_of[$test]:-}" ] || complain "$test: has no row"; done
    for test in "${!row_of[@]}"; do [ -n "${theirs_of[$test]:-}" ] || complain "$test: client-go has no such test"; done
    check_folders client-go "$module" ''
    compared+="; ${#theirs_of[@]} tests of client-go $version, each with a row"
fi

version=$(version_of sigs.k8s.io/controller-runtime) module=$modules/sigs.k8s.io/controller-runtime@$version
if [ -d "$module" ]; then
    compared_specs=0 all_specs=$(printf '\n%s' "${!spec_of[@]}") # a text of several lines is known by its first
    while read -r peer; do
        for path in "$module/$peer"/*_test.go; do
            file=$peer/${path##*/}
            [[ $file != *_suite_test.go && -z ${spec_of["$file every test"]:-} ]] || continue
            while read -r spec; do
                compared_specs=$((compared_specs + 1))
                [[ $all_specs == *$'\n'"$file $spec"* ]] || complain "controller-runtime: $file: \"$spec\" has no row"
            done < <(sed -nE 's/^[[:space:]]*(F?It|DescribeTable)\("[[:space:]]*(([^"\\]|\\.)*)".*/\2/p; s/^func (Test[A-Za-z0-9_]*).*/\1/p' "$path" | sed 's/\\"/"/g')
        done
    done < <(sed -n 's/^## controller-runtime: \(pkg.*\)/\1/p' PARITY.md)
    for test in "${!spec_of[@]}"; do
        [[ ${test#* } != Test* ]] || grep -q "^func ${test#* }(" "$module/${test%% *}" || complain "$test: controller-runtime has no such test"
    done
    check_folders controller-runtime "$module" 'controller-runtime: '
    compared+="; $compared_specs tests of controller-runtime $version, each with a row"
fi
[ -n "$compared" ] || compared='; neither client-go nor controller-runtime is here to compare with'

[ "$rows" -gt 0 ] || complain "has no rows"
[ "$bad" -ne 0 ] || echo "PARITY.md: $rows rows, $names tests named, all there$compared"
exit "$bad"
