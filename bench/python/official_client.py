"""The official client's list in pages and watch, with a dict of the pods: official_client.py KUBECONFIG"""

import kubernetes
import peer

PAGE = 500
pods = {}


def keep(pod):
    pod.metadata.managed_fields = None  # kinformer drops them, too
    pods[pod.metadata.namespace, pod.metadata.name] = pod
    peer.handle(pod.spec.node_name or "", pod.status.phase)


def list_all(api):
    """Returns the resource version of the list."""
    token = None
    while True:
        page = api.list_pod_for_all_namespaces(limit=PAGE, _continue=token)
        for pod in page.items:
            keep(pod)
        token = page.metadata._continue
        if not token:
            return page.metadata.resource_version


peer.begin()
kubernetes.config.load_kube_config(peer.kubeconfig())
api = kubernetes.client.CoreV1Api()
version = list_all(api)
peer.say("synced")
for event in kubernetes.watch.Watch().stream(api.list_pod_for_all_namespaces, resource_version=version):
    if event["type"] == "DELETED":
        del pods[event["object"].metadata.namespace, event["object"].metadata.name]
    else:
        keep(event["object"])
    peer.count()
