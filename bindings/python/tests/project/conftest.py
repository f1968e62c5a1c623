"""A project with objects that each of its tests has."""

import pytest


@pytest.fixture(scope="session")
def kube_api_server(kube_api_server):
    kube_api_server.load("base/*.yaml")
    kube_api_server.keep_start()
    return kube_api_server
