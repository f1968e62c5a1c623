# Sourced by each check: goes to the root of the source tree, and names its files.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 2

# source_files NAME...: the files of the tree whose name matches one of the patterns; not what was built.
source_files() {
    local names=() name
    for name in "$@"; do names+=(-o -name "$name"); done
    find . \( -path ./.git -o -path './build*' -o -path ./bindings/python/build -o -path ./.cache -o -name node_modules \) -prune -o -type f \
        \( "${names[@]:1}" \) -print | sed 's,^\./,,' | LC_ALL=C sort
}
