"""The options of a factory and of informers."""

import json
import threading

import kinformer
import pytest
from conftest import definition

LIMIT = 30


def started(factory, *arguments, **options):
    informer = factory.informer(*arguments, **options)
    factory.start()
    informer.wait_for_sync(timeout=LIMIT)
    return informer


@pytest.mark.parametrize("name", ["pods", "po", "Pod", "pod"])
def test_a_built_in_resource_has_any_of_its_names(factory, name):
    assert factory.informer(name) is factory.informer("pods")
    assert factory.informer("deploy").resource == "deployments.apps"


def test_a_custom_resource_is_named_by_plural_and_group(server, factory):
    server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition("Widget"))
    widgets = started(factory, "widgets.example.com")
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    server.request("POST", "/apis/example.com/v1/namespaces/default/widgets", widget)
    widgets.wait_for_version(None, key="default/w", timeout=LIMIT)
    assert widgets["default/w"].kind == "Widget" and widgets["default/w"]["spec"]["size"] == 3


def test_a_resource_that_is_not_installed_is_said_by_the_timeout_and_the_health(factory):
    widgets = factory.informer("widgets.example.com")
    factory.start()
    with pytest.raises(kinformer.Timeout, match="widgets.example.com"):
        widgets.wait_for_sync(timeout=0)
    with pytest.raises(kinformer.Timeout):
        factory.wait_for_sync(timeout=0.01)


def test_an_informer_can_follow_a_set_of_namespaces(server, factory):
    for namespace in ("a", "b", "c"):
        server.create_pod("pod", namespace)
    pods = started(factory, "pods", namespaces=["a", "b"])
    assert sorted(pods) == ["a/pod", "b/pod"]
    deleted = threading.Event()
    pods.on_delete(lambda event: deleted.set())
    pods.set_namespaces(("b", "c"))
    pods.wait_for_version(None, key="c/pod", timeout=LIMIT)
    assert deleted.wait(LIMIT)
    assert sorted(pods) == ["b/pod", "c/pod"]
    assert factory.informer("pods", namespaces=["b", "c"]) is not pods


def test_a_wait_for_sync_waits_for_the_namespaces_that_were_set_last(server, factory):
    namespaces = [f"n{i}" for i in range(10)]
    for namespace in namespaces:
        server.create_pod("pod", namespace)
    pods = started(factory, "pods", namespaces=namespaces[:1])
    for wanted in (namespaces, namespaces[5:], namespaces[:1], [], namespaces):
        pods.set_namespaces(wanted)
        pods.wait_for_sync(timeout=LIMIT)
        assert sorted(pods) == [f"{namespace}/pod" for namespace in wanted]
    pods.set_namespaces(namespaces[:5])
    pods.set_namespaces(namespaces[2:])
    factory.wait_for_sync(timeout=LIMIT)
    assert len(pods) == 8


def test_selectors_are_the_servers(server, factory):
    server.create_pod("a", phase="Running", labels={"app": "web"})
    server.create_pod("b", phase="Running")
    server.create_pod("c", phase="Failed", labels={"app": "web"})
    pods = started(factory, "pods", labels="app=web", fields="status.phase=Running")
    assert list(pods) == ["shop/a"]


def test_the_namespace_of_the_factory_is_that_of_its_informers(server):
    server.create_pod("a", "one")
    server.create_pod("a", "two")
    with kinformer.Factory.from_server(server.url, namespace="one") as factory:
        assert sorted(started(factory, "pods")) == ["one/a"]
        assert sorted(started(factory, "pods", namespace="")) == ["one/a", "two/a"]


@pytest.mark.parametrize("keep", ["metadata", "keys"])
def test_a_cache_can_keep_less(server, factory, keep):
    server.create_pod("a", labels={"app": "web"})
    pods = started(factory, "pods", keep=keep)
    pod = pods["shop/a"]
    assert pod.uid and pod.key == "shop/a"
    with pytest.raises(kinformer.StateError, match="keeps only the"):
        pod.field("spec.nodeName")
    for read in (lambda: pod["spec"], lambda: pod.get("spec"), lambda: "spec" in pod):
        with pytest.raises(kinformer.StateError, match="keeps only the"):
            read()
    with pytest.raises(kinformer.Invalid):
        pods.list(fields="spec.nodeName=n1")


