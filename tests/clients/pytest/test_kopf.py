"""An operator of kopf, tested with the fixture kube_api."""

import logging
import threading

import kopf
import pytest

THINGS = "things.example.com"
DEFINITION = f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {THINGS}}}
spec:
  group: example.com
  scope: Namespaced
  names: {{plural: things, singular: thing, kind: Thing}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
"""


def handlers(registry):
    """The operator under test: it repeats what each Thing says in its status."""

    @kopf.on.login(registry=registry)
    def login(**arguments):
        return kopf.login_with_kubeconfig(**arguments)

    @kopf.on.startup(registry=registry)
    def settle(settings, **_):
        settings.posting.enabled = False

    @kopf.on.create("example.com", "v1", "things", registry=registry)
    @kopf.on.update("example.com", "v1", "things", registry=registry)
    def echo(spec, patch, **_):
        patch.status["echo"] = spec["word"]

    @kopf.on.delete("example.com", "v1", "things", registry=registry)
    def farewell(spec, **_):
        if spec.get("stays"):
            raise kopf.TemporaryError("it stays", delay=3600)


@pytest.fixture
def operator(kube_api, monkeypatch):
    """The operator, which runs on a thread until the end of the test."""
    monkeypatch.setenv("KUBECONFIG", kube_api.kubeconfig)
    kube_api.put(DEFINITION)
    registry = kopf.OperatorRegistry()
    handlers(registry)
    ready, stop = threading.Event(), threading.Event()
    arguments = {"registry": registry, "namespaces": ["default"], "standalone": True}
    thread = threading.Thread(
        target=kopf.run, kwargs={**arguments, "ready_flag": ready, "stop_flag": stop}, daemon=True
    )
    logging.getLogger("kopf").setLevel(logging.CRITICAL)
    thread.start()
    kube_api.wait_for_watches(THINGS, timeout=30)
    yield
    stop.set()
    thread.join()


def thing(word):
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "one"}, "spec": {"word": word}}


def test_a_new_thing_is_echoed(kube_api, operator):
    kube_api.create(THINGS, thing("hello"))
    kube_api.wait_for_object(THINGS, "one", fields="status.echo=hello", timeout=30)


def test_a_change_is_echoed(kube_api, operator):
    kube_api.create(THINGS, thing("hello"))
    kube_api.wait_for_object(THINGS, "one", fields="status.echo=hello", timeout=30)
    kube_api.patch(THINGS, "one", {"spec": {"word": "goodbye"}})
    kube_api.wait_for_object(THINGS, "one", fields="status.echo=goodbye", timeout=30)


def test_a_deleted_thing_is_let_go(kube_api, operator):
    kube_api.create(THINGS, thing("hello"))
    kube_api.wait_for_object(THINGS, "one", fields="status.echo=hello", timeout=30)
    assert kube_api.get(THINGS, "one")["metadata"]["finalizers"] == ["kopf.zalando.org/KopfFinalizerMarker"]
    kube_api.delete(THINGS, "one")
    kube_api.wait_for_deletion(THINGS, "one", timeout=30)
