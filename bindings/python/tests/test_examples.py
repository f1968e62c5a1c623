"""The programs of examples/python, run as a user would, against an embedded server."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

import kinformer
import pytest
from conftest import Server

LIMIT = 60  # seconds for what comes at once, on a busy machine
EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"


class Cluster:
    """A server with a definition, a client for it, and its kubeconfig for the programs."""

    def __init__(self, folder, definition):
        self.environment = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
        self.server = Server("--load", str(definition), "--write-kubeconfig", str(folder / "kubeconfig"))
        self.factory = kinformer.Factory.from_server(self.server.url)
        self.factory.start()
        self.client = self.factory.client
        self.program = None

    def run(self, program, *arguments):
        """The leak detector cannot look at a process that ends with a thread."""
        command = [sys.executable, str(EXAMPLES / "python" / program), *map(str, arguments)]
        environment = {**self.environment, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        self.program = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def end(self):
        """Ends the program as Kubernetes does, and returns what it wrote to stderr."""
        self.program.send_signal(signal.SIGTERM)
        written = self.program.communicate(timeout=LIMIT)[1]
        assert self.program.returncode == 0, written
        return written

    def wait_for(self, resource, condition):
        """Waits until the condition of the resource's informer is true."""
        informer = self.factory.informer(resource)
        changed = threading.Event()

        class Changes:
            def on_add(self, event):
                changed.set()

            on_update = on_delete = on_add

        registration = informer.add_handler(Changes())
        self.factory.start()
        informer.wait_for_sync(timeout=LIMIT)
        while not condition(informer):
            assert changed.wait(LIMIT), [obj.json for obj in informer.values()]
            changed.clear()
        registration.remove()

    def wait_for_object(self, resource, key, condition):
        """Waits until the object is there and satisfies the condition, and returns it."""
        self.wait_for(resource, lambda informer: key in informer and condition(informer[key]))
        return self.factory.informer(resource)[key]

    def close(self):
        if self.program and self.program.poll() is None:
            self.program.kill()
            self.program.communicate()
        self.factory.close()
        self.server.close()


@pytest.fixture
def sample(tmp_path):
    cluster = Cluster(tmp_path, EXAMPLES / "sample-controller" / "crd.yaml")
    yield cluster
    cluster.close()


@pytest.fixture
def websites(tmp_path):
    cluster = Cluster(tmp_path, EXAMPLES / "website-controller" / "crd.yaml")
    yield cluster
    cluster.close()


def foo(name, deployment, replicas):
    return {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"deploymentName": deployment, "replicas": replicas},
    }


def test_the_sample_controller_keeps_a_deployment_for_each_foo(sample):
    sample.run("sample_controller.py", "default")
    sample.client.create(foo("a", "web", 2))
    web = sample.wait_for_object("deployments", "default/web", lambda obj: True)
    assert web["spec"]["replicas"] == 2 and web["metadata"]["ownerReferences"][0]["name"] == "a"

    sample.client.scale("deployments", "default/web", 5)  # somebody else changes it
    sample.wait_for_object("deployments", "default/web", lambda obj: obj["spec"]["replicas"] == 2)

    status = {"status": {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}}
    sample.client.patch("deployments", "default/web", status, subresource="status")
    foos = "foos.samplecontroller.k8s.io"
    sample.wait_for_object(foos, "default/a", lambda obj: obj.field("status.availableReplicas") == 2)

    sample.client.create(foo("b", "web", 1))  # the Deployment of another Foo
    reasons = {"Synced", "ErrResourceExists"}
    sample.wait_for("events", lambda events: reasons <= {event["reason"] for event in events.values()})
    written = sample.end()
    assert 'Resource "web" already exists and is not managed by Foo' in written and "Traceback" in written
    lease = sample.client.get("leases", "default/sample-controller")
    assert not lease["spec"].get("holderIdentity")  # released


def website(**spec):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Website",
        "metadata": {"name": "hello", "namespace": "default"},
        "spec": spec,
    }


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_the_website_controller_serves_websites(websites, tmp_path):
    routes = tmp_path / "routes"
    routes.mkdir()
    port = free_port()
    websites.run("website_controller.py", routes, port)
    websites.client.create(website(html="<h1>hello</h1>", replicas=2))
    sites = "websites.example.com"
    websites.wait_for_object(sites, "default/hello", lambda obj: obj.field("status.conditions[0].reason") == "Starting")
    page = websites.client.get("configmaps", "default/hello")
    assert page["data"] == {"index.html": "<h1>hello</h1>"}
    deployment = websites.client.get("deployments", "default/hello")
    assert deployment["spec"]["replicas"] == 2
    assert deployment["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1.27"
    assert websites.client.get("services", "default/hello")["spec"]["selector"] == {"website": "hello"}
    assert (routes / "default.hello").read_text() == "hello.default.svc:80\n"
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as response:
        assert response.status == 200
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as response:
        assert b"controller_runtime_reconcile" in response.read()

    status = {"status": {"replicas": 2, "readyReplicas": 2}}
    websites.client.patch("deployments", "default/hello", status, subresource="status")
    ready = websites.wait_for_object(sites, "default/hello", lambda obj: obj.field("status.readyReplicas") == 2)
    assert ready["status"]["conditions"][0]["status"] == "True"

    websites.client.delete("services", "default/hello")  # somebody else removes it
    websites.wait_for_object("services", "default/hello", lambda obj: True)

    websites.client.patch(sites, "default/hello", {"spec": {"html": "<h1>bye</h1>"}})
    websites.wait_for_object("configmaps", "default/hello", lambda obj: obj["data"]["index.html"] == "<h1>bye</h1>")

    websites.client.delete(sites, "default/hello")
    websites.wait_for(sites, lambda informer: "default/hello" not in informer)
    assert list(routes.iterdir()) == []
    assert "Traceback" not in websites.end()
    lease = websites.client.get("leases", "default/website-controller")
    assert not lease["spec"].get("holderIdentity")  # released
