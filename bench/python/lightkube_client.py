"""lightkube's list in pages and watch, with a dict of the pods: lightkube_client.py KUBECONFIG"""

import httpx2
import lightkube
import peer
from lightkube.resources.core_v1 import Pod

PAGE = 500
pods = {}


def keep(pod):
    pod.metadata.managedFields = None  # kinformer drops them, too
    pods[pod.metadata.namespace, pod.metadata.name] = pod
    peer.handle(pod.spec.nodeName or "", pod.status.phase)


peer.begin()
config = lightkube.KubeConfig.from_file(peer.kubeconfig())
client = lightkube.Client(config=config, timeout=httpx2.Timeout(None))  # the default ends a watch without events
found = client.list(Pod, namespace="*", chunk_size=PAGE)
for pod in found:
    keep(pod)
peer.say("synced")
for kind, pod in client.watch(Pod, namespace="*", resource_version=found.resourceVersion):
    if kind == "DELETED":
        del pods[pod.metadata.namespace, pod.metadata.name]
    else:
        keep(pod)
    peer.count()
