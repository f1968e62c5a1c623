#!/bin/sh
# Checks the documents: each block of C, and of C++ (```cpp), compiles against the public headers, each relative link leads to a file and a heading that exist,
# each path in backquotes exists, each block that comes from a file is in it, and each constant in a table "constant, value, where" is in the file that the table names.
# usage: docs.sh BUILD CC [FLAGS...], with the C++ compiler in the environment as CXX; without it no C++ is compiled
#
# A block of C that has a main function is a program of its own: it is linked with the shared libraries. Where the line before the block says
# <!-- run -->, the program also runs, and must end with status 0. So does a block of Lua, with LuaJIT, where that is installed: in a folder with
# `kinformer gen --ffi` as kinformer.ffi, and with a server in its kubeconfig. Other blocks are fragments. The line before them says what they are:
#     <!-- fragment: file -->              declarations and functions; the fragments after it in the same document can use them
#     <!-- fragment: ki_factory *f, … -->  statements of a function with these parameters and `err`, a ki_error *
#     <!-- fragment: none -->              not C that compiles alone
# A block of any language after the line <!-- from: FILE --> must be a part of that file, line by line.
set -eu
build=$(cd "$1" && pwd)
shift
c_compiler=$*
shift
compiler_flags=$*
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/ki-docs.XXXXXX")
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
documents=$(find README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs examples include bindings/go -name '*.md' | sort)
bad=0

complain() {
    echo "docs: $*" >&2
    bad=1
}

# ---- the blocks of C and C++ ----

# Writes NUMBER.program.c, NUMBER.run.c and NUMBER.fragment.c, or .cc, to the folder `out`, NUMBER being the line where the block begins.
extract() { # DOCUMENT FOLDER
    awk -v name="$1" -v out="$2" '
        function finish(    file, kind) {
            kind = is_program ? (marker == "run" ? "run" : "program") : "fragment"
            if (!is_program && marker == "") { print name ":" first ": no marker before a fragment" > (out "/complaints"); return }
            if (marker == "none") return
            file = out "/" first "." kind (is_cxx ? ".cc" : ".c")
            if (is_program) printf "#line %d \"%s\"\n%s", first + 1, name, text > file
            else if (is_cxx)
                printf "#include <kinformer-controllers/controller.hpp>\n#include <iostream>\nusing namespace std::chrono_literals;\n" \
                    "void fragment(%s);\nvoid fragment(%s) {\n#line %d \"%s\"\n%s}\n", marker, marker, first + 1, name, text > file
            else {
                printf "#include <kinformer/kinformer.h>\n#include <kinformer-testing/access.h>\n#include <kinformer-testing/faults.h>\n" > file
                printf "#include <kinformer-controllers/controller.h>\n#include <kinformer-controllers/events.h>\n#include <kinformer-status/server.h>\n#include <kinformer-testing/requests.h>\n#include <kinformer-testing/server.h>\n#include <errno.h>\n#include <poll.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n%s", before > file
                if (marker == "file") {
                    before = before sprintf("#line %d \"%s\"\n%s", first + 1, name, text)
                    printf "#line %d \"%s\"\n%s", first + 1, name, text > file
                } else
                    printf "void fragment(%s, ki_error *err);\nvoid fragment(%s, ki_error *err) {\n(void)err;\n#line %d \"%s\"\n%s}\n", \
                        marker, marker, first + 1, name, text > file
            }
            close(file)
        }
        /^```(c|cpp)$/ && !inside { inside = 1; first = NR; text = ""; is_program = 0; is_cxx = $0 ~ /cpp/; next }
        /^```/ && inside { inside = 0; finish(); marker = ""; next }
        inside { text = text $0 "\n"; if ($0 ~ /^int main\(/) is_program = 1; next }
        /^<!-- fragment: .* -->$/ { marker = $0; sub(/^<!-- fragment: /, "", marker); sub(/ -->$/, "", marker); next }
        /^<!-- run -->$/ { marker = "run"; next }
    ' "$1"
}

# ---- the blocks of Lua ----

# Writes the blocks after <!-- run --> to NUMBER.lua in the folder.
extract_lua() { # DOCUMENT FOLDER
    awk -v out="$2" '
        /^```lua$/ && is_run { file = out "/" NR ".lua"; printf "" > file; next }
        /^```/ { if (file != "") close(file); file = "" }
        file != "" { print > file; next }
        { is_run = $0 == "<!-- run -->" }
    ' "$1"
}

# Runs a program in the folder `work`.
run_lua() { # FILE
    preload=
    case $compiler_flags in *-fsanitize=*address*) preload=$($c_compiler -print-file-name=libasan.so) ;; esac
    if [ ! "$server" ]; then
        "$build/bin/kinformer" gen --ffi >"$work/kinformer.ffi"
        mkfifo "$work/ready"
        "$build/bin/kinformer" serve --pods 5 --write-kubeconfig "$work/kubeconfig" >"$work/ready" &
        server=$!
        read -r _ <"$work/ready" # it serves
    fi
    (cd "$work" && ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD=$preload LD_LIBRARY_PATH="$build/lib" KUBECONFIG="$work/kubeconfig" luajit "$1")
}

