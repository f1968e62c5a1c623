#!/bin/sh
# What `cmake --install` leaves: linked as pkg-config and find_package() say, shared and static; and each file belongs to one component.
# usage: installed.sh CMAKE BUILD CC [FLAGS...], with the C++ compiler, if there is one, in the environment as CXX
set -eu
cmake=$1 build=$2
shift 2
CMAKE_GENERATOR=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$build/CMakeCache.txt") # this machine has it
export CMAKE_GENERATOR
work=$(mktemp -d "${TMPDIR:-/tmp}/ki-installed.XXXXXX")
trap 'rm -rf "$work"' EXIT
source=$(dirname "$0")/../../examples
command -v pkg-config >/dev/null || exit 77

# Builds in two folders have the same bytes only if none has the path of its folder for the loader. An installation removes the path,
# but the build ID and the length of the table of strings come from it.
for file in "$build"/lib/*.so "$build"/bin/kinformer; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -F "$build"; then echo "$file has the path of its build folder"; exit 1; fi
done

"$cmake" --install "$build" --prefix "$work/usr" >/dev/null
files() { (cd "$1" && find . -type f -o -type l | LC_ALL=C sort); }
for component in runtime development command testing; do
    "$cmake" --install "$build" --prefix "$work/component/$component" --component "$component" >/dev/null
    files "$work/component/$component"
done | LC_ALL=C sort >"$work/components"
files "$work/usr" | diff - "$work/components" || { echo "files of no component, or of two"; exit 1; }
case $(cd "$work/component/runtime" && find . -name 'lib*') in
    *.a* | *.pc* | *testing*) echo "the component runtime has more than shared libraries"; exit 1 ;;
esac
readme=$(find "$work/usr" -name README.md -path '*/doc/*' | awk '{ print length, $0 }' | sort -n | sed -n '1s/^[0-9]* //p')
grep -oE '\]\([^)#:]+[)#]' "$readme" | sed 's/^](//; s/[)#]$//' | sort -u >"$work/links"
while read -r link; do
    [ -e "${readme%/*}/$link" ] || { echo "the installed README links to $link, which is not installed"; exit 1; }
done <"$work/links"
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
compiler_alone=$1
shift
flags=$*

# The paths are plain, and another prefix can be given.
if pkg-config --cflags --libs kinformer | grep -F '..'; then echo "the .pc file has a path with .."; exit 1; fi
pkg-config --define-variable=prefix=/moved --cflags --libs kinformer | grep -q -- '-I/moved/include' || { echo "the .pc file's prefix is fixed"; exit 1; }

# Programs that use the shared library need no .pc file of what is behind it.
if PKG_CONFIG_LIBDIR=$pc pkg-config --cflags --libs kinformer | grep curl; then
    echo "the shared library's users would link libcurl themselves"
    exit 1
fi
# A program of another project: every target of the package, and a server in the process.
mkdir "$work/project"
cat >"$work/project/server.c" <<'EOF'
#include <kinformer-controllers/workqueue.h>
#include <kinformer-print/jsonpath.h>
#include <kinformer-status/server.h>
#include <kinformer-testing/server.h>
int main(void) {
    ki_error err = KI_ERROR_INIT;
    ki_testing_server *server = 0;
    ki_jsonpath *path = 0;
    ki_workqueue *queue = 0;
    if (ki_testing_server_new(&KI_TESTING_SERVER_OPTIONS(.pods = 3), &server, &err) || ki_jsonpath_new("{.kind}", 0, &path, &err))
        return 1;
    if (ki_status_server_new(0, 0, 0, &err) != KI_ERR_INVALID || ki_workqueue_new(0, 0, &queue, &err) != KI_ERR_INVALID)
        return 1;
    ki_jsonpath_free(path);
    ki_testing_server_free(server);
    return 0;
}
EOF
cat >"$work/project/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(kinformer REQUIRED COMPONENTS controllers print status testing)
add_executable(by-cmake server.c)
target_link_libraries(by-cmake kinformer::kinformer-controllers kinformer::kinformer-testing kinformer::kinformer-print kinformer::kinformer-status)
add_executable(by-cmake-static server.c)
target_link_libraries(by-cmake-static kinformer::kinformer-controllers-static kinformer::kinformer-testing-static kinformer::kinformer-print-static kinformer::kinformer-status-static
    kinformer::kinformer-static)
EOF
{ "$cmake" -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/usr" -DCMAKE_C_COMPILER="$compiler_alone" -DCMAKE_C_FLAGS="$flags" &&
    "$cmake" --build "$work/project/build"; } >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# shellcheck disable=SC2046
$compiler "$work/project/server.c" $(pkg-config --cflags --libs kinformer-controllers kinformer-testing kinformer-print kinformer-status) -o "$work/by-pkg-config"
for program in "$work/project/build/by-cmake" "$work/project/build/by-cmake-static" "$work/by-pkg-config"; do
    LD_LIBRARY_PATH=$libraries "$program" || { echo "$program: status $?"; exit 1; }
done

# A program of C++ uses the installed kinformer.hpp.
if [ "${CXX:-}" ]; then
    # shellcheck disable=SC2046,SC2086 # words to be split
    $CXX -std=c++17 $flags "$source/count-by-node.cc" $(pkg-config --cflags --libs kinformer) -o "$work/cxx"
    status=0
    said=$(env -i HOME=/nonexistent LD_LIBRARY_PATH="$libraries" "$work/cxx" 2>&1) || status=$?
    case $status:$said in 1:count-by-node:*) ;; *) echo "count-by-node.cc: status $status: $said"; exit 1 ;; esac
fi

link shared
readelf -d "$work/shared" | grep -q 'NEEDED.*libkinformer' || { echo "the shared library is not used"; exit 1; }

# An archive shows its public functions, and what the other archives need of it, and nothing else.
exports=$(dirname "$0")/../../cmake
for archive in "$libraries"/libkinformer*.a; do
    {
        cat "$exports/$(basename "$archive" .a).exports"
        for user in "$libraries"/libkinformer*.a; do nm --undefined-only --format=posix "$user" 2>/dev/null | awk '$2 == "U" { print $1 }'; done
    } | LC_ALL=C sort -u >"$work/allowed"
    nm --defined-only --extern-only --format=posix "$archive" | awk 'NF > 1 { print $1 }' | LC_ALL=C sort -u |
        LC_ALL=C comm -23 - "$work/allowed" >"$work/shown"
    [ ! -s "$work/shown" ] || { echo "$archive shows what is not public:"; head "$work/shown"; exit 1; }
    nm "$archive" | grep -q ' [tdbr] k[it]_' || { echo "$archive hides nothing"; exit 1; }
done

rm -f "$libraries"/libkinformer*.so*
# shellcheck disable=SC2046
$compiler "$work/project/server.c" $(pkg-config --static --cflags --libs kinformer-controllers kinformer-testing kinformer-print kinformer-status) -o "$work/static-server"
"$work/static-server" || { echo "the server's archive: status $?"; exit 1; }
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
