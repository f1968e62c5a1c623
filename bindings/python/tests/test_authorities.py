"""Certificates of servers whose configuration names no certificate authority."""

import os
import sys
import types

import kinformer
import pytest
from kinformer import authorities


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "")  # restored afterwards, whatever is set meanwhile
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)


@pytest.fixture
def certifi(monkeypatch, tmp_path):
    """A package certifi; returns its file."""
    place = str(tmp_path / "cacert.pem")
    monkeypatch.setitem(sys.modules, "certifi", types.SimpleNamespace(where=lambda: place))
    return place


def set_system_files(monkeypatch, tmp_path, *names, present=""):
    """Sets the places where a system can have its file; `present` is there."""
    monkeypatch.setattr(authorities, "_SYSTEM_FILES", [str(tmp_path / name) for name in names])
    if present:
        (tmp_path / present).touch()


def test_the_module_says_where_its_certificates_come_from():
    assert kinformer.certificates == "none" or ": " in kinformer.certificates


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_the_environment_comes_first(monkeypatch, tmp_path, certifi, name):
    set_system_files(monkeypatch, tmp_path, "a.crt", present="a.crt")
    monkeypatch.setenv(name, "/chosen")
    assert authorities.choose_certificates() == f"{name}: /chosen"
    assert os.environ[name] == "/chosen"


def test_the_file_that_the_library_finds_needs_no_variable(monkeypatch, tmp_path, certifi):
    set_system_files(monkeypatch, tmp_path, "a.crt", "b.crt", present="a.crt")
    assert authorities.choose_certificates() == f"system: {tmp_path}/a.crt"
    assert not os.environ["SSL_CERT_FILE"]


def test_the_file_of_another_distribution_is_set(monkeypatch, tmp_path, certifi):
    set_system_files(monkeypatch, tmp_path, "a.crt", "b.crt", present="b.crt")
    assert authorities.choose_certificates() == f"system: {tmp_path}/b.crt"
    assert os.environ["SSL_CERT_FILE"] == f"{tmp_path}/b.crt"


def test_certifi_serves_a_system_without_certificates(monkeypatch, tmp_path, certifi):
    set_system_files(monkeypatch, tmp_path, "a.crt")
    assert authorities.choose_certificates() == f"certifi: {certifi}"
    assert os.environ["SSL_CERT_FILE"] == certifi


def test_without_any_certificates_nothing_is_set(monkeypatch, tmp_path):
    set_system_files(monkeypatch, tmp_path, "a.crt")
    monkeypatch.setitem(sys.modules, "certifi", None)
    assert authorities.choose_certificates() == "none"
    assert not os.environ["SSL_CERT_FILE"]
