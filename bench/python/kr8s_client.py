"""kr8s' list, in its pages of 100, and watch, with a dict of the pods: kr8s_client.py KUBECONFIG"""

import asyncio

import kr8s.asyncio
import peer
from kr8s.asyncio.objects import Pod

pods = {}


def keep(pod):
    raw = pod.raw
    raw["metadata"].pop("managedFields", None)  # kinformer drops them, too
    pods[raw["metadata"]["namespace"], raw["metadata"]["name"]] = pod
    peer.handle(raw["spec"].get("nodeName") or "", raw["status"]["phase"])


async def main():
    api = await kr8s.asyncio.api(kubeconfig=peer.kubeconfig())
    version = 0
    async for pod in api.get(Pod, namespace=kr8s.ALL):
        keep(pod)
        version = max(version, int(pod.raw["metadata"]["resourceVersion"]))  # kr8s does not give that of the list
    peer.say("synced")
    async for kind, pod in api.watch(Pod, namespace=kr8s.ALL, since=str(version)):
        if kind == "DELETED":
            del pods[pod.namespace, pod.name]
        else:
            keep(pod)
        peer.count()


peer.begin()
asyncio.run(main())
