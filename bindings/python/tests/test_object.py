"""Objects, views and snapshots: what the program reads."""

import copy
import datetime
import decimal
import gc
import pickle

import kinformer
import pytest

LIMIT = 30


@pytest.fixture
def pods(server, factory):
    server.create_pod("a", phase="Running", labels={"app": "web", "tier": "x"}, annotations={"note": "ü", "port": "80"})
    pods = factory.informer("pods")
    factory.start()
    pods.wait_for_sync(timeout=LIMIT)
    return pods


def test_an_object_has_its_identity_and_its_metadata(pods):
    pod = pods["shop/a"]
    assert (pod.key, pod.name, pod.namespace, pod.kind, pod.api_version) == ("shop/a", "a", "shop", "Pod", "v1")
    assert pod.uid == pod["metadata"]["uid"] and pod.resource_version == pod["metadata"]["resourceVersion"]
    assert pod.labels == {"app": "web", "tier": "x"}
    assert pod.annotations == {"note": "ü", "port": "80"}
    assert repr(pod) == f"<Pod shop/a resource_version={pod.resource_version}>"


def test_the_content_is_read_as_in_yaml(pods):
    pod = pods["shop/a"]
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["spec"] is pod["spec"]
    assert "status" in pod and pod.get("data") is None and set(pod) >= {"metadata", "spec", "status"}
    with pytest.raises(KeyError):
        pod["data"]
    assert '"nodeName":"n1"' in pod.json


def test_a_change_of_what_was_read_changes_no_cache(pods):
    pod = pods["shop/a"]
    pod["spec"]["nodeName"] = "changed"
    pod.to_dict()["spec"]["nodeName"] = "changed"
    pod.labels["app"] = "changed"
    assert pod.to_dict()["spec"]["nodeName"] == "n1"
    assert pods["shop/a"]["spec"]["nodeName"] == "n1" and pods["shop/a"].labels["app"] == "web"
    with pytest.raises(TypeError):
        pod["spec"] = {}
    with pytest.raises(AttributeError):
        pod.name = "b"


def test_a_field_is_read_by_its_path(pods):
    pod = pods["shop/a"]
    assert pod.field("spec.containers[*].image") == ["web:1", "log:2"]
    assert pod.field("spec.containers[-1].name") == "log"
    assert pod.field("metadata.labels") == {"app": "web", "tier": "x"}
    assert pod.field("spec.containers[9].name", "none") == "none" and pod.field("spec.nothing") is None
    assert isinstance(pod.field("spec.terminationGracePeriodSeconds"), int)
    with pytest.raises(kinformer.ParseError, match="spec"):
        pod.field("{.spec.nodeName}")


def test_an_object_that_is_pickled_or_copied_says_what_to_use(factory, pods):
    seen = factory.informer("pods", view={"phase": "status.phase"}, namespace="shop")
    factory.start()
    seen.wait_for_sync(timeout=LIMIT)
    for pod in pods["shop/a"], seen["shop/a"]:
        for use in pickle.dumps, copy.copy, copy.deepcopy:
            with pytest.raises(TypeError, match="to_dict"):
                use(pod)


def test_equal_objects_are_the_same_state(server, pods):
    first, again = pods["shop/a"], pods["shop/a"]
    assert first == again and hash(first) == hash(again) and len({first, again}) == 1
    pods.wait_for_version(server.set_phase("a", "Failed"), timeout=LIMIT)
    assert pods["shop/a"] != first and first != "shop/a"
    assert first["status"]["phase"] == "Running"


def test_a_view_has_fields_of_each_type(server, factory):
    view = {
        "phase": "status.phase",
        "image": "spec.containers[0].image",
        "missing": "spec.nothing",
        "generation": ("metadata.generation", int),
        "grace": ("spec.terminationGracePeriodSeconds", int),
        "ratio": ("spec.nothing", float),
        "host_network": ("spec.hostNetwork", bool),
        "created": ("metadata.creationTimestamp", datetime.datetime),
        "deleted": ("metadata.deletionTimestamp", datetime.datetime),
        "memory": ("metadata.annotations.memory", decimal.Decimal),
        "images": ("spec.containers[*].image", list),
        "tags": ("metadata.labels", dict),
        "containers": ("spec.containers", {"label": "name", "image": "image", "ports": ("ports[*].name", list)}),
    }
    server.create_pod("a", phase="Running", labels={"app": "web"}, annotations={"memory": "1500m"})
    for keep in ("object", "view"):
        pods = factory.informer("pods", view=view, keep=keep)
        factory.start()
        pods.wait_for_sync(timeout=LIMIT)
        pod = pods["shop/a"]
        assert (pod.phase, pod.image, pod.missing, pod.ratio) == ("Running", "web:1", None, 0.0)
        assert (pod.grace, pod.host_network, pod.deleted) == (30, False, None)
        assert isinstance(pod.generation, int)
        age = datetime.datetime.now(datetime.timezone.utc) - pod.created
        assert abs(age) < datetime.timedelta(hours=1)
        assert pod.memory == decimal.Decimal("1.5")
        assert (pod.images, pod.tags) == (["web:1", "log:2"], {"app": "web"})
        assert [(container.label, container.image, container.ports) for container in pod.containers] == [
            ("web", "web:1", []),
            ("log", "log:2", []),
        ]
        with pytest.raises(AttributeError):
            pod.nothing
        if keep == "view":
            with pytest.raises(kinformer.StateError, match="keep"):
                pod["spec"]


