#!/bin/sh
# What `cmake --install` leaves, linked as pkg-config says: the shared library, and the archive where there is nothing else.
# usage: installed.sh CMAKE BUILD CC [FLAGS...]
set -eu
cmake=$1 build=$2
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/ki-installed.XXXXXX")
trap 'rm -rf "$work"' EXIT
source=$(dirname "$0")/../../examples
command -v pkg-config >/dev/null || exit 77

"$cmake" --install "$build" --prefix "$work/usr" >/dev/null
pc=$(find "$work/usr" -name pkgconfig -type d)
libraries=$(dirname "$pc")
PKG_CONFIG_PATH=$pc
export PKG_CONFIG_PATH

# link OUTPUT [pkg-config's flags]: the words of pkg-config are to be split
link() {
    output=$1
    shift
    # shellcheck disable=SC2046
    $compiler -D_POSIX_C_SOURCE=200809L "$source/watch-pods.c" $(pkg-config --cflags --libs "$@" kinformer) -o "$work/$output"
}
compiler=$*

# Programs that use the shared library need no .pc file of what is behind it.
if PKG_CONFIG_LIBDIR=$pc pkg-config --cflags --libs kinformer | grep curl; then
    echo "the shared library's users would link libcurl themselves"
    exit 1
fi
link shared
readelf -d "$work/shared" | grep -q 'NEEDED.*libkinformer' || { echo "the shared library is not used"; exit 1; }

rm -f "$libraries"/libkinformer*.so*
link static --static
if readelf -d "$work/static" | grep 'NEEDED.*libkinformer'; then
    echo "the archive is not used"
    exit 1
fi

# Both are whole programs: without a cluster they say so, and why.
for program in shared static; do
    status=0
    said=$(env -i HOME=/nonexistent LD_LIBRARY_PATH="$build/lib" "$work/$program" 2>&1) || status=$?
    case $status:$said in
        1:watch-pods:*) ;;
        *) echo "$program: status $status: $said"; exit 1 ;;
    esac
done
