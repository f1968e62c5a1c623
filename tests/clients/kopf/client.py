"""The steps of ../README.md with kopf: an operator that keeps a ConfigMap for each Thing, behind kopf's own finalizer.

usage: client.py KUBECONFIG NAMESPACE
"""

import logging
import os
import sys
import threading

import kopf
from kubernetes import client, config, watch
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
    with events_changed:
        events.append((type, name, body["data"]["value"]))
        events_changed.notify_all()


@kopf.on.startup()
def settle(settings, **_):
    settings.posting.level = logging.INFO


events, events_changed = [], threading.Condition()
ready, stop = threading.Event(), threading.Event()


def operate():
    kopf.run(namespaces=[namespace], standalone=True, ready_flag=ready, stop_flag=stop, identity="client")


operator = threading.Thread(target=operate, daemon=True)


# The steps, in the order in which they run.


class Failed(Exception):
    """A step's response is not what it must be."""


def await_event(*event):
    """Waits until the handler of ConfigMaps has been called with the event."""
    with events_changed:
        if not events_changed.wait_for(lambda: event in events, DEADLINE):
            raise Failed(f"no {event} among {events}")


def await_watch(what, condition, listing, **arguments):
    """Watches until the condition holds for an event. Without a version the watch begins with events of what is there."""
    for event in watch.Watch().stream(listing, timeout_seconds=DEADLINE, **arguments):
        if condition(event["type"], event["object"]):
            return
    raise Failed(f"{what}: not within {DEADLINE} s")


def await_config_map(size):
    await_watch(
        f"a ConfigMap of size {size}",
        lambda kind, one: kind != "DELETED" and one.data == {"size": size},
        core.list_namespaced_config_map,
        namespace=namespace,
        field_selector="metadata.name=thing",
    )


def config_map():
    return core.read_namespaced_config_map("thing", namespace)


def thing():
    return things.get_namespaced_custom_object(name="thing", **where)


def is_established(definition):
    conditions = (definition.status and definition.status.conditions) or []
    return any(one.type == "Established" and one.status == "True" for one in conditions)


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
    await_watch(
        "the definition is established",
        lambda kind, one: is_established(one),
        definitions.list_custom_resource_definition,
        field_selector=f"metadata.name=things.{group}",
    )
    # kube-apiserver may answer 429 with a Retry-After while it opens the storage of a new resource. The client then retries.
    things.list_namespaced_custom_object(**where)


def informer_sync():
    create_map("first")
    operator.start()
    if not ready.wait(DEADLINE):
        raise Failed("the operator does not start")
    await_event(None, "first", "1")


def create_map(name):
    core.create_namespaced_config_map(
        namespace, {"metadata": {"name": name, "labels": {"of": "client"}}, "data": {"value": "1"}}
    )


def informer_add():
    create_map("second")
    await_event("ADDED", "second", "1")


def informer_update():
    core.patch_namespaced_config_map("second", namespace, {"data": {"value": "2"}}, _content_type=MERGE_PATCH)
    await_event("MODIFIED", "second", "2")


def informer_delete():
    core.delete_namespaced_config_map("second", namespace)
    await_event("DELETED", "second", "2")


def controller():
    body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing"}, "spec": {"size": 1}}
    things.create_namespaced_custom_object(body=body, **where)
    await_config_map("1")
    owners = [one.uid for one in config_map().metadata.owner_references]
    if owners != [thing()["metadata"]["uid"]]:
        raise Failed(f"owners {owners}")


def controller_status():
    """What a handler returns is kept in the status."""
    await_watch(
        "a status of size 1",
        lambda kind, one: one.get("status", {}).get("keep") == {"size": 1},
        things.list_namespaced_custom_object,
        field_selector="metadata.name=thing",
        **where,
    )


def controller_update():
    things.patch_namespaced_custom_object(
        name="thing", body={"spec": {"size": 2}}, _content_type=MERGE_PATCH, **where
    )
    await_config_map("2")


def controller_event():
    """kopf posts Events about the thing."""
    missing = {"size 1", "size 2"}

    def note_posted(kind, one):
        if one.reason == "Kept":
            missing.discard(one.message)
        return not missing

    selector = f"involvedObject.uid={thing()['metadata']['uid']}"
    await_watch("Events", note_posted, core.list_namespaced_event, namespace=namespace, field_selector=selector)


def finalizer():
    metadata = thing()["metadata"]
    if metadata.get("finalizers") != ["kopf.zalando.org/KopfFinalizerMarker"]:
        raise Failed(f"finalizers {metadata.get('finalizers')}")
    things.delete_namespaced_custom_object(name="thing", **where)
    await_watch(
        "the thing is deleted",
        lambda kind, one: kind == "DELETED",
        things.list_namespaced_custom_object,
        field_selector="metadata.name=thing",
        resource_version=metadata["resourceVersion"],
        **where,
    )
    try:
        config_map()
    except ApiException as missing:
        if missing.status != 404:
            raise
        return
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
    if operator.is_alive():
        operator.join(DEADLINE)
    sys.exit(status)


main()
