"""A program with the package `kinformer`: watch_pods.py

Prints what its informer of all pods notifies of, as `kinformer watch -o json pods -A` does, until SIGTERM. At the end it
prints CACHE and the objects of the cache. The cluster is that of KUBECONFIG.
"""

import json
import signal
import sys

import kinformer

TYPES = {"add": "ADDED", "update": "MODIFIED", "delete": "DELETED"}


def say(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Printer:
    count = 0

    def on_add(self, event):
        self.count += event.is_in_initial_list
        line = {"type": TYPES[event.type], "initial": event.is_in_initial_list, "resync": event.is_resync}
        line |= {"finalStateUnknown": event.final_state_unknown, "object": event.obj.to_dict()}
        say(line | ({"old": event.old.to_dict()} if event.old else {}))

    on_update = on_delete = on_add

    def on_synced(self):
        # The newest of the objects: the package has no version of the list.
        version = max((int(pod.resource_version) for pod in pods.values()), default=1)
        say({"type": "SYNCED", "resource": "pods", "count": self.count, "resourceVersion": str(version)})


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # in all threads
with kinformer.Factory(namespace="") as factory:
    pods = factory.informer("pods")
    pods.add_handler(Printer())
    factory.start()
    signal.sigwait([signal.SIGTERM])
    say({"type": "CACHE", "items": [pod.to_dict() for pod in pods.values()]})
