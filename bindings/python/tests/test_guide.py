"""Each block of Python in the documents runs."""

import pathlib
import re

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
"""


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
    server = Server("--load", str(folder / "objects.yaml"), "--write-kubeconfig", str(kubeconfig))
    text = kubeconfig.read_text()
    context = re.search(r"current-context: (.*)", text)[1]
    kubeconfig.write_text(text.replace(context, "dev"))
    yield kubeconfig
    server.close()


@pytest.mark.parametrize(("document", "line", "block"), list(blocks()))
def test_a_block_runs(cluster, monkeypatch, document, line, block):
    monkeypatch.setenv("KUBECONFIG", str(cluster))
    monkeypatch.chdir(cluster.parent)
    with kinformer.Factory() as factory:
        view = {"node": "spec.nodeName", "phase": "status.phase"}
        pods = factory.informer("pods", namespace="shop", labels="app=cart", view=view, indexes={"node": "spec.nodeName"})
        factory.start()
        pods.wait_for_sync(timeout=30)
        names = {"kinformer": kinformer, "factory": factory, "pods": pods, "pod": pods["shop/cart-1"]}
        code = compile("\n" * (line - 1) + block, document, "exec")
        exec(code, names)
        factory.start()
        names["factory"].close()
        assert pods.handler_errors == 0
