#!/bin/sh
# The build's options: libkinformer alone where no other dependency is installed, shared only and static only, and used from there.
# usage: build_options.sh CMAKE GENERATOR CC
set -eu
cmake=$1 compiler=$3
export CMAKE_GENERATOR="$2"
work=$(mktemp -d "${TMPDIR:-/tmp}/ki-options.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v pkg-config >/dev/null || exit 77

fail() { echo "$*"; exit 1; }
absent() { for file in "$@"; do [ ! -e "$file" ] || fail "$file is installed"; done; }

# A system that has the dependencies of libkinformer and no others.
mkdir "$work/pc"
for module in libcurl yyjson yaml-0.1 libzstd; do
    printf 'Name: %s\nDescription: %s\nVersion: %s\nCflags: %s\nLibs: %s\n' "$module" "$module" "$(pkg-config --modversion "$module")" \
        "$(pkg-config --cflags "$module")" "$(pkg-config --libs "$module")" >"$work/pc/$module.pc"
done
PKG_CONFIG_LIBDIR=$work/pc
export PKG_CONFIG_LIBDIR

configure() {
    "$cmake" -S "$root" -B "$work/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_C_FLAGS=-O0 -DCMAKE_INSTALL_LIBDIR=lib "$@" \
        >"$work/log" 2>&1
}
install_in() { # FOLDER CMAKE ARGUMENTS...: builds and installs there
    folder=$1
    shift
    configure "$@" || { cat "$work/log"; fail "cmake $*"; }
    "$cmake" --build "$work/build" --parallel "$(nproc)" >"$work/log" 2>&1 || { cat "$work/log"; fail "the build with $*"; }
    "$cmake" --install "$work/build" --prefix "$folder" >/dev/null
}

# Programs that find the installation by pkg-config and by find_package(); both run.
use() { # FOLDER PKG_CONFIG_LIBDIR
    # shellcheck disable=SC2046
    "$compiler" -D_POSIX_C_SOURCE=200809L "$root/examples/watch-pods.c" $(PKG_CONFIG_LIBDIR=$2 pkg-config --cflags --libs kinformer) \
        -o "$1/by-pkg-config"
    mkdir "$1/project"
    cat >"$1/project/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(kinformer REQUIRED)
find_package(kinformer QUIET COMPONENTS testing)
if(kinformer_FOUND OR NOT kinformer_NOT_FOUND_MESSAGE MATCHES "component testing is not installed")
    message(FATAL_ERROR "the component testing is found, or what is missing is not named: \${kinformer_NOT_FOUND_MESSAGE}")
endif()
add_executable(by-cmake $root/examples/watch-pods.c)
target_compile_definitions(by-cmake PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(by-cmake kinformer::kinformer)
EOF
    { "$cmake" -S "$1/project" -B "$1/project/build" -DCMAKE_PREFIX_PATH="$1" -DCMAKE_C_COMPILER="$compiler" &&
        "$cmake" --build "$1/project/build"; } >"$work/log" 2>&1 || { cat "$work/log"; fail "find_package in $1"; }
    for program in "$1/by-pkg-config" "$1/project/build/by-cmake"; do
        status=0
        said=$(env -i HOME=/nonexistent LD_LIBRARY_PATH="$1/lib" "$program" 2>&1) || status=$?
        case $status:$said in
            1:watch-pods:*) ;;
            *) fail "$program: status $status: $said" ;;
        esac
    done
}

install_in "$work/shared" -DKI_CONTROLLERS=OFF -DKI_PRINT=OFF -DKI_EXAMPLES=OFF -DBUILD_SHARED_LIBS=ON
absent "$work/shared/lib/libkinformer.a" "$work/shared/lib"/libkinformer-* "$work/shared/bin" "$work/shared/include/kinformer-print"

# Inside of another project: the same targets, and nothing that the project did not ask for.
mkdir "$work/inside"
cat >"$work/inside/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.25)
project(user C)
set(KI_PRINT OFF)
add_subdirectory($root kinformer EXCLUDE_FROM_ALL)
foreach(target kinformer::kinformer kinformer::kinformer-static)
    if(NOT TARGET \${target})
        message(FATAL_ERROR "\${target} is missing")
    endif()
endforeach()
foreach(target kinformer-program kinformer-testing example-watch-pods sim)
    if(TARGET \${target})
        message(FATAL_ERROR "\${target} is there")
    endif()
endforeach()
EOF
"$cmake" -S "$work/inside" -B "$work/inside/build" -DCMAKE_C_COMPILER="$compiler" >"$work/log" 2>&1 || { cat "$work/log"; fail "add_subdirectory"; }

use "$work/shared" "$work/shared/lib/pkgconfig"

install_in "$work/static" -DBUILD_SHARED_LIBS=OFF
absent "$work/static/lib"/libkinformer.so* "$work/static/lib"/libkinformer-*
use "$work/static" "$work/static/lib/pkgconfig:$work/pc"

# A part without the part that it needs is an error that says so, and a missing dependency is one.
if configure -DKI_STATUS=ON; then fail "KI_STATUS is accepted without libmicrohttpd"; fi
grep -q 'libmicrohttpd' "$work/log" || { cat "$work/log"; fail "KI_STATUS without libmicrohttpd: the message"; }
if configure -DKI_STATUS=OFF -DKI_SERVER=ON; then fail "KI_SERVER is accepted without KI_PRINT"; fi
grep -q 'KI_SERVER is ON and needs KI_PRINT' "$work/log" || { cat "$work/log"; fail "KI_SERVER without KI_PRINT: the message"; }
if configure -DKI_PRINT=ON -DKI_SERVER=ON; then fail "KI_SERVER is accepted without libmicrohttpd"; fi
grep -q 'libmicrohttpd' "$work/log" || { cat "$work/log"; fail "KI_SERVER without libmicrohttpd: the message"; }
