#!/usr/bin/env python3
"""Keeps a Deployment for each Foo: a port of Kubernetes' own sample controller (k8s.io/sample-controller).

usage: sample_controller.py [NAMESPACE]    of several processes one works: the holder of the Lease in the namespace
"""
import logging
import signal
import sys

import kinformer

POD = {"containers": [{"name": "nginx", "image": "nginx:latest"}]}

factory = kinformer.Factory(resync=30)
foos = factory.informer("foos.samplecontroller.k8s.io", view={"wanted": "spec.deploymentName"})
elector = factory.elector("sample-controller", namespace=sys.argv[1]) if len(sys.argv) > 1 else None


def new_deployment(foo):
    """The Deployment of a Foo, which is its controller: its events reach the Foo."""
    labels = {"app": "nginx", "controller": foo.name}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": foo.wanted, "namespace": foo.namespace},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": POD}},
    }
    if (replicas := foo.field("spec.replicas")) is not None:
        deployment["spec"]["replicas"] = replicas
    kinformer.set_controller(deployment, foo)
    return deployment


@factory.controller(for_=foos, owns=["deployments"], name="sample-controller", workers=2, elector=elector)
def reconcile(ctx, key):
    foo = ctx.obj
    if foo is None or not foo.wanted:
        return logging.info("Foo %s no longer exists, or has no spec.deploymentName", key)
    deployment = reconcile.owned("deployments").get(f"{foo.namespace}/{foo.wanted}")
    if deployment is None:
        deployment = ctx.client.create(new_deployment(foo))
    if not kinformer.is_controlled_by(deployment, foo):
        message = f'Resource "{deployment.name}" already exists and is not managed by Foo'
        ctx.event("ErrResourceExists", message, type="Warning")
        raise RuntimeError(message)                        # the key is processed again, after growing delays
    if foo.field("spec.replicas", deployment["spec"]["replicas"]) != deployment["spec"]["replicas"]:
        deployment = ctx.client.update(new_deployment(foo))
    changed = foo.to_dict()                                # with its version: a conflict if the Foo has changed since
    changed["status"] = {"availableReplicas": deployment.field("status.availableReplicas", 0)}
    if ctx.update_status(changed):
        ctx.event("Synced", "Foo synced successfully")


logging.basicConfig(level=logging.INFO)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: sys.exit())
with factory:
    factory.run()
