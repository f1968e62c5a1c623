"""The part of the package that setuptools cannot read from pyproject.toml: the extension."""

from setuptools import setup

setup(cffi_modules=["native/build.py:ffibuilder"])
