"""Bad input: every public function with wrong types, with wrong values, and after close."""

import inspect
import re
import threading

import kinformer
import pytest

LIMIT = 30
NOT_A_KEY = '"a" is not a key of pods, which is "namespace/name"'

# Function of the informer or the factory; arguments; the exception, and what its text says.
WRONG = [
    ("informer.on_add", (5,), TypeError, "callable"),
    ("informer.on_update", (None,), TypeError, "on_add, on_update"),
    ("informer.on_delete", ("x",), TypeError, "callable"),
    ("informer.on_add", (lambda: None,), TypeError, r"on_add is called with \(event\)"),
    ("informer.on_update", (lambda old, new: None,), TypeError, r"on_update is called with \(event\), .* takes \(old, new\)"),
    ("informer.add_handler", (object(),), TypeError, "on_add, on_update"),
    ("informer.__getitem__", (5,), TypeError, "key must be a str, not int"),
    ("informer.__getitem__", ("a\0b",), ValueError, "zero character"),
    ("informer.__getitem__", ("shop/none",), KeyError, "shop/none"),
    ("informer.get", (None,), TypeError, "key must be a str"),
    ("informer.get_or_deleted", (None,), TypeError, "key must be a str"),
    ("informer.list", {"labels": 5}, TypeError, "labels must be a str"),
    ("informer.list", {"labels": "a in"}, kinformer.ParseError, "expected"),
    ("informer.list", {"fields": "=="}, kinformer.ParseError, "field selector"),
    ("informer.list", {"namespace": b"shop"}, TypeError, "namespace must be a str"),
    ("informer.by_index", ("none", "x"), kinformer.Invalid, "none"),
    ("informer.by_index", (1, 2), TypeError, "name must be a str"),
    ("informer.by_index", ("namespace", 2), TypeError, "value must be a str"),
    ("informer.add_index", ("x", "spec..node"), kinformer.ParseError, "spec"),
    ("informer.add_index", ("x", None), TypeError, "path must be a str"),
    ("informer.add_index", ("", "spec"), kinformer.Invalid, "name"),
    ("informer.set_namespaces", ("shop",), TypeError, "use a list"),
    ("informer.set_namespaces", ([5],), TypeError, "a namespace must be a str"),
    ("informer.set_namespaces", (["a"],), kinformer.Invalid, "set"),
    ("informer.set_namespaces", (5,), TypeError, "iterable"),
    ("informer.wait_for_sync", ("1",), TypeError, "timeout must be a number of seconds, not str"),
    ("informer.wait_for_sync", (-1,), ValueError, "timeout must be from 0"),
    ("informer.wait_for_sync", (float("nan"),), ValueError, "timeout"),
    ("informer.wait_for_sync", (float("inf"),), ValueError, "timeout"),
    ("informer.wait_for_sync", (True,), TypeError, "timeout"),
    ("informer.wait_for_version", (5,), TypeError, "resource_version must be a str"),
    ("informer.wait_for_version", (None,), kinformer.Invalid, "version"),
    ("informer.wait_for_version", ("5", 5), TypeError, "key must be a str"),
    ("informer.wait_for_version", {"resource_version": None, "key": "a"}, ValueError, NOT_A_KEY),
    ("informer.wait_for_deletion", (None,), TypeError, "key must be a str"),
    ("informer.wait_for_deletion", ("",), kinformer.Invalid, "key"),
    ("informer.wait_for_deletion", ("a",), ValueError, NOT_A_KEY),
    ("informer.wait_for_deletion", ("a", 5), TypeError, "uid must be a str"),
    ("informer.get_or_fetch", (5,), TypeError, "key must be a str"),
    ("informer.get_or_fetch", ("a",), ValueError, NOT_A_KEY),
    ("informer.get_or_fetch", ("a/b/c",), kinformer.Invalid, "a/b/c"),
    ("informer.get_or_fetch", ("shop/" + "a" * 400,), kinformer.Invalid, "longer than any key"),
    ("factory.informer", (5,), TypeError, "resource must be a str"),
    ("factory.informer", ("podz",), kinformer.Invalid, 'did you mean "pods"\\?.* named by plural and group'),
    ("factory.informer", ("widgets",), kinformer.Invalid, '"widgets" is no built-in resource; one'),
    ("factory.informer", ("tokenreviews",), kinformer.Unsupported, "list"),
    ("factory.informer", {"resource": "pods", "labels": "a in"}, kinformer.ParseError, "expected"),
    ("factory.informer", {"resource": "pods", "labels": 5}, TypeError, "labels must be a str"),
    ("factory.informer", {"resource": "pods", "fields": "x"}, kinformer.ParseError, "x"),
    ("factory.informer", {"resource": "pods", "namespace": "A B"}, kinformer.Invalid, "A B"),
    ("factory.informer", {"resource": "pods", "namespace": 5}, TypeError, "namespace must be a str"),
    ("factory.informer", {"resource": "pods", "namespaces": "shop"}, TypeError, "use a list"),
    ("factory.informer", {"resource": "pods", "namespaces": ["A B"]}, kinformer.Invalid, "A B"),
    ("factory.informer", {"resource": "pods", "namespaces": [], "namespace": "x"}, ValueError, "not both"),
    ("factory.informer", {"resource": "nodes", "namespaces": ["x"]}, kinformer.Invalid, "nodes"),
    ("factory.informer", {"resource": "pods", "keep": "all"}, ValueError, "object, metadata, view, keys"),
    ("factory.informer", {"resource": "pods", "keep": ["view"]}, ValueError, "object, metadata, view, keys"),
    ("factory.informer", {"resource": "pods", "keep": "view"}, kinformer.Invalid, "only the view, but there is no view"),
    (
        "factory.informer",
        {"resource": "pods", "keep": "keys", "view": {"a": "spec"}},
        kinformer.Invalid,
        "a view, but the cache is to keep only the keys",
    ),
    (
        "factory.informer",
        {"resource": "pods", "keep": "metadata", "view": {"node": "spec.nodeName"}},
        kinformer.Invalid,
        "the view has spec.nodeName, but the cache is to keep only the metadata",
    ),
    (
        "factory.informer",
        {"resource": "services", "view": {"ports": ("spec.ports", {})}},
        kinformer.Invalid,
        '"spec.ports": a list of structs',
    ),
    ("factory.elector", {"name": ""}, kinformer.Invalid, "without a name"),
    ("factory.elector", {"name": "a b"}, kinformer.Invalid, "'a b' has a character"),
    ("factory.elector", {"name": "a", "identity": ""}, kinformer.Invalid, "identity"),
    (
        "factory.elector",
        {"name": "a", "lease_duration": 1, "renew_deadline": 2},
        kinformer.Invalid,
        r"the lease duration \(1000 ms\) must be longer than the renew deadline \(2000 ms\)",
    ),
    (
        "factory.elector",
        {"name": "a", "retry_period": 9},
        kinformer.Invalid,
        r"the renew deadline \(10000 ms\) must be longer than 1.2 times the retry period \(9000 ms\)",
    ),
    ("factory.informer", {"resource": "nodes", "indexes": {"x": "a..b"}}, kinformer.ParseError, "a..b"),
    ("factory.informer", {"resource": "nodes", "indexes": ["x"]}, TypeError, "indexes must be a mapping"),
    ("factory.informer", {"resource": "nodes", "transform": 5}, TypeError, "transform must be callable"),
    ("factory.informer", {"resource": "nodes", "resync": "1"}, TypeError, "resync must be a number of seconds"),
    ("factory.informer", {"resource": "nodes", "keep_deleted": "1"}, TypeError, "keep_deleted must be a number of seconds"),
    ("factory.informer", {"resource": "nodes", "keep_deleted": -1}, ValueError, "keep_deleted"),
    ("factory.informer", {"resource": "nodes", "memory_limit": 1.5}, TypeError, "memory_limit must be an int"),
    ("factory.informer", {"resource": "nodes", "memory_limit": -1}, ValueError, "memory_limit"),
    ("factory.wait_for_sync", ("1",), TypeError, "timeout must be a number of seconds"),
    ("factory.from_server", (5,), TypeError, "url must be a str"),
    ("factory.from_server", ("gopher://x",), kinformer.ConfigError, "https://"),
    ("factory.from_server", {"url": "http://x", "token": 5}, TypeError, "token must be a str"),
    ("factory.from_server", {"url": "http://x", "insecure_skip_tls_verify": 1}, TypeError, "must be a bool"),
    ("factory.from_server", {"url": "http://x", "nothing": 1}, TypeError, "nothing"),
    ("factory.from_server", {"url": "http://x", "resync": -1}, ValueError, "resync"),
    ("factory.from_server", {"url": "http://x", "name": "x" * 300}, kinformer.Error, "253"),
    ("factory.from_kubeconfig", (5,), TypeError, "int"),
    ("factory.from_kubeconfig", {"context": 5}, TypeError, "context must be a str"),
]


