"""The program under test: looks after the pods, deployments and settings of a shop, with the official client."""

import queue
import threading

from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException


class TooManyConflicts(Exception):
    """Others changed the object each time."""


class Fleet:
    def __init__(self, api):
        self.core = client.CoreV1Api(api)
        self.apps = client.AppsV1Api(api)
        self.custom = client.CustomObjectsApi(api)
        self.authorization = client.AuthorizationV1Api(api)

    def failed_pods(self, namespace):
        pods = self.core.list_namespaced_pod(namespace, field_selector="status.phase=Failed")
        return [pod.metadata.name for pod in pods.items]

    def all_pods(self, page=100):
        """Reads in pages, and begins again if the list has become too old."""
        names, token = [], None
        while True:
            try:
                pods = self.core.list_pod_for_all_namespaces(limit=page, _continue=token)
            except ApiException as failure:
                if failure.status != 410 or token is None:
                    raise
                names, token = [], None
                continue
            names += [pod.metadata.name for pod in pods.items]
            token = pods.metadata._continue
            if not token:
                return names

    def ensure_namespace(self, name):
        """Returns true if the namespace is new."""
        try:
            self.core.create_namespace({"metadata": {"name": name}})
            return True
        except ApiException as failure:
            if failure.status != 409:
                raise
            return False

    def scale(self, namespace, name, replicas):
        self.apps.patch_namespaced_deployment_scale(name, namespace, {"spec": {"replicas": replicas}})

    def restart(self, namespace, name, time):
        annotations = {"kubectl.kubernetes.io/restartedAt": time}
        patch = {"spec": {"template": {"metadata": {"annotations": annotations}}}}
        self.apps.patch_namespaced_deployment(name, namespace, patch)

    def set_config(self, namespace, name, **values):
        """Changes values of a ConfigMap that others change, too."""
        for _ in range(5):
            config = self.core.read_namespaced_config_map(name, namespace)
            config.data = (config.data or {}) | values
            try:
                self.core.replace_namespaced_config_map(name, namespace, config)
                return
            except ApiException as failure:
                if failure.status != 409:
                    raise
        raise TooManyConflicts(name)

    def drain(self, node):
        self.core.patch_node(node, {"spec": {"unschedulable": True}})
        for pod in self.core.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={node}").items:
            eviction = {"metadata": {"name": pod.metadata.name, "namespace": pod.metadata.namespace}}
            self.core.create_namespaced_pod_eviction(pod.metadata.name, pod.metadata.namespace, eviction)

    def may(self, verb, resource, namespace):
        attributes = {"verb": verb, "resource": resource, "namespace": namespace}
        review = self.authorization.create_self_subject_access_review({"spec": {"resourceAttributes": attributes}})
        return review.status.allowed

    def accept_orders(self, namespace):
        """Marks each order that is not accepted yet. Returns their names."""
        where = {"group": "shop.example.com", "version": "v1", "namespace": namespace, "plural": "orders"}
        accepted = []
        for order in self.custom.list_namespaced_custom_object(**where)["items"]:
            if order.get("status", {}).get("phase") != "Accepted":
                name = order["metadata"]["name"]
                self.custom.patch_namespaced_custom_object_status(
                    name=name, body={"status": {"phase": "Accepted"}}, **where
                )
                accepted.append(name)
        return accepted


class Follower(threading.Thread):
    """Puts each pod's (name, phase) into `changes`, and (name, None) when it is deleted; goes on after any failure."""

    def __init__(self, api, namespace):
        super().__init__(daemon=True)
        self.core = client.CoreV1Api(api)
        self.namespace = namespace
        self.changes = queue.Queue()
        self.known = {}
        self.is_stopped = threading.Event()
        self.watch = watch.Watch()
        self.start()

    def run(self):
        while not self.is_stopped.is_set():
            try:
                self.follow()
            except Exception:
                self.is_stopped.wait(0.01)

    def follow(self):
        pods = self.core.list_namespaced_pod(self.namespace)
        found = {pod.metadata.name: pod.status.phase for pod in pods.items}
        for name in self.known.keys() - found.keys():
            self.note(name, None)
        for name, phase in found.items():
            self.note(name, phase)
        version = pods.metadata.resource_version
        arguments = {"resource_version": version, "timeout_seconds": 60}
        for event in self.watch.stream(self.core.list_namespaced_pod, self.namespace, **arguments):
            pod = event["object"]
            self.note(pod.metadata.name, None if event["type"] == "DELETED" else pod.status.phase)

    def note(self, name, phase):
        if self.known.get(name) == phase:
            return
        if phase is None:
            del self.known[name]
        else:
            self.known[name] = phase
        self.changes.put((name, phase))

    def stop(self):
        """The thread ends with its watch."""
        self.is_stopped.set()
        self.watch.stop()