programs=0 fragments=0
for document in $documents; do
    folder=$work/$(echo "$document" | tr / _)
    mkdir "$folder"
    extract "$document" "$folder"
    extract_lua "$document" "$folder"
    for file in "$folder"/*.lua; do
        [ -e "$file" ] || continue
        command -v luajit >/dev/null || continue
        case $compiler_flags in *-fsanitize=*thread*) continue ;; esac # nothing preloads its runtime into a program without it
        programs=$((programs + 1))
        run_lua "$file" >"$folder/output" 2>&1 || { cat "$folder/output"; complain "$document: a program in Lua ends with status $?"; }
    done
    [ ! -e "$folder/complaints" ] || complain "$(cat "$folder/complaints")"
    for file in "$folder"/*.c "$folder"/*.cc; do
        [ -e "$file" ] || continue
        flags="-std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -Wno-unused-function -Wno-unused-const-variable -Iinclude"
        compiler=$c_compiler
        case $file in
            *.cc)
                [ "${CXX:-}" ] || continue
                compiler="$CXX $compiler_flags"
                flags="-std=c++17 -Wall -Wextra -Wold-style-cast -Werror -Iinclude"
                ;;
        esac
        # shellcheck disable=SC2086
        case $file in
            *.fragment.*)
                fragments=$((fragments + 1))
                $compiler $flags -fsyntax-only "$file" || complain "$document: a fragment does not compile"
                ;;
            *)
                programs=$((programs + 1))
                $compiler $flags "$file" -L"$build/lib" -lkinformer -lkinformer-controllers -lkinformer-status -lkinformer-testing -Wl,-rpath,"$build/lib" -o "$folder/program" ||
                    { complain "$document: a program does not compile"; continue; }
                case $file in
                    *.run.*) "$folder/program" || complain "$document: the program ends with status $?" ;;
                esac
                ;;
        esac
    done
done

# ---- the blocks from files ----

# Prints "part" for each block that is in its file, and a complaint for another.
compare_with_files() { # DOCUMENT
    awk -v name="$1" '
        function compare(    line, whole) {
            whole = "\n"
            while ((getline line < file) > 0) whole = whole line "\n"
            close(file)
            if (index(whole, text)) print "part"
            else print name ":" first ": the block is not in " file
        }
        /^<!-- from: .* -->$/ && !inside { file = $3; next }
        /^```/ && !inside { inside = 1; first = NR; text = "\n"; next }
        /^```/ && inside { inside = 0; if (file != "") compare(); file = ""; next }
        inside { text = text $0 "\n"; next }
        { file = "" }
    ' "$1"
}

parts=0
for document in $documents; do
    compare_with_files "$document" >"$work/parts"
    while read -r line; do
        if [ "$line" = part ]; then parts=$((parts + 1)); else complain "$line"; fi
    done <"$work/parts"
done

# ---- the links ----

# Prints the anchors of a document's headings, as GitHub makes them.
anchors() {
    awk '/^```/ { inside = !inside; next } !inside && /^#+ / { sub(/^#+ +/, ""); print }' "$1" | tr '[:upper:]' '[:lower:]' |
        sed -e 's/[^a-z0-9 _-]//g' -e 's/ /-/g'
}

links=0
for document in $documents; do
    # shellcheck disable=SC2016 # the backquotes are those of Markdown
    awk '/^```/ { inside = !inside; next } !inside' "$document" | sed 's/`[^`]*`//g' | grep -o ']([^() ]*)' |
        sed -e 's/^](//' -e 's/)$//' >"$work/links" || true
    while read -r link; do
        case $link in http://* | https://* | mailto:*) continue ;; esac
        links=$((links + 1))
        path=${link%%#*}
        target=$document
        [ -z "$path" ] || target=$(dirname "$document")/$path
        [ -e "$target" ] || { complain "$document: there is no $path"; continue; }
        case $link in
            *.md#* | '#'*) anchors "$target" | grep -qxF "${link#*#}" || complain "$document: $target has no heading #${link#*#}" ;;
        esac
    done <"$work/links"
done

# ---- the names of files ----

# A path in backquotes exists: from the top folder, or a file below src/cache or include/. A star stands for any rest.
paths=0
for document in docs/*.md docs/*/*.md; do
    # shellcheck disable=SC2016 # the backquotes are those of Markdown
    awk '/^```/ { inside = !inside; next } !inside' "$document" |
        grep -oE '`((src|testing|cli|sim|scripts|tests|examples|include|cmake|bench)/[^` ]+|[a-z_*]+[.][ch])`' | tr -d '`' | sort -u >"$work/paths" || true
    while read -r path; do
        paths=$((paths + 1))
        case $path in */*) places=$path ;; *) places="src/cache/*/$path include/kinformer/$path include/kinformer-controllers/$path include/kinformer-testing/$path" ;; esac
        # shellcheck disable=SC2086 # a star is to be replaced by names
        ls -d $places >"$work/found" 2>/dev/null || true
        [ -s "$work/found" ] || case $path in *FOLDER* | *'<'*) ;; *) complain "$document: there is no $path" ;; esac
    done <"$work/paths"
done

# ---- the constants ----

# Prints "NAME FILE" for each constant of a document's tables; NAME beginning with "_" goes on from the name before it.
constants_of() {
    awk -F ' [|] ' '
        /^[|] constant [|] value [|] where [|]$/ { inside = 1; next }
        !/^[|]/ { inside = 0 }
        inside && $3 ~ /^`[^`]*[.][ch]` [|]$/ {
            file = $3
            gsub(/[`| ]/, "", file)
            count = split($1, names, /`/)
            for (i = 2; i <= count; i += 2) print names[i], file
        }' "$1"
}

constants=0
for document in docs/how-*.md; do
    constants_of "$document" >"$work/constants"
    while read -r name file; do
        constants=$((constants + 1))
        case $file in */*) ;; *) file=$(echo src/cache/*/"$file") ;; esac
        grep -q "$name" "$file" || complain "$document: there is no $name in $file"
    done <"$work/constants"
done

[ $bad -eq 0 ] || exit 1
echo "docs: $programs programs and $fragments fragments compile, $parts blocks are parts of files, $links links lead somewhere, $paths files exist, $constants constants are where the documents say"
