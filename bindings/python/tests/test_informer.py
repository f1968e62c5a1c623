"""Informers: the cache, handlers and waits."""

import copy
import gc
import pickle
import threading
import weakref

import kinformer
import pytest

LIMIT = 30  # seconds for what comes at once


class Recorder:
    """A handler that keeps its events, and lets the test wait for their number."""

    def __init__(self):
        self.events = []
        self.changed = threading.Condition()

    def on_add(self, event):
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    on_update = on_add
    on_delete = on_add

    def wait_for(self, count):
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.events) >= count, LIMIT), self.events
        return [(event.type, event.key) for event in self.events]


def test_the_program_of_the_readme_works(server, factory):
    server.create_pod("cart-1", phase="Running", labels={"app": "cart", "tier": "web"})
    server.create_pod("other", labels={"app": "other"})
    pods = factory.informer(
        "pods",
        namespace="shop",
        labels="app=cart",
        view={"node": "spec.nodeName", "phase": "status.phase"},
        indexes={"node": "spec.nodeName"},
    )
    changes = []
    seen = threading.Event()

    @pods.on_update
    def changed(event):
        changes.append((event.key, event.old.phase, event.new.phase))
        seen.set()

    factory.start()
    pods.wait_for_sync(timeout=LIMIT)
    assert pods["shop/cart-1"].phase == "Running"
    assert [pod.key for pod in pods.by_index("node", "n1")] == ["shop/cart-1"]
    assert [pod.key for pod in pods.list(labels="tier=web")] == ["shop/cart-1"]
    pods.wait_for_version(server.set_phase("cart-1", "Failed"), timeout=LIMIT)
    assert pods["shop/cart-1"].phase == "Failed"
    assert seen.wait(LIMIT)
    assert changes == [("shop/cart-1", "Running", "Failed")]


def test_a_wait_for_what_is_true_already_needs_no_time(server, factory):
    server.create_pod("a")
    pods = factory.informer("pods")
    factory.informer("services")
    factory.start()
    factory.wait_for_sync(timeout=LIMIT)
    version = pods["shop/a"].resource_version
    for _ in range(20):
        pods.wait_for_sync(timeout=0)
        factory.wait_for_sync(timeout=0)
        pods.wait_for_version(version, timeout=0)
        pods.wait_for_deletion("shop/b", timeout=0)


