"""kinformer's informer: kinformer_informer.py KUBECONFIG view|keep-view|items

view: whole objects, and a view of the two fields; keep-view: only the view is kept; items: whole objects without a
view, of which the handler reads items, as of a dict.
"""

import sys
import threading

import kinformer
import peer

VIEW = {"node": "spec.nodeName", "phase": "status.phase"}
FORMS = {"view": {"view": VIEW}, "keep-view": {"view": VIEW, "keep": "view"}, "items": {}}
form = sys.argv[2]


class Handler:
    if form == "items":

        def on_add(self, event):
            peer.handle(event.obj["spec"].get("nodeName") or "", event.obj["status"]["phase"])
    else:

        def on_add(self, event):
            peer.handle(event.obj.node or "", event.obj.phase)

    def on_update(self, event):
        self.on_add(event)
        peer.count()

    def on_synced(self):
        peer.say("synced")


peer.begin()
with kinformer.Factory.from_kubeconfig(peer.kubeconfig()) as factory:
    pods = factory.informer("pods", **FORMS[form])
    pods.add_handler(Handler())
    factory.start()
    threading.Event().wait()
