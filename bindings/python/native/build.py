"""Builds kinformer._native, the extension that calls libkinformer and libkinformer-controllers.

setup.py takes `ffibuilder` from here. CMake runs this file to write the extension's C source, and compiles that itself.

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


def find_libraries() -> tuple[list[str], list[str]]:
    """Returns the options of the compiler and of the linker."""
    if build := os.environ.get("KINFORMER_BUILD"):
        folder = pathlib.Path(build).resolve()
        include = HERE.parents[2] / "include"
        return [f"-I{include}"], [f"-L{folder}/lib", f"-Wl,-rpath,{folder}/lib", *(f"-l{name}" for name in LIBRARIES)]

    def ask(option: str) -> list[str]:
        try:
            command = [os.environ.get("PKG_CONFIG", "pkg-config"), option, *LIBRARIES]
            return shlex.split(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"kinformer's libraries are not found ({error}): install them (./dev install, or the package "
                "libkinformer-dev), set PKG_CONFIG_PATH, or set KINFORMER_BUILD to a folder such as build/release"
            ) from None

    return ask("--cflags"), ask("--libs")


def make_builder(compile_flags: list[str], link_flags: list[str]) -> cffi.FFI:
    compiler = shlex.split(os.environ.get("CC", "cc"))
    builder = cffi.FFI()
    builder.cdef(read_declarations(compiler, compile_flags, HEADERS))
    builder.cdef((HERE / "glue.cdef").read_text())
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    builder.set_source(
        "kinformer._native",
        includes + (HERE / "glue.c").read_text(),
        extra_compile_args=compile_flags,
        extra_link_args=link_flags,
    )
    return builder


if __name__ == "__main__":  # build.py INCLUDE OUTPUT: only writes the C source
    make_builder([f"-I{sys.argv[1]}"], []).emit_c_code(sys.argv[2])
else:
    ffibuilder = make_builder(*find_libraries())
