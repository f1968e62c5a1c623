"""Each block of Python in the documents runs."""

import collections
import pathlib
import re
import threading

import kinformer
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
DOCUMENTS = ["docs/guide/use-from-python.md", "bindings/python/README.md"]

OBJECTS = """
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop, labels: {app: cart, tier: web}}
spec: {nodeName: n1, containers: [{name: cart, image: registry.example.com/cart:1}]}
status: {phase: Running}
---
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop, annotations: {budget: 1500m}}
spec: {type: ClusterIP, clusterIP: 10.0.0.7, clusterIPs: [10.0.0.7], selector: {app: cart}, ports: [{port: 80, protocol: TCP}]}
---
apiVersion: example.com/v1
kind: Website
metadata: {name: hello, namespace: shop}
spec: {html: <h1>hello</h1>}
"""
DEFINITION = ROOT / "examples" / "website-controller" / "crd.yaml"


def blocks():
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            line = text.count("\n", 0, match.start()) + 2
            yield pytest.param(document, line, match[1], id=f"{document}:{line}")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A server with the objects of the documents. Its kubeconfig is the program's."""
    from conftest import Server

    folder = tmp_path_factory.mktemp("guide")
    (folder / "objects.yaml").write_text(OBJECTS)
    kubeconfig = folder / "kubeconfig"
    server = Server("--load", str(DEFINITION), "--load", str(folder / "objects.yaml"), "--write-kubeconfig", str(kubeconfig))
    text = kubeconfig.read_text()
    context = re.search(r"current-context: (.*)", text)[1]
    kubeconfig.write_text(text.replace(context, "dev"))
    yield kubeconfig
    server.close()


@pytest.mark.parametrize(("document", "line", "block"), list(blocks()))
def test_a_block_runs(cluster, monkeypatch, document, line, block):
    monkeypatch.setenv("KUBECONFIG", str(cluster))
    monkeypatch.chdir(cluster.parent)
    reconciled = collections.defaultdict(threading.Event)
    reconcile = kinformer.Controller.__call__

    def call(controller, ctx, key):
        try:
            return reconcile(controller, ctx, key)
        finally:
            reconciled[controller.name].set()

    monkeypatch.setattr(kinformer.Controller, "__call__", call)
    with kinformer.Factory() as factory:
        view = {"node": "spec.nodeName", "phase": "status.phase"}
        pods = factory.informer("pods", namespace="shop", labels="app=cart", view=view, indexes={"node": "spec.nodeName"})
        factory.start()
        pods.wait_for_sync(timeout=30)
        names = {"kinformer": kinformer, "factory": factory, "pods": pods, "pod": pods["shop/cart-1"]}
        code = compile("\n" * (line - 1) + block, document, "exec")
        exec(code, names)
        factory.start()
        controllers = [made for made in names.values() if isinstance(made, kinformer.Controller)]
        for controller in controllers:
            assert reconciled[controller.name].wait(30)
        names["factory"].close()
        assert pods.handler_errors == 0
        assert all(controller.errors == 0 for controller in controllers)