@pytest.mark.parametrize("keep", ["metadata", "view", "keys"])
def test_a_part_of_an_object_is_not_taken_for_the_whole_one(server, factory, keep):
    server.create_pod("a", phase="Running")
    pod = started(factory, "pods", keep=keep, view={"phase": "status.phase"} if keep == "view" else None)["shop/a"]
    client = factory.client
    for use in (
        lambda: client.update(pod),
        lambda: client.update_status(pod),
        lambda: client.create(pod),
        lambda: client.apply(pod, field_manager="test"),
        lambda: client.request("PUT", "/api/v1/namespaces/shop/pods/a", pod),
        lambda: client.create({"apiVersion": "v1", "kind": "List", "metadata": {"name": "a"}, "items": [pod]}),
        pod.to_dict,
        lambda: pod.json,
        lambda: {**pod},
        lambda: len(pod),
    ):
        with pytest.raises(kinformer.StateError, match=r"only a part of shop/a .*client.get\(\), or .*client.patch\(\)"):
            use()
    whole = client.get("pods", pod.key).to_dict()
    assert whole["spec"]["nodeName"] == "n1" and whole["status"]["phase"] == "Running"


@pytest.mark.parametrize("keep", ["object", "metadata", "keys"])
def test_an_object_is_true(server, factory, keep):
    server.create_pod("a")
    pods = started(factory, "pods", keep=keep)
    assert pods.get("shop/a") and not pods.get("shop/b")


def test_a_transform_of_metadata_has_the_metadata(server, factory):
    server.create_pod("a", labels={"app": "web", "tier": "x"})

    def without_tier(pod):
        del pod["metadata"]["labels"]["tier"]
        return pod

    pod = started(factory, "pods", keep="metadata", transform=without_tier)["shop/a"]
    assert pod["metadata"]["labels"] == {"app": "web"}
    with pytest.raises(kinformer.StateError, match="only a part"):
        pod.to_dict()


@pytest.mark.parametrize("keep", ["view", "keys"])
def test_labels_and_annotations_that_are_not_kept_are_an_error_that_says_how_to_keep_them(server, factory, keep):
    server.create_pod("a", labels={"app": "web"}, annotations={"x": "y"})
    pod = started(factory, "pods", keep=keep, view={"phase": "status.phase"} if keep == "view" else None)["shop/a"]
    with pytest.raises(kinformer.StateError, match=r'a has no labels: .*\("metadata.labels", dict\)'):
        pod.labels
    with pytest.raises(kinformer.StateError, match="keep a view with the field, or the whole object"):
        pod.annotations


def test_labels_that_are_kept_are_read_also_if_there_are_none(server, factory):
    server.create_pod("a", labels={"app": "web"})
    server.create_pod("b")
    options = [
        {"keep": "view", "view": {"tags": ("metadata.labels", dict)}},
        {"keep": "metadata"},
        {"keep": "object"},
    ]
    for option in options:
        pods = started(factory, "pods", **option)
        assert (pods["shop/a"].labels, pods["shop/b"].labels) == ({"app": "web"}, {})


def test_a_deleted_object_can_be_kept_for_a_while(server, factory):
    server.create_pod("a", phase="Running")
    pods = started(factory, "pods", view={"phase": "status.phase"}, keep_deleted=600)
    pod, is_deleted = pods.get_or_deleted("shop/a")
    assert pod.phase == "Running" and not is_deleted
    server.delete_pod("a")
    pods.wait_for_deletion("shop/a", timeout=LIMIT)
    pod, is_deleted = pods.get_or_deleted("shop/a")
    assert pod.phase == "Running" and is_deleted and "shop/a" not in pods
    assert pods.get_or_deleted("shop/none") == (None, False)


def test_a_memory_limit_is_reported_and_nothing_else(server, factory, caplog):
    server.create_pod("a")
    pods = started(factory, "pods", memory_limit=1)
    services = started(factory, "services", memory_limit=1 << 20)
    assert pods.health.is_over_memory_limit and not services.health.is_over_memory_limit
    assert "shop/a" in pods
    factory.close()
    assert any("memory" in record.getMessage() for record in caplog.records)


def test_a_transform_changes_what_is_stored(server, factory):
    def shrink(pod):
        return {key: pod[key] for key in ("apiVersion", "kind", "metadata")} | {"spec": {"nodeName": "ü"}}

    server.create_pod("a")
    pods = started(factory, "pods", transform=shrink)
    assert pods["shop/a"]["spec"] == {"nodeName": "ü"} and "status" not in pods["shop/a"]
    assert pods.transform_errors == 0
    assert factory.informer("pods", transform=shrink) is pods
    with pytest.raises(kinformer.Invalid, match="another transform"):
        factory.informer("pods", transform=lambda pod: pod)


