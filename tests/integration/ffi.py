"""What `kinformer gen --ffi` prints is read by cffi and by LuaJIT unchanged, declares all that the libraries export, and has the C
compiler's values, sizes and offsets.

usage: ffi.py KINFORMER CC
Status 77 without Debian's python3-cffi or luajit: they are not needed to build kinformer."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

RESOURCES = ["pods", "nodes", "services", "endpointslices"] # among them are fields of each type
ODD = "metadata.labels['*/a?'],spec.containers[].livenessProbe.httpGet.port,spec.containers[].resources.limits.cpu"

try:
    import cffi
except ImportError:
    cffi = None
if not cffi or not shutil.which("luajit"):
    print("skipped: there is no python3-cffi or no luajit")
    sys.exit(77)

kinformer, compiler = sys.argv[1:3]
top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def gen(*words):
    return subprocess.run([kinformer, "gen", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def run_c(folder, source):
    """Compiles and runs a program. Returns the lines that it prints."""
    path = os.path.join(folder, "program.c")
    with open(path, "w") as out:
        out.write(source)
    subprocess.run([compiler, "-std=c99", "-I", os.path.join(top, "include"), "-I", folder, path, "-o", path[:-2]], check=True)
    return subprocess.run([path[:-2]], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def headers():
    names = sorted(glob.glob("kinformer*/**/*.h", root_dir=os.path.join(top, "include"), recursive=True))
    return "#include <stdio.h>\n" + "".join(f"#include <{name}>\n" for name in names)


def the_exported_names_are_declared(text):
    exported = set()
    for path in glob.glob(os.path.join(top, "cmake", "*.exports")):
        with open(path) as lines:
            exported |= {line.strip() for line in lines if re.match(r"ki_\w+$", line.strip())}
    assert len(exported) > 300, len(exported)
    missing = sorted(name for name in exported if not re.search(rf"^[^/]*\b{name}(\(|;)", text, re.M))
    assert not missing, f"not declared: {missing}"


def sizes_offsets_and_values_are_the_compilers(folder, text):
    ffi = cffi.FFI()
    ffi.cdef(text)
    found, lines = [], []
    typedefs, structs, _ = ffi.list_types()
    for name in sorted(typedefs) + ["struct " + name for name in sorted(structs)]:
        ctype = ffi.typeof(name)
        if ctype.kind == "struct" and ctype.fields is not None:
            found.append(f"{name} {ffi.sizeof(ctype)}")
            lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
            for field, _ in ctype.fields:
                found.append(f"{name}.{field} {ffi.offsetof(ctype, field)}")
                lines.append(f'printf("{name}.{field} %zu\\n", offsetof({name}, {field}));')
    library = ffi.dlopen(None)
    enumerators = sorted(set(re.findall(r"^    (KI_\w+) = ", text, re.M)))
    for name in enumerators:
        found.append(f"{name} {getattr(library, name)}")
        lines.append(f'printf("{name} %lld\\n", (long long)({name}));')
    assert len(found) > 500, len(found)
    assert found == run_c(folder, headers() + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    # LuaJIT's values of the same
    script = ['local ffi = require "ffi"', "ffi.cdef(io.open(arg[1]):read('*a'))"]
    for line in found:
        name = line.rsplit(" ", 1)[0]
        if name.startswith("KI_"):
            script.append(f'print("{name} " .. tonumber(ffi.C.{name}))')
        elif "." in name:
            struct, field = name.split(".")
            script.append(f'print("{name} " .. ffi.offsetof("{struct}", "{field}"))')
        else:
            script.append(f'print("{name} " .. ffi.sizeof("{name}"))')
    assert found == run_lua(folder, text, "\n".join(script))


def run_lua(folder, text, script):
    for name, content in ("declarations.ffi", text), ("script.lua", script):
        with open(os.path.join(folder, name), "w") as out:
            out.write(content)
    command = ["luajit", os.path.join(folder, "script.lua"), os.path.join(folder, "declarations.ffi")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def named_functions_bring_what_they_need(folder):
    for names in ["ki_factory_new_default", "ki_informer_add_handler"], ["ki_informer_health", "KI_PODS"], ["ki_list_watch"], ["KI_ERROR_INIT"]:
        text = gen("--ffi", *names)
        cffi.FFI().cdef(text)
        run_lua(folder, text, 'require("ffi").cdef(io.open(arg[1]):read("*a"))')
        assert len(text) < len(gen("--ffi")) / 2
        assert all(name in text for name in names), names


def rows_of_views_are_the_compilers(folder, interface):
    """Each row: path, offset, size of the struct, type, and whether it has elements."""
    kinds = {f"kind_{i}": [resource] for i, resource in enumerate(RESOURCES)}
    kinds["odd"] = ["pods", "--fields", ODD]
    server = subprocess.Popen([kinformer, "serve"], stdout=subprocess.PIPE, text=True)
    try:
        url = server.stdout.readline().split()[1]
        views, found, dumps = [], [], []
        for name, words in kinds.items():
            with open(os.path.join(folder, name + ".h"), "w") as out:
                out.write(gen(*words, "--name", name, "-s", url))
            views.append(gen(*words, "--name", name, "-s", url, "--ffi"))
    finally:
        server.terminate()
        server.wait()
    cffi.FFI().cdef(interface + "".join(views))
    run_lua(folder, interface + "".join(views), 'require("ffi").cdef(io.open(arg[1]):read("*a"))')
    for table, rows in re.findall(r"/\* (\w+)_fields, an array of ki_field: .*\n((?: \*     .*\n(?: {8}.*\n)*)*)", "".join(views)):
        dumps.append(f"dump({table}_fields);")
        for row in re.findall(r"\{ .* \}", re.sub(r"\n {8}", " ", rows)):
            found.append(re.sub(r"(\w+_fields) \}", "LIST }", row))
    assert len(found) > 300, len(found)
    source = headers() + "".join(f'#include "{name}.h"\n' for name in kinds)
    source += """
static void dump(const ki_field *field) {
    for (;; field++) {
        printf("%s|%zu|%zu|%d|%d\\n", field->path ? field->path : "", field->offset, field->struct_size, (int)field->type, field->elements != NULL);
        if (!field->path)
            return;
    }
}
int main(void) {
    static const ki_field none[1];
#define LIST none
    static const ki_field rows[] = { ROWS };
    if (ROWS_ONLY)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            printf("%s|%zu|%zu|%d|%d\\n", rows[i].path ? rows[i].path : "", rows[i].offset, rows[i].struct_size, (int)rows[i].type,
                   rows[i].elements != NULL);
    else {
        DUMPS
    }
    return 0;
}
"""
    source = source.replace("ROWS }", ",\n".join(found) + " }").replace("DUMPS", "\n".join(dumps))
    compilers = run_c(folder, source.replace("ROWS_ONLY", "0"))
    assert compilers == run_c(folder, source.replace("ROWS_ONLY", "1"))


with tempfile.TemporaryDirectory() as work:
    whole = gen("--ffi")
    the_exported_names_are_declared(whole)
    sizes_offsets_and_values_are_the_compilers(work, whole)
    named_functions_bring_what_they_need(work)
    rows_of_views_are_the_compilers(work, whole)
print("ffi: cffi and LuaJIT read the declarations, with the values of the C compiler")
