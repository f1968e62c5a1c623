"""The pytest plugin of kinformer: a Kubernetes API server for tests. It is loaded at the first test that uses it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kinformer.testing import Server

_SHOWN_REQUESTS = 30  # the last ones, with a test that fails


@pytest.fixture(scope="session")
def kube_api_server() -> Iterator[Server]:
    """The server of the session. A project that wants another one, or objects for all tests, has a fixture of this
    name, which can use this one: it loads the objects, calls keep_start() and returns the server."""
    from kinformer.testing import Server

    with Server() as server:
        yield server


@pytest.fixture
def kube_api(kube_api_server: Server, request: pytest.FixtureRequest) -> Iterator[Server]:
    """A Kubernetes API server (kinformer.testing.Server), for each test as at the start: empty, without users and
    faults. load() looks for files beside the test."""
    kube_api_server.folder = request.path.parent
    yield kube_api_server
    kube_api_server.reset()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Adds the requests to the report of a test that fails."""
    outcome = yield
    report = outcome.get_result()
    server = getattr(item, "funcargs", {}).get("kube_api")
    if report.when == "call" and report.failed and server is not None:
        lines = [str(request) for request in server.requests()]
        omitted = [f"… {len(lines) - _SHOWN_REQUESTS} more before"] if len(lines) > _SHOWN_REQUESTS else []
        report.sections.append(("requests to kube_api", "\n".join(omitted + lines[-_SHOWN_REQUESTS:])))