class NoText(Exception):
    def __str__(self):
        raise RuntimeError


def fail(_pod):
    raise NoText


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda pod: pod["nothing"], "KeyError: 'nothing'"),
        (lambda pod: None, "TypeError: a transform returns the object as a dict, not NoneType"),
        (fail, "NoText"),
        (lambda pod: {"a": object()}, "TypeError: Object of type object is not JSON serializable"),
    ],
)
def test_a_transform_that_fails_is_logged_and_counted_and_said_by_the_health(server, factory, caplog, wrong, message):
    server.create_pod("a")
    pods = started(factory, "pods", transform=wrong)
    assert pods.transform_errors == 1
    assert pods.health.unreadable == 1
    assert pods.health.unreadable_message == f"shop/a: transform of shop/a: {message}"
    messages = [record.getMessage() for record in caplog.records if record.exc_info]
    assert messages == [f"the transform of pods in all namespaces failed for shop/a: {message}"]


def test_a_resync_updates_every_object(server, factory):
    server.create_pod("a")
    pods = factory.informer("pods", resync=1)
    resynced = threading.Event()

    @pods.on_update
    def update(event):
        if event.is_resync:
            resynced.set()

    factory.start()
    assert resynced.wait(LIMIT)


def test_an_index_can_be_added_later_and_by_several_values(server, factory):
    server.create_pod("a")
    pods = started(factory, "pods", indexes={"image": "spec.containers[*].image"})
    pods.add_index("node", "spec.nodeName")
    pods.add_index("node", "spec.nodeName")
    assert [pod.name for pod in pods.by_index("image", "log:2")] == ["a"]
    assert [pod.name for pod in pods.by_index("node", "n1")] == ["a"] and pods.by_index("node", "n2") == []
    with pytest.raises(kinformer.Invalid, match="none"):
        pods.by_index("none", "")


def test_a_factory_from_a_kubeconfig(server, tmp_path, monkeypatch):
    server.create_pod("a")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "contexts": [{"name": "one", "context": {"cluster": "c", "namespace": "shop"}}],
        "current-context": "one",
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    with kinformer.Factory.from_kubeconfig(file, context="one") as factory:
        assert (factory.server, factory.default_namespace) == (server.url, "shop")
        assert list(started(factory, "pods")) == ["shop/a"]
    monkeypatch.setenv("KUBECONFIG", str(file))
    for make in (kinformer.Factory, kinformer.Factory.from_kubeconfig):
        with make() as factory:
            assert factory.server == server.url
    with pytest.raises(kinformer.NotFound, match="two"):
        kinformer.Factory.from_kubeconfig(file, context="two")
    with pytest.raises(kinformer.NotFound, match="nothing"):
        kinformer.Factory.from_kubeconfig(tmp_path / "nothing")
    file.write_text("a: [")
    with pytest.raises(kinformer.ParseError):
        kinformer.Factory()


def test_health_memory_metrics_and_readiness_say_how_it_is(server):
    server.create_pod("a")
    with kinformer.Factory.from_server(server.url, name="mine") as factory:
        pods = factory.informer("pods")
        assert pods.health.state == "not started" and pods.health.staleness is None
        assert not factory.is_ready
        started(factory, "pods")
        assert factory.is_ready and "pods" in factory.readiness
        health, memory = pods.health, pods.memory
        assert (health.state, health.objects, health.cause, health.message) == ("watching", 1, None, "")
        assert health.staleness >= 0 and health.since >= 0
        assert memory.objects == 1 and 0 < memory.total < 10000
        assert 'name="mine"' in factory.metrics and factory.metrics.endswith("# EOF\n")


def test_a_cause_is_an_exception(server):
    url = server.url
    server.close()
    with kinformer.Factory.from_server(url) as factory:
        pods = factory.informer("pods")
        factory.start()
        with pytest.raises(kinformer.Timeout, match="pods in all namespaces: not synced .*backing off"):
            pods.wait_for_sync(timeout=1)
        assert isinstance(pods.health.cause, kinformer.ConnectionFailed)
        assert pods.health.cause.category == "try again" and pods.health.retry_in is not None
