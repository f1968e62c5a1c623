"""Many events leave nothing behind. A million of them: ./dev bench python --soak."""

import gc
import sys
import threading

LIMIT = 60  # seconds for the changes of a round
CHANGES = 500
ROUNDS = 3  # the first fills what the interpreter caches
MARGIN = CHANGES // 4  # objects, and blocks of memory: far fewer than one for each event


class Reader:
    """Reads two fields of both states of each update, and lets the test wait for their number."""

    def __init__(self):
        self.count = 0
        self.changed = threading.Condition()

    def on_update(self, event):
        assert event.obj.node == event.obj["spec"]["nodeName"] == event.old.node
        assert event.obj.phase != event.old.phase
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def wait_for(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: self.count >= count, LIMIT), self.count


def living():
    """The number of objects that the garbage collector knows, and of Python's blocks of memory (0 with the sanitizers)."""
    gc.collect()
    return len(gc.get_objects()), sys.getallocatedblocks()


def test_events_leave_no_references_and_no_memory(server, factory):
    server.create_pod("cart-1", phase="A")
    pods = factory.informer("pods", view={"node": "spec.nodeName", "phase": "status.phase"})
    reader = Reader()
    pods.add_handler(reader)
    factory.start()
    pods.wait_for_sync(LIMIT)
    counts = []
    for number in range(1, ROUNDS + 1):
        for i in range(CHANGES):
            server.set_phase("cart-1", "BA"[i % 2])
        reader.wait_for(number * CHANGES)
        counts.append(living())
    assert pods.handler_errors == 0
    for first, last in zip(counts[1], counts[-1]):
        assert last - first < MARGIN, counts