@pytest.mark.parametrize(
    ("view", "error", "message"),
    [
        ({"node": "spec.nodeName]"}, kinformer.ParseError, "spec.nodeName"),
        ({"node": ("spec.nodeName", complex)}, TypeError, "use str, int"),
        ({"node": ("spec.nodeName", str, 1)}, TypeError, "path of the view's node"),
        ({"node": 5}, TypeError, "path of the view's node"),
        ({"node": ("spec.nodeName", "str")}, TypeError, "use str, int"),
        ({"name": "spec.nodeName"}, ValueError, "another name"),
        ({"items": "spec.nodeName"}, ValueError, "another name"),
        ({"_node": "spec.nodeName"}, ValueError, "identifier"),
        ({"node name": "spec.nodeName"}, ValueError, "identifier"),
        ({"class": "spec.nodeName"}, ValueError, "identifier"),
        ({1: "spec.nodeName"}, TypeError, "names are str"),
        ("spec.nodeName", TypeError, "mapping"),
        ({"list": ("spec.containers", {"_x": "name"})}, ValueError, "identifier"),
        ({f"f{i}": "spec.nodeName" for i in range(300)}, kinformer.Error, "256"),
        ({"zero": "spec.\0"}, ValueError, "zero character"),
    ],
)
def test_a_wrong_view_says_what_is_wrong(factory, view, error, message):
    with pytest.raises(error, match=message):
        factory.informer("pods", view=view)


@pytest.mark.parametrize(
    ("path", "kind", "level", "end"),
    [
        ("spec.nodeName", int, "WARNING", "synced, 1 object; of another type or out of range: spec.nodeName"),
        ("spec.nodName", str, "INFO", "synced, 1 object; none has spec.nodName"),
        ("spec.nodeName", str, "INFO", "synced, 1 object"),
    ],
)
def test_the_log_warns_of_a_field_whose_values_are_of_another_type(server, factory, caplog, path, kind, level, end):
    caplog.set_level("INFO")
    server.create_pod("a")
    pods = factory.informer("pods", view={"node": (path, kind)})
    factory.start()
    pods.wait_for_sync(timeout=LIMIT)
    factory.close()
    lines = [record for record in caplog.records if "synced" in record.getMessage()]
    assert [(line.levelname, line.getMessage()) for line in lines] == [(level, f"pods: {end}")]


def test_an_informer_has_one_view(factory):
    pods = factory.informer("pods", view={"phase": "status.phase"})
    assert factory.informer("pods", view={"phase": "status.phase"}) is pods
    assert factory.informer("pods") is pods
    with pytest.raises(kinformer.Invalid, match="view"):
        factory.informer("pods", view={"node": "spec.nodeName"})


def test_an_informer_has_one_set_of_names_for_its_view(factory):
    """The library compares paths and types: an object would not have the names that were asked for."""
    views = [
        {"phase": "status.phase", "ports": ("spec.containers", {"label": "name", "image": "image"})},
        {"state": "status.phase", "ports": ("spec.containers", {"label": "name", "image": "image"})},
        {"phase": "status.phase", "ports": ("spec.containers", {"image": "name", "label": "image"})},
    ]
    pods = factory.informer("pods", view=views[0])
    assert factory.informer("pods", view=views[0]) is pods
    for view in views[1:]:
        with pytest.raises(kinformer.Invalid, match="phase, ports, ports.label, ports.image, not"):
            factory.informer("pods", view=view)


def test_an_empty_view_is_none(factory):
    assert factory.informer("pods", view={}) is factory.informer("pods")


def test_a_snapshot_never_changes(server, pods):
    pods.add_index("node", "spec.nodeName")
    before = pods.snapshot()
    server.create_pod("b")
    pods.wait_for_version(None, key="shop/b", timeout=LIMIT)
    after = pods.snapshot()
    assert (len(before), len(after)) == (1, 2)
    assert list(before) == ["shop/a"] and sorted(after) == ["shop/a", "shop/b"]
    assert "shop/b" not in before and before.get("shop/b") is None
    assert [pod.name for pod in before.by_index("node", "n1")] == ["a"]
    assert [pod.name for pod in after.list(labels="app=web", fields="spec.nodeName=n1")] == ["a"]
    assert after.list(namespace="other") == [] and len(after.list(namespace="shop")) == 2
    assert {key: pod.key for key, pod in after.items()} == {"shop/a": "shop/a", "shop/b": "shop/b"}
    assert int(after.resource_version) > int(before.resource_version)
    assert "2 objects" in repr(after)
    with pytest.raises(KeyError):
        before["shop/b"]
    with pytest.raises(kinformer.Invalid, match="indexes="):
        before.by_index("none", "n1")
    with pytest.raises(kinformer.ParseError):
        before.list(labels="a in")


def test_objects_and_snapshots_outlive_the_informer(server):
    server.create_pod("a", phase="Running")
    with kinformer.Factory.from_server(server.url) as factory:
        pods = factory.informer("pods", view={"phase": "status.phase", "images": ("spec.containers[*].image", list)})
        factory.start()
        pods.wait_for_sync(timeout=LIMIT)
        pod, snapshot = pods["shop/a"], pods.snapshot()
    del factory, pods
    gc.collect()
    assert (pod.phase, pod.images, pod["spec"]["nodeName"]) == ("Running", ["web:1", "log:2"], "n1")
    assert [(obj.key, obj.phase) for obj in snapshot.values()] == [("shop/a", "Running")]
