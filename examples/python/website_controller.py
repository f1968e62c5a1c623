#!/usr/bin/env python3
"""Serves each Website: keeps a ConfigMap with its page, a Deployment of web servers and a Service, and writes into its
status how many replicas are ready.

usage: website_controller.py ROUTES [PORT]

ROUTES is a folder that a proxy outside of the cluster reads: one file for each Website. A finalizer keeps a deleted
Website until its file is removed. PORT, by default 8080, serves /readyz and /metrics. Of several processes one works:
the holder of the Lease website-controller.
"""
import http.server
import logging
import pathlib
import signal
import sys
import threading

import kinformer

if not 2 <= len(sys.argv) <= 3:
    sys.exit("usage: website_controller.py ROUTES [PORT]")
routes = pathlib.Path(sys.argv[1])
port = int(sys.argv[2]) if len(sys.argv) == 3 else 8080
finalizer = "example.com/route"

factory = kinformer.Factory()
elector = factory.elector("website-controller")
view = {"html": "spec.html", "image": "spec.image", "replicas": ("spec.replicas", int)}
websites = factory.informer("websites.example.com", view=view)


# ---- the children ----


def new_configmap(site):
    data = {"index.html": site.html}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": site.name}, "data": data}


def new_deployment(site):
    container = {
        "name": "web",
        "image": site.image,
        "ports": [{"containerPort": 80}],
        "volumeMounts": [{"name": "page", "mountPath": "/usr/share/nginx/html"}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": site.name},
        "spec": {
            "replicas": site.replicas,
            "selector": {"matchLabels": {"website": site.name}},
            "template": {
                "metadata": {"labels": {"website": site.name}},
                "spec": {"containers": [container], "volumes": [{"name": "page", "configMap": {"name": site.name}}]},
            },
        },
    }


def new_service(site):
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": site.name},
        "spec": {"ports": [{"port": 80, "targetPort": 80}], "selector": {"website": site.name}},
    }


# ---- reconciling ----


@factory.controller(
    for_=websites, owns=["configmaps", "deployments", "services"], name="website-controller", workers=2, elector=elector
)
def reconcile(ctx, key):
    site = ctx.obj
    if site is None:
        return
    route = routes / f"{site.namespace}.{site.name}"
    if "deletionTimestamp" in site["metadata"]:
        route.unlink(missing_ok=True)
        ctx.remove_finalizer(finalizer)
    elif not ctx.add_finalizer(finalizer):                 # else the event of this change continues
        for child in (new_configmap(site), new_deployment(site), new_service(site)):
            ctx.apply_child(child)
        route.write_text(f"{site.name}.{site.namespace}.svc:80\n")
        write_status(ctx, site)


def write_status(ctx, site):
    deployment = reconcile.owned("deployments").get(site.key)
    ready = deployment.field("status.readyReplicas", 0) if deployment else 0
    status, reason = ("True", "AllReady") if ready >= site.replicas else ("False", "Starting")
    changed = site.to_dict()
    changed.setdefault("status", {})["readyReplicas"] = ready
    kinformer.set_condition(changed, "Ready", status, reason, f"{ready} of {site.replicas} replicas are ready")
    ctx.update_status(changed)


# ---- the program ----


class Probes(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        is_fine, text = (True, factory.metrics) if self.path == "/metrics" else (factory.is_ready, factory.readiness)
        self.send_response(200 if is_fine else 503)
        self.end_headers()
        self.wfile.write(text.encode())


logging.basicConfig(level=logging.INFO)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda *_: sys.exit())
probes = http.server.ThreadingHTTPServer(("", port), Probes)
threading.Thread(target=probes.serve_forever, daemon=True).start()
with factory:
    factory.run()
