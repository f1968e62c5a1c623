"""The part of the package that setuptools cannot read from pyproject.toml: the extensions, for every Python from 3.10 on (limited API), and the
command. KINFORMER_COMMAND is the path of a command that becomes part of the package, as in the wheel of `./dev wheel`; without it there is none."""

import os

from setuptools import setup

command = os.environ.get("KINFORMER_COMMAND")
setup(
    cffi_modules=["native/build.py:ffibuilder", "native/build.py:testing_ffibuilder"],
    data_files=[("bin", [command])] if command else [],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
