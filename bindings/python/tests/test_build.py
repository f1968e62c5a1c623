"""The build of the extensions: what it needs."""

import pathlib
import runpy

import pytest

BUILD = pathlib.Path(__file__).resolve().parents[1] / "native" / "build.py"


def test_a_build_folder_without_the_libraries_is_an_error_that_names_the_missing_one(monkeypatch, tmp_path):
    monkeypatch.setenv("KINFORMER_BUILD", str(tmp_path))
    monkeypatch.syspath_prepend(str(BUILD.parent))  # build.py adds it itself; this restores the path
    with pytest.raises(SystemExit, match=f"{tmp_path}/lib has no libkinformer-controllers.so"):
        runpy.run_path(str(BUILD))
