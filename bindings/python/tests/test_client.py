"""The client: each verb, errors by reason, own writes."""

import asyncio
import threading
import urllib.request

import kinformer
import kinformer.aio
import pytest
from conftest import definition

LIMIT = 30  # seconds for what comes at once

MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greeting", "namespace": "default"}}
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: { name: web, namespace: default }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: "web:1" }] }
"""
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "default"}}


@pytest.fixture
def client(factory):
    factory.start()
    return factory.client


def fault(server, line):
    urllib.request.urlopen(f"{server.url}/_faults", line.encode()).close()


def greeting(**data):
    return {**MAP, "data": data}


def test_an_object_is_created_read_replaced_and_deleted(client):
    created = client.create(greeting(text="hello"))
    assert created.key == "default/greeting" and created.kind == "ConfigMap"
    read = client.get("configmaps", "default/greeting")
    assert read == created and read["data"] == {"text": "hello"}
    changed = read.to_dict()
    changed["data"]["text"] = "bye"
    assert client.update(changed)["data"]["text"] == "bye"
    with pytest.raises(kinformer.Conflict):  # the version that was read is no longer the present one
        client.update(changed)
    deleted = client.delete("cm", "default/greeting", uid=created.uid)
    assert deleted.uid == created.uid and deleted.resource_version == ""
    with pytest.raises(kinformer.NotFound) as failure:
        client.get("configmaps", "default/greeting")
    assert 'configmaps "greeting" not found' in str(failure.value)
    assert (failure.value.http_status, failure.value.reason) == (404, "NotFound")


def test_objects_are_texts_of_yaml_or_json_dicts_or_read_objects(client):
    web = client.create(WEB)
    assert web["spec"]["replicas"] == 2
    assert client.update(web)["spec"] == web["spec"]
    assert client.create('{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}').key == "shop"
    with pytest.raises(kinformer.ParseError, match="line 2"):
        client.create("kind: Pod\n  metadata: {")


def test_a_list_has_selectors_and_pages(server, client):
    for name, tier in (("a", "web"), ("b", "web"), ("c", "db")):
        server.create_pod(name, labels={"tier": tier})
    assert sorted(pod.name for pod in client.list("pods")) == ["a", "b", "c"]
    assert [pod.name for pod in client.list("pods", namespace="shop", labels="tier=db")] == ["c"]
    assert client.list("pods", fields="metadata.name=b")[0].key == "shop/b"
    assert client.list("pods", namespace="other") == []
    first = client.list("pods", limit=2)
    assert len(first) == 2 and first.remaining == 1 and first.continue_token
    rest = client.list("pods", limit=2, continue_token=first.continue_token)
    assert len(rest) == 1 and rest.continue_token == "" and rest.remaining is None
    assert rest.resource_version == first.resource_version != ""


def test_patches_are_merged_or_lists_of_changes_or_strategic(client):
    client.create(WEB)
    assert client.patch("deploy", "default/web", {"spec": {"replicas": 3}})["spec"]["replicas"] == 3
    change = [{"op": "replace", "path": "/spec/replicas", "value": 4}]
    assert client.patch("deploy", "default/web", change, type="json")["spec"]["replicas"] == 4
    log = {"name": "log", "image": "log:1"}
    template = {"spec": {"template": {"spec": {"containers": [log]}}}}
    patched = client.patch("deploy", "default/web", template, type="strategic")
    assert sorted(c["name"] for c in patched["spec"]["template"]["spec"]["containers"]) == ["log", "web"]
    merged = client.patch("deploy", "default/web", template)
    assert [c["name"] for c in merged["spec"]["template"]["spec"]["containers"]] == ["log"]


def test_apply_creates_and_owns_fields_and_a_conflict_names_their_manager(client):
    applied = client.apply(greeting(text="hello"), field_manager="greeter")
    assert applied["data"] == {"text": "hello"}
    with pytest.raises(kinformer.Conflict) as failure:
        client.apply(greeting(text="bye"), field_manager="other")
    [cause] = failure.value.causes
    assert cause.field == ".data.text" and "greeter" in cause.message
    assert client.apply(greeting(text="bye"), field_manager="other", force=True)["data"] == {"text": "bye"}


def test_the_status_and_the_scale_are_written_by_their_subresources(client):
    web = client.create(WEB).to_dict()
    web["spec"]["replicas"] = 9
    web["status"] = {"replicas": 1, "readyReplicas": 1}
    written = client.update_status(web)
    assert (written["spec"]["replicas"], written["status"]["readyReplicas"]) == (2, 1)
    scaled = client.scale("deployments", "default/web", 5)
    assert scaled.kind == "Scale" and scaled["spec"]["replicas"] == 5
    assert client.get("deployments", "default/web", subresource="scale")["spec"]["replicas"] == 5
    assert client.get("deployments", "default/web")["spec"]["replicas"] == 5


def test_custom_resources_are_found_by_name_and_by_kind_also_those_that_are_defined_later(client):
    with pytest.raises(kinformer.NotFound, match="no resource 'Widget.v1.example.com'"):
        client.create(WIDGET)
    client.create(definition("Widget", "wi"))
    # What the server does not have is not asked for again at once: another program's factory finds it.
    with kinformer.Factory.from_server(client._factory.server) as other:
        other.start()
        assert other.client.create({**WIDGET, "spec": {"size": 3}}).key == "default/a"
        assert other.client.get("widgets.example.com", "default/a")["spec"] == {"size": 3}
        assert other.client.list("wi")[0].kind == "Widget"
        with pytest.raises(kinformer.NotFound, match="did you mean widgets"):
            other.client.list("widgetz")


def test_an_informer_has_seen_the_write_when_the_call_returns(factory):
    maps = factory.informer("configmaps", namespace="default")
    factory.start()
    client = factory.client
    for count in range(20):
        client.apply(greeting(count=str(count)), field_manager="greeter", seen_by=maps, timeout=LIMIT)
        assert maps["default/greeting"]["data"] == {"count": str(count)}
    client.patch("cm", "default/greeting", {"metadata": {"finalizers": ["example.com/a"]}}, seen_by=maps)
    marked = client.delete("cm", "default/greeting", seen_by=maps)
    assert marked.resource_version != "" and maps["default/greeting"]["metadata"]["deletionTimestamp"]
    client.patch("cm", "default/greeting", {"metadata": {"finalizers": None}}, seen_by=maps)
    maps.wait_for_deletion("default/greeting", marked.uid, timeout=LIMIT)
    client.create(greeting(), seen_by=maps)
    client.delete("cm", "default/greeting", seen_by=maps)
    assert "default/greeting" not in maps


def test_an_informer_that_cannot_see_the_write_is_an_error_before_it(factory):
    pods = factory.informer("pods")
    factory.start()
    maps = factory.informer("configmaps", namespace="default")  # not started
    client = factory.client
    with pytest.raises(kinformer.Invalid, match="the informer of pods in all namespaces, not of configmaps"):
        client.create(greeting(), seen_by=pods, timeout=LIMIT)
    with pytest.raises(kinformer.StateError, match=r"configmaps in default is not started: call start\(\)"):
        client.create(greeting(), seen_by=maps, timeout=LIMIT)
    factory.start()
    assert client.create(greeting(), seen_by=maps, timeout=LIMIT).key in maps  # nothing was written before


def test_a_text_that_is_no_unicode_is_not_sent(client):
    assert client.create(greeting(text="\U0001f600\0"))["data"] == {"text": "\U0001f600\0"}
    for half in "\ud800", "\udcff":
        with pytest.raises(ValueError, match="surrogates not allowed"):
            client.patch("cm", "default/greeting", {"data": {"text": half}})


def test_a_dry_run_writes_nothing(client):
    assert client.create(greeting(), dry_run=True).name == "greeting"
    assert client.list("configmaps", namespace="default", fields="metadata.name=greeting") == []


def test_an_object_that_was_changed_in_place_is_not_written(client):
    client.create(greeting(text="hello"))
    read = client.get("configmaps", "default/greeting")
    read["data"]["text"] = "bye"
    for write in (
        lambda: client.update(read),
        lambda: client.apply(read, field_manager="greeter"),
        lambda: client.request("PUT", "/api/v1/namespaces/default/configmaps/greeting", read),
        lambda: client.create({"apiVersion": "v1", "kind": "List", "metadata": {"name": "a"}, "items": [read]}),
    ):
        with pytest.raises(ValueError, match="changed in place: change a copy"):
            write()
    assert client.update({**read.to_dict(), "data": {"text": "bye"}})["data"] == {"text": "bye"}


def test_a_raw_request_sends_and_returns_bytes(client):
    assert b'"gitVersion"' in client.request("GET", "/version")
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
    review["spec"] = {"resourceAttributes": {"verb": "get", "resource": "pods"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert b'"allowed":true' in client.request("POST", path, review).replace(b" ", b"")


@pytest.mark.parametrize(
    "code, error",
    [
        (400, kinformer.BadRequest),
        (401, kinformer.Unauthorized),
        (403, kinformer.Forbidden),
        (404, kinformer.NotFound),
        (409, kinformer.Conflict),
        (410, kinformer.Expired),
        (422, kinformer.Invalid),
        (429, kinformer.TooManyRequests),
        (500, kinformer.ServerError),
        (503, kinformer.ServerError),
    ],
)
def test_an_error_response_is_an_exception_by_its_reason(server, client, code, error):
    fault(server, f"status,code={code},verb=get")
    with pytest.raises(error) as failure:
        client.get("nodes", "n1")
    assert failure.value.http_status == code


def test_the_time_limit_ends_a_request_that_is_not_answered(server, client):
    fault(server, "delay,time=60s,verb=get")
    with pytest.raises(kinformer.Timeout):
        client.get("nodes", "n1", timeout=0.05)


def test_a_handler_cannot_wait_for_a_response(server, factory):
    errors = []
    done = threading.Event()
    pods = factory.informer("pods")

    @pods.on_add
    def read(event):
        try:
            factory.client.get("pods", event.key)
        except kinformer.Deadlock as error:
            errors.append(error)
        done.set()

    factory.start()
    server.create_pod("a")
    assert done.wait(LIMIT) and len(errors) == 1


def test_on_an_event_loop_the_functions_are_awaited(server):
    async def main():
        async with kinformer.aio.Factory.from_server(server.url) as factory:
            maps = factory.informer("configmaps", namespace="default")
            with pytest.raises(kinformer.StateError, match="start"):
                await factory.client.get("cm", "default/greeting")
            factory.start()
            client = factory.client
            await client.apply(greeting(text="hello"), field_manager="greeter", seen_by=maps, timeout=LIMIT)
            assert maps["default/greeting"]["data"] == {"text": "hello"}
            names = await asyncio.gather(*(client.get("cm", "default/greeting") for _ in range(50)))
            assert {read.name for read in names} == {"greeting"}
            assert (await client.update_status(await client.create(WEB))).name == "web"
            assert (await client.scale("deploy", "default/web", 4))["spec"]["replicas"] == 4
            await client.delete("cm", "default/greeting", seen_by=maps, timeout=LIMIT)
            with pytest.raises(kinformer.NotFound):
                await client.get("cm", "default/greeting")
            fault(server, "delay,time=60s,verb=get")
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(client.get("nodes", "n1"), 0.05)
        with pytest.raises(kinformer.StateError, match="closed"):
            await client.get("cm", "default/greeting")

    asyncio.run(main())


CALLS = [
    ("get", ("pods", "shop/a")),
    ("list", ("pods",)),
    ("create", (MAP,)),
    ("update", (MAP,)),
    ("update_status", (MAP,)),
    ("patch", ("cm", "default/greeting", {})),
    ("delete", ("pods", "shop/a")),
    ("scale", ("deploy", "default/web", 1)),
    ("request", ("GET", "/version")),
]


@pytest.mark.parametrize("name, arguments", [*CALLS, ("apply", (MAP,))])
def test_a_client_that_is_not_started_or_is_closed_says_so(factory, name, arguments):
    options = {"field_manager": "me"} if name == "apply" else {}
    client = factory.client
    with pytest.raises(kinformer.StateError, match="start"):
        getattr(client, name)(*arguments, **options)
    factory.close()
    with pytest.raises(kinformer.StateError, match="closed"):
        getattr(client, name)(*arguments, **options)
    with pytest.raises(kinformer.StateError, match="closed"):
        factory.client


@pytest.mark.parametrize(
    "name, arguments, options",
    [
        (name, arguments[:i] + (object(),) + arguments[i + 1 :], {})
        for name, arguments in CALLS
        for i in range(len(arguments))
    ]
    + [(name, arguments, {"timeout": "soon"}) for name, arguments in CALLS]
    + [
        ("get", ("pods", "a\0b"), {}),
        ("get", ("pods", "a/b/c"), {}),
        ("get", ("pods", ""), {}),
        ("get", ("pods", "shop/a"), {"subresource": 5}),
        ("list", ("pods",), {"labels": 5}),
        ("list", ("pods",), {"fields": 5}),
        ("list", ("pods",), {"namespace": 5}),
        ("list", ("pods",), {"limit": -1}),
        ("list", ("pods",), {"limit": 2.5}),
        ("list", ("pods",), {"continue_token": 5}),
        ("create", ({"apiVersion": "v1"},), {}),
        ("create", ({**MAP, "metadata": 5},), {}),
        ("create", ({**MAP, "metadata": {"name": 5}},), {}),
        ("create", ({**MAP, "data": {1, 2}},), {}),
        ("create", ({**MAP, "data": float("nan")},), {}),
        ("create", (MAP,), {"dry_run": 1}),
        ("create", (MAP,), {"field_manager": 5}),
        ("create", (MAP,), {"seen_by": "pods"}),
        ("create", (MAP,), {"resource": 5}),
        ("patch", ("cm", "default/greeting", {}), {"type": "other"}),
        ("patch", ("cm", "default/greeting", {}), {"type": "json"}),
        ("patch", ("cm", "default/greeting", []), {}),
        ("apply", (MAP,), {}),
        ("apply", (MAP,), {"field_manager": 5}),
        ("apply", (MAP,), {"field_manager": "me", "force": 1}),
        ("delete", ("pods", "shop/a"), {"propagation": "all"}),
        ("delete", ("pods", "shop/a"), {"grace_period": -1}),
        ("delete", ("pods", "shop/a"), {"uid": 5}),
        ("delete", ("pods", "shop/a"), {"resource_version": 5}),
        ("scale", ("deploy", "default/web", -1), {}),
        ("request", ("GET", "/version"), {"content_type": 5}),
        ("request", ("GET", "/version"), {"accept": 5}),
        ("request", ("POST", "/version", 5), {}),
    ],
)
def test_wrong_arguments_are_exceptions(client, name, arguments, options):
    with pytest.raises((TypeError, ValueError)):
        getattr(client, name)(*arguments, **options)