@pytest.mark.parametrize("use", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_factory_that_is_copied_says_that_it_cannot_be(factory, use):
    """Two of them would free the library's factory twice."""
    pods = factory.informer("pods")
    with pytest.raises(TypeError, match="a factory cannot be pickled or copied"):
        use(factory)
    if use is not copy.copy:
        with pytest.raises(TypeError):
            use(pods)


def test_a_handler_gets_each_change_in_order(server, factory):
    server.create_pod("a")
    pods = factory.informer("po")
    recorder = Recorder()
    registration = pods.add_handler(recorder)
    factory.start()
    recorder.wait_for(1)
    server.set_phase("a", "Running")
    server.delete_pod("a")
    assert recorder.wait_for(3) == [("add", "shop/a"), ("update", "shop/a"), ("delete", "shop/a")]
    add, update, delete = recorder.events
    assert add.is_in_initial_list and add.old is None
    assert (update.old["status"]["phase"], update.obj["status"]["phase"]) == ("Pending", "Running")
    assert update.new is update.obj and not update.is_resync
    assert delete.obj["status"]["phase"] == "Running" and not delete.final_state_unknown
    assert registration.has_synced and registration.pending == 0 and registration.errors == 0


def test_an_exception_in_a_handler_is_logged_and_counted_and_the_next_event_comes(server, factory, caplog):
    pods = factory.informer("pods")
    recorder = Recorder()

    @pods.on_add
    def fail(event):
        raise RuntimeError(f"no place for {event.key}")

    @pods.on_add
    def leave(event):
        raise SystemExit(3)

    pods.add_handler(recorder)
    factory.start()
    pods.wait_for_sync(timeout=LIMIT)
    server.create_pod("a")
    server.create_pod("b")
    recorder.wait_for(2)
    factory.close()
    assert pods.handler_errors == 4
    texts = [record for record in caplog.records if record.name == "kinformer"]
    assert len(texts) == 4 and all(record.exc_info for record in texts)
    assert "no place for shop/a" in caplog.text
    assert "on_add of a handler of pods in all namespaces failed for shop/b" in caplog.text


@pytest.mark.parametrize(
    ("wait", "message"),
    [
        (lambda pods, services: services.wait_for_sync(timeout=0.01), "services in all namespaces: not synced .*not started"),
        (lambda pods, services: pods.wait_for_version("999999", timeout=0), "version 999999 of the cache not seen"),
        (lambda pods, services: pods.get_or_fetch("shop/none", timeout=0), "shop/none not fetched"),
    ],
)
def test_a_timeout_says_that_a_handler_is_running(server, factory, wait, message):
    begun, may_end = threading.Event(), threading.Event()
    pods = factory.informer("pods")

    @pods.on_add
    def add(event):
        begun.set()
        may_end.wait(LIMIT)

    server.create_pod("a")
    factory.start()
    assert begun.wait(LIMIT)
    services = factory.informer("services")
    factory.start()
    try:
        with pytest.raises(kinformer.Timeout, match=f"{message}.*the factory's thread is in on_add of a handler of pods in"):
            wait(pods, services)
    finally:
        may_end.set()
    services.wait_for_sync(timeout=LIMIT)


def test_an_informer_is_a_mapping_of_keys_to_objects(server, factory):
    server.create_pod("a")
    server.create_pod("b")
    pods = factory.informer("pods")
    factory.start()
    factory.wait_for_sync(timeout=LIMIT)
    assert pods.has_synced
    assert sorted(pods) == ["shop/a", "shop/b"] and len(pods) == 2
    assert "shop/a" in pods and "shop/c" not in pods and 5 not in pods
    assert pods.get("shop/c") is None and pods.get("shop/c", 1) == 1
    with pytest.raises(KeyError):
        pods["shop/c"]
    assert sorted(pod.name for pod in pods.values()) == ["a", "b"]
    assert {key: pod.name for key, pod in pods.items()} == {"shop/a": "a", "shop/b": "b"}


def test_the_same_request_returns_the_same_informer(factory):
    pods = factory.informer("pods", indexes={"node": "spec.nodeName"})
    assert factory.informer("Pod", indexes={"node": "spec.nodeName"}) is pods
    assert factory.informer("pods", namespace="shop") is not pods
    with pytest.raises(kinformer.AlreadyExists):
        factory.informer("pods", indexes={"node": "spec.hostname"})
    assert factory.informer("pods") is pods


@pytest.mark.parametrize("first", ["informer", "factory"])
def test_handlers_are_kept_until_the_library_has_made_its_last_call(server, first):
    for is_started in (True, False):
        factory = kinformer.Factory.from_server(server.url)
        pods = factory.informer("pods", transform=lambda pod: pod)
        pods.add_handler(Recorder())
        if is_started:
            factory.start()
            pods.wait_for_sync(timeout=LIMIT)
        factory.close()
        if first == "informer":
            del pods
            gc.collect()
            del factory
        else:
            del factory
            gc.collect()
            del pods
        gc.collect()


def test_a_factory_is_freed_once_nobody_has_it(server):
    freed = weakref.WeakSet()
    for _ in range(3):
        with kinformer.Factory.from_server(server.url) as factory:
            pods = factory.informer("pods")
            pods.add_handler(Recorder())
            factory.start()
            pods.wait_for_sync(timeout=LIMIT)
        freed.add(factory)
    del factory, pods
    gc.collect()
    assert len(freed) == 0
