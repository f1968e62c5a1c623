"""Builds the extensions: kinformer._native, which calls libkinformer and libkinformer-controllers, and
kinformer.testing._native, which calls libkinformer-testing. The second one is a module of its own, so that a program in
production loads neither the API server nor libmicrohttpd and GnuTLS. It has the types of the first one.

setup.py takes `ffibuilder` and `testing_ffibuilder` from here. CMake runs this file to write the extensions' C source,
and compiles that itself.

The libraries are those of pkg-config (PKG_CONFIG_PATH chooses among several). With KINFORMER_BUILD, the folder of a
build of this repository such as build/release, they are those of that folder.
"""

import os
import pathlib
import shlex
import subprocess
import sys

import cffi

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from declarations import read_declarations  # noqa: E402

HEADERS = [
    "kinformer/kinformer.h",
    "kinformer-controllers/controller.h",
    "kinformer-controllers/events.h",
    "kinformer-controllers/leader.h",
    "kinformer-controllers/workqueue.h",
]
LIBRARIES = ["kinformer-controllers", "kinformer"]
TESTING_HEADERS = [
    "kinformer-testing/access.h",
    "kinformer-testing/faults.h",
    "kinformer-testing/requests.h",
    "kinformer-testing/server.h",
]
TESTING_LIBRARIES = ["kinformer-testing", "kinformer"]


def find_libraries(libraries: list[str]) -> tuple[list[str], list[str]]:
    """Returns the options of the compiler and of the linker."""
    if build := os.environ.get("KINFORMER_BUILD"):
        repository = HERE.parents[2]
        folder = repository / build  # build tools run this in another folder
        for name in libraries:
            if not (folder / f"lib/lib{name}.so").exists():
                raise SystemExit(f"KINFORMER_BUILD: {folder}/lib has no lib{name}.so: build all libraries there")
        links = [f"-L{folder}/lib", f"-Wl,-rpath,{folder}/lib", *(f"-l{name}" for name in libraries)]
        return [f"-I{repository}/include"], links

    def ask(option: str) -> list[str]:
        try:
            command = [os.environ.get("PKG_CONFIG", "pkg-config"), option, *libraries]
            return shlex.split(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"kinformer's libraries are not found ({error}): install them (./dev install, or the package "
                "libkinformer-dev), set PKG_CONFIG_PATH, or set KINFORMER_BUILD to a folder such as build/release"
            ) from None

    return ask("--cflags"), ask("--libs")


def make_builder(compile_flags: list[str], link_flags: list[str]) -> cffi.FFI:
    builder = cffi.FFI()
    builder.cdef(read_declarations(_compiler(), compile_flags, HEADERS))
    builder.cdef((HERE / "glue.cdef").read_text())
    builder.set_source(
        "kinformer._native",
        _includes(HEADERS) + (HERE / "glue.c").read_text(),
        extra_compile_args=compile_flags,
        extra_link_args=link_flags,
    )
    return builder


def make_testing_builder(types: cffi.FFI, compile_flags: list[str], link_flags: list[str]) -> cffi.FFI:
    """types: the builder of kinformer._native."""
    builder = cffi.FFI()
    builder.include(types)
    builder.cdef(read_declarations(_compiler(), compile_flags, TESTING_HEADERS, "kinformer-testing"))
    builder.set_source(
        "kinformer.testing._native",
        _includes(HEADERS + TESTING_HEADERS),
        extra_compile_args=compile_flags,
        extra_link_args=link_flags,
    )
    return builder


def _compiler() -> list[str]:
    return shlex.split(os.environ.get("CC", "cc"))


def _includes(headers: list[str]) -> str:
    return "".join(f"#include <{header}>\n" for header in headers)


if __name__ == "__main__":  # build.py INCLUDE FOLDER: only writes the C sources, native.c and testing.c
    ffibuilder = make_builder([f"-I{sys.argv[1]}"], [])
    ffibuilder.emit_c_code(f"{sys.argv[2]}/native.c")
    make_testing_builder(ffibuilder, [f"-I{sys.argv[1]}"], []).emit_c_code(f"{sys.argv[2]}/testing.c")
else:
    ffibuilder = make_builder(*find_libraries(LIBRARIES))
    testing_ffibuilder = make_testing_builder(ffibuilder, *find_libraries(TESTING_LIBRARIES))
