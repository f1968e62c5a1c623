#!/usr/bin/env python3
"""The sample controller at work on an API server of its own. Foos are created, scaled and deleted, and their Deployments
are changed and deleted behind the controller's back. Ends with status 0 if the controller repaired every change.

usage: demo.py KINFORMER CONTROLLER [SECONDS]"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

FOOS = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
NAMES = ["web", "cart", "search", "login", "mail"]
LIMIT_S = 20  # for one repair


def request(method, path, body=None):
    """Returns the object, or None if it does not exist."""
    data = json.dumps(body).encode() if body is not None else None
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    call = urllib.request.Request(url + path, data, {"Content-Type": kind}, method=method)
    try:
        with urllib.request.urlopen(call, timeout=10) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise


def replicas(count):
    return {"spec": {"replicas": count}}


def is_right(name):
    """The Deployment is the Foo's, with its replicas. All of them become available at once, as no kubelet is here."""
    deployment = request("GET", f"{DEPLOYMENTS}/{name}")
    if name not in wanted:
        return deployment is None
    if not deployment or deployment["spec"]["replicas"] != wanted[name]:
        return False
    if deployment["metadata"]["ownerReferences"][0]["uid"] != request("GET", f"{FOOS}/{name}")["metadata"]["uid"]:
        return False
    if deployment.get("status", {}).get("availableReplicas") != wanted[name]:
        numbers = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas"), wanted[name])
        request("PATCH", f"{DEPLOYMENTS}/{name}/status", {"status": numbers})
    return request("GET", f"{FOOS}/{name}").get("status", {}).get("availableReplicas") == wanted[name]


def act(name):
    """Changes one Foo, or breaks its Deployment. Returns what was done."""
    count = random.randint(1, 6)
    if name not in wanted:
        wanted[name] = count
        request("POST", FOOS, {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
                               "metadata": {"name": name}, "spec": {"deploymentName": name, "replicas": count}})
        return f"user      creates Foo {name} with {count} replicas"
    kind = random.choice(["scale", "delete", "break", "break", "remove"])
    if kind == "scale":
        wanted[name] = count
        request("PATCH", f"{FOOS}/{name}", replicas(count))
        return f"user      scales Foo {name} to {count}"
    if kind == "delete":
        del wanted[name]
        request("DELETE", f"{FOOS}/{name}")
        return f"user      deletes Foo {name}"
    if kind == "break":
        request("PATCH", f"{DEPLOYMENTS}/{name}", replicas(count + 10))
        return f"saboteur  sets Deployment {name} to {count + 10} replicas"
    request("DELETE", f"{DEPLOYMENTS}/{name}")
    return f"saboteur  deletes Deployment {name}"


def run(seconds):
    begin = time.monotonic()
    while time.monotonic() - begin < seconds or not wanted:
        name = random.choice(NAMES)
        print(f"{time.monotonic() - begin:6.2f} s  {act(name)}", flush=True)
        since = time.monotonic()
        while not is_right(name):
            if controller.poll() is not None:
                sys.exit(f"demo: the controller ended with status {controller.returncode}")
            if time.monotonic() - since > LIMIT_S:
                sys.exit(f"demo: after {LIMIT_S} s Deployment {name} is still wrong")
            time.sleep(0.01)
        print(f"{time.monotonic() - begin:6.2f} s  right after {(time.monotonic() - since) * 1000:.0f} ms", flush=True)
        time.sleep(0.4)  # for people


if len(sys.argv) < 3:
    sys.exit(__doc__)
here = os.path.dirname(os.path.abspath(__file__))
random.seed(1)
wanted = {}  # the replicas of each Foo
with tempfile.TemporaryDirectory() as folder, open(f"{folder}/log", "wb") as log:
    config = f"{folder}/kubeconfig"
    serve = [sys.argv[1], "serve", "--gc", "--until-eof", "--load", f"{here}/crd.yaml", "--write-kubeconfig", config]
    server = subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
    url = server.stdout.readline().removeprefix("serving ").strip()
    if not url:
        sys.exit("demo: the server does not start")
    print(f"an API server at {url}, and {sys.argv[2]} with KUBECONFIG={config}", flush=True)
    controller = subprocess.Popen([sys.argv[2]], env={**os.environ, "KUBECONFIG": config}, stdout=log, stderr=log)
    try:
        run(float(sys.argv[3]) if len(sys.argv) > 3 else 10)
    finally:
        controller.terminate()
        status = controller.wait(LIMIT_S)
        server.communicate()
    if status or server.returncode:
        sys.exit(f"demo: the controller ended with status {status}, the server with {server.returncode}")
print("every Foo has its Deployment")