@pytest.fixture(scope="module")
def used():
    """A factory with an informer that has synced, and one that was closed."""
    from conftest import Server

    server = Server()
    with kinformer.Factory.from_server(server.url) as factory:
        pods = factory.informer("pods")
        factory.start()
        pods.wait_for_sync(timeout=LIMIT)
        yield {"factory": factory, "informer": pods}
    server.close()


@pytest.fixture(scope="module")
def closed():
    """What remains of a factory that was closed."""
    from conftest import Server

    server = Server()
    with kinformer.Factory.from_server(server.url) as factory:
        pods = factory.informer("pods")
        registration = pods.add_handler(type("Handler", (), {"on_add": print}))
        factory.start()
        pods.wait_for_sync(timeout=LIMIT)
    server.close()
    return {"factory": factory, "informer": pods, "registration": registration}


@pytest.mark.parametrize(("function", "arguments", "error", "message"), WRONG)
def test_a_wrong_argument_is_an_exception_that_says_what_is_wrong(used, function, arguments, error, message):
    of, name = function.split(".")
    call = getattr(used[of], name)
    with pytest.raises(error, match=message) as raised:
        call(**arguments) if isinstance(arguments, dict) else call(*arguments)
    assert not re.search(r"ki_|KI_|_ms\b|namespace_set", str(raised.value))  # a name of C


