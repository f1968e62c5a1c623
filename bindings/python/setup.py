"""The part of the package that setuptools cannot read from pyproject.toml: the extensions, for every Python from 3.10 on (limited API), and the
command. KINFORMER_COMMAND is the path of a command that becomes part of the package, as in the wheel of `./dev wheel`; without it there is none."""

import os
import shutil

from setuptools import setup

command = os.environ.get("KINFORMER_COMMAND")
if command:
    os.makedirs("kinformer/bin", exist_ok=True)
    shutil.copy(command, "kinformer/bin/kinformer")
setup(
    cffi_modules=["native/build.py:ffibuilder", "native/build.py:testing_ffibuilder"],
    scripts=["native/kinformer"] if command else [],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
