"""What the tests share: an embedded API server for each test, and a factory for it."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import kinformer
import pytest

COMMAND = os.environ["KINFORMER_COMMAND"]


def definition(kind: str, *short_names: str) -> dict[str, Any]:
    """A CustomResourceDefinition of a kind of example.com, with a status and any fields."""
    singular = kind.lower()
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{singular}s.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": f"{singular}s", "singular": singular, "kind": kind, "shortNames": [*short_names]},
            "versions": [version],
        },
    }


class Server:
    """`kinformer serve` as a subprocess, which ends with its standard input."""

    def __init__(self, *options: str) -> None:
        ready, write = os.pipe()
        command = [COMMAND, "serve", "--until-eof", "--ready-fd", str(write), *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=[write]
        )
        os.close(write)
        with open(ready) as file:
            self.url = file.read().strip()

    def request(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": content}, method=method)
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def create_pod(self, name: str, namespace: str = "shop", phase: str = "Pending", **metadata: Any) -> str:
        """Returns the resource version."""
        pod = {
            "metadata": {"name": name, "namespace": namespace, **metadata},
            "spec": {
                "nodeName": "n1",
                "containers": [{"name": "web", "image": "web:1"}, {"name": "log", "image": "log:2"}],
            },
        }
        try:
            self.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        except urllib.error.HTTPError:
            pass  # it exists
        self.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod)
        return self.set_phase(name, phase, namespace)

    def set_phase(self, name: str, phase: str, namespace: str = "shop") -> str:
        """Returns the resource version."""
        path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
        changed = self.request("PATCH", path, {"status": {"phase": phase}}, "application/merge-patch+json")
        return str(changed["metadata"]["resourceVersion"])

    def delete_pod(self, name: str, namespace: str = "shop") -> None:
        self.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/{name}", {"gracePeriodSeconds": 0})

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server without pods."""
    server = Server()
    yield server
    server.close()


@pytest.fixture
def factory(server: Server) -> Iterator[kinformer.Factory]:
    """A factory for the server."""
    with kinformer.Factory.from_server(server.url) as factory:
        yield factory