def test_after_an_error_of_its_options_there_is_no_informer(used):
    with pytest.raises(kinformer.ParseError):
        used["factory"].informer("services", indexes={"x": "a..b"})
    services = used["factory"].informer("services", indexes={"x": "spec.clusterIP"})
    used["factory"].start()
    services.wait_for_sync(timeout=LIMIT)


def public_names(kind):
    return [name for name in dir(kind) if not name.startswith("_")] + ["__getitem__", "__len__", "__iter__"]


# Arguments of the functions that need some.
ARGUMENTS = {
    "on_add": (print,),
    "on_update": (print,),
    "on_delete": (print,),
    "add_handler": (type("Handler", (), {"on_add": print}),),
    "get": ("a",),
    "get_or_deleted": ("a",),
    "__getitem__": ("a",),
    "by_index": ("namespace", "a"),
    "add_index": ("x", "spec.x"),
    "set_namespaces": (["a"],),
    "wait_for_version": ("1",),
    "wait_for_deletion": ("a",),
    "get_or_fetch": ("a",),
    "informer": ("pods",),
    "controller": {"for_": "pods"},
    "elector": ("x",),
    "event_recorder": ("x",),
}
# What works after close: what ends it, what makes another factory, what was counted or read before.
WORKS = {"close", "from_server", "from_kubeconfig", "server", "default_namespace", "errors"} | {
    "handler_errors",
    "transform_errors",
    "resource",
}


@pytest.mark.parametrize(
    ("of", "name"),
    [("informer", name) for name in public_names(kinformer.Informer)]
    + [("factory", name) for name in dir(kinformer.Factory) if not name.startswith("_")]
    + [("factory", "__enter__")]
    + [("registration", name) for name in dir(kinformer.Registration) if not name.startswith("_")],
)
def test_after_close_everything_says_that_the_factory_is_closed(closed, of, name):
    def use():
        member, arguments = getattr(closed[of], name), ARGUMENTS.get(name, ())
        if not inspect.ismethod(member):
            return member
        return member(**arguments) if isinstance(arguments, dict) else member(*arguments)

    if name in WORKS:
        if name not in ("from_server", "from_kubeconfig"):
            use()
        return
    with pytest.raises(kinformer.StateError, match="the factory is closed: make a new one"):
        use()


