"""What the tests share: a client of the official package for each test."""

import pytest
from kubernetes import config


@pytest.fixture
def api(kube_api):
    """The official client, as the administrator."""
    with config.new_client_from_config(kube_api.kubeconfig) as api:
        yield api
