"""The part of the package that setuptools cannot read from pyproject.toml: the extensions."""

from setuptools import setup

setup(cffi_modules=["native/build.py:ffibuilder", "native/build.py:testing_ffibuilder"])