def test_a_factory_that_is_not_started_says_so(server):
    with kinformer.Factory.from_server(server.url) as factory:
        pods = factory.informer("pods")
        assert len(pods) == 0 and pods.get("a") is None and not pods.has_synced
        for wait in (pods.wait_for_sync, lambda: pods.wait_for_version("1"), lambda: pods.get_or_fetch("a/b")):
            with pytest.raises(kinformer.StateError, match="call start"):
                wait()
    factory.close()


def test_a_wait_for_an_informer_that_is_not_started_says_so(server):
    server.create_pod("a")
    with kinformer.Factory.from_server(server.url) as factory:
        factory.start()
        pods = factory.informer("pods")
        waits = [
            lambda: pods.wait_for_sync(timeout=LIMIT),
            lambda: factory.wait_for_sync(timeout=LIMIT),
            lambda: pods.wait_for_version(None, "shop/a", timeout=LIMIT),
            lambda: pods.wait_for_deletion("shop/b", timeout=LIMIT),
        ]
        for wait in waits:
            with pytest.raises(kinformer.StateError, match=r"pods in all namespaces is not started: call start\(\)"):
                wait()
        assert pods.get_or_fetch("shop/a", timeout=LIMIT).name == "a"  # of the server
        factory.start()
        for wait in waits:
            wait()


def test_a_wait_in_a_handler_is_an_error_and_close_in_a_handler_closes(server, factory):
    server.create_pod("a")
    pods = factory.informer("pods")
    errors = []

    @pods.on_add
    def wait(event):
        for call in (pods.wait_for_sync, lambda: pods.get_or_fetch("shop/b"), factory.wait_for_sync, factory.run):
            try:
                call()
            except kinformer.Deadlock as error:
                errors.append(str(error))
        factory.close()

    factory.run()
    assert len(errors) == 4 and all("a handler cannot wait" in error for error in errors)
    with pytest.raises(kinformer.StateError, match="closed"):
        factory.start()


def test_close_ends_the_waits_of_other_threads(server):
    factory = kinformer.Factory.from_server(server.url)
    pods = factory.informer("pods")
    factory.start()
    pods.wait_for_sync(timeout=LIMIT)
    ends = []

    def wait(call):
        try:
            call()
        except kinformer.Error as error:
            ends.append(type(error))

    calls = [lambda: pods.wait_for_version("999999"), lambda: pods.wait_for_deletion("x/y", uid="z"), factory.run]
    threads = [threading.Thread(target=wait, args=(call,)) for call in calls[:1]]
    for thread in threads:
        thread.start()
    while not factory._operations:
        pass
    factory.close()
    for thread in threads:
        thread.join(LIMIT)
    assert ends == [kinformer.Cancelled]


def test_threads_can_read_while_others_close(server):
    """No call of a thread meets freed memory."""
    for i in range(3):
        server.create_pod(f"pod-{i}")
    for _ in range(10):
        factory = kinformer.Factory.from_server(server.url)
        pods = factory.informer("pods", view={"phase": "status.phase"})
        factory.start()
        pods.wait_for_sync(timeout=LIMIT)

        def read(pods=pods):
            try:
                while True:
                    [pod.phase for pod in pods.values()]
                    pods.list(labels="a=b")
                    pods.get("shop/pod-0")
            except kinformer.StateError:
                pass

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        factory.close()
        for thread in threads:
            thread.join(LIMIT)
            assert not thread.is_alive()


def test_an_object_is_made_by_the_library_alone():
    for kind in (kinformer.Object, kinformer.Snapshot, kinformer.Registration, kinformer.Event, kinformer.Informer):
        with pytest.raises(TypeError):
            kind()
