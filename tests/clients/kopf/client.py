"""The steps of ../README.md with kopf: an operator that keeps a ConfigMap for each Thing, behind kopf's own finalizer.

usage: client.py KUBECONFIG NAMESPACE
"""

import logging
import os
import sys
import threading
import time

import kopf
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

DEADLINE = 30  # seconds that the operator may take
MERGE_PATCH = "application/merge-patch+json"

kubeconfig, namespace = sys.argv[1:]
os.environ["KUBECONFIG"] = kubeconfig  # where login_with_kubeconfig looks for it
config.load_kube_config(kubeconfig)
group = f"{namespace}.example.com"
core, definitions, things = client.CoreV1Api(), client.ApiextensionsV1Api(), client.CustomObjectsApi()
where = {"group": group, "version": "v1", "namespace": namespace, "plural": "things"}


# The operator's handlers.


@kopf.on.login()
def login(**arguments):
    return kopf.login_with_kubeconfig(**arguments)


@kopf.on.create(group, "v1", "things")
@kopf.on.update(group, "v1", "things", field="spec")
def keep(body, spec, name, **_):
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"size": str(spec["size"])}}
    kopf.adopt(made, owner=body)
    try:
        core.create_namespaced_config_map(namespace, made)
    except ApiException as refusal:
        if refusal.status != 409:
            raise
        core.patch_namespaced_config_map(name, namespace, {"data": made["data"]}, _content_type=MERGE_PATCH)
    kopf.info(body, reason="Kept", message=f"size {spec['size']}")
    return {"size": spec["size"]}


@kopf.on.delete(group, "v1", "things")
def clean_up(name, **_):
    core.delete_namespaced_config_map(name, namespace)


@kopf.on.event("configmaps", labels={"of": "client"})
def note(type, name, body, **_):
    events.append((type, name, body["data"]["value"]))


@kopf.on.startup()
def settle(settings, **_):
    settings.posting.level = logging.INFO


events = []
ready, stop = threading.Event(), threading.Event()


def operate():
    kopf.run(namespaces=[namespace], standalone=True, ready_flag=ready, stop_flag=stop, identity="client")


# The steps, in the order in which they run.


class Failed(Exception):
    """A step's answer is not what it must be."""


def until(what, condition):
    end = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise Failed(f"{what}: waited in vain")
        time.sleep(0.05)


def found(call, **arguments):
    """Returns what the call reads, or None where there is nothing."""
    try:
        return call(**arguments)
    except ApiException as refusal:
        if refusal.status != 404:
            raise
        return None


def config_map(name="thing"):
    return found(core.read_namespaced_config_map, name=name, namespace=namespace)


def thing():
    return found(things.get_namespaced_custom_object, name="thing", **where)


def make_namespace():
    core.create_namespace({"metadata": {"name": namespace}})


def custom():
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    definitions.create_custom_resource_definition(
        {
            "metadata": {"name": f"things.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {"spec": anything, "status": anything},
                            }
                        },
                    }
                ],
            },
        }
    )
    until("served", lambda: found(things.list_namespaced_custom_object, **where))


def informer_sync():
    create_map("first")
    threading.Thread(target=operate, daemon=True).start()
    if not ready.wait(DEADLINE):
        raise Failed("the operator does not start")
    until(f"the first ConfigMap among {events}", lambda: (None, "first", "1") in events)


def create_map(name):
    core.create_namespaced_config_map(
        namespace, {"metadata": {"name": name, "labels": {"of": "client"}}, "data": {"value": "1"}}
    )


def informer_add():
    create_map("second")
    until(f"an event among {events}", lambda: ("ADDED", "second", "1") in events)


def informer_update():
    core.patch_namespaced_config_map("second", namespace, {"data": {"value": "2"}}, _content_type=MERGE_PATCH)
    until(f"an event among {events}", lambda: ("MODIFIED", "second", "2") in events)


def informer_delete():
    core.delete_namespaced_config_map("second", namespace)
    until(f"an event among {events}", lambda: ("DELETED", "second", "2") in events)


def controller():
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing"}, "spec": {"size": 1}}
    things.create_namespaced_custom_object(body=body, **where)
    until("a ConfigMap of size 1", lambda: config_map() and config_map().data == {"size": "1"})
    owners = [one.uid for one in config_map().metadata.owner_references]
    if owners != [thing()["metadata"]["uid"]]:
        raise Failed(f"owners {owners}")


def controller_status():
    """What a handler returns is kept in the status."""
    until("a status of size 1", lambda: thing().get("status", {}).get("keep") == {"size": 1})


def controller_update():
    things.patch_namespaced_custom_object(
        name="thing", body={"spec": {"size": 2}}, _content_type=MERGE_PATCH, **where
    )
    until("a ConfigMap of size 2", lambda: config_map().data == {"size": "2"})


def controller_event():
    """kopf posts Events about the thing."""

    def posted():
        uid = thing()["metadata"]["uid"]
        all_events = core.list_namespaced_event(namespace, field_selector=f"involvedObject.uid={uid}").items
        return {"size 1", "size 2"} <= {one.message for one in all_events if one.reason == "Kept"}

    until("Events", posted)


def finalizer():
    finalizers = thing()["metadata"].get("finalizers")
    if finalizers != ["kopf.zalando.org/KopfFinalizerMarker"]:
        raise Failed(f"finalizers {finalizers}")
    things.delete_namespaced_custom_object(name="thing", **where)
    until("the thing is gone", lambda: thing() is None)
    if config_map() is not None:
        raise Failed("the ConfigMap is still there")


def main():
    logging.disable(logging.WARNING)
    status = 0
    for name, step in (
        ("namespace", make_namespace),
        ("custom", custom),
        ("informer-sync", informer_sync),
        ("informer-add", informer_add),
        ("informer-update", informer_update),
        ("informer-delete", informer_delete),
        ("controller", controller),
        ("controller-status", controller_status),
        ("controller-update", controller_update),
        ("controller-event", controller_event),
        ("finalizer", finalizer),
    ):
        try:
            step()
            print(f"ok {name}", flush=True)
        except Exception as failure:  # whatever goes wrong is this step's failure
            status = 1
            text = " ".join(f"{type(failure).__name__}: {failure}".split())
            print(f"failed {name}: {text}", flush=True)
    stop.set()
    sys.exit(status)


main()
