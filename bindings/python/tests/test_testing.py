"""kinformer.testing: the embedded server in the test's process. The client is Python's own, so that it hides nothing."""

import json
import os
import signal
import ssl
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import kinformer
import kinformer.testing
import pytest

POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def ask(server, path, token="", method="GET"):
    """Returns the status and the body of the response."""
    headers = {"Authorization": f"Bearer {token or server.token}"} if server.token else {}
    context = ssl.create_default_context(cafile=server.ca) if server.ca else None
    request = urllib.request.Request(server.url + path, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, context=context) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as response:
        with response:
            return response.status, json.load(response)


def names(items):
    return [item["metadata"]["name"] for item in items]


# ---- objects ----


def test_objects_of_files_are_stored_as_they_are(kube_api):
    assert kube_api.load("data/*.yaml") == 4
    status, pods = ask(kube_api, "/api/v1/pods")
    assert (status, names(pods["items"])) == (200, ["cart-1", "cart-2"])
    assert pods["items"][0]["status"]["phase"] == "Running"
    assert kube_api.get("widgets.example.com", "one", "shop")["size"] == 5


def test_a_path_without_a_file_is_an_error(kube_api):
    with pytest.raises(FileNotFoundError, match="data/none.*yaml"):
        kube_api.load("data/none*.yaml")


def test_an_error_in_a_file_has_its_name(kube_api, tmp_path):
    (tmp_path / "bad.yaml").write_text("kind: Pod\napiVersion: [v1\n")
    with pytest.raises(kinformer.ParseError, match="bad.yaml: "):
        kube_api.load(tmp_path / "bad.yaml")


def test_objects_are_put_as_dicts_and_as_text(kube_api):
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "ü"}}
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\n" + json.dumps(config | {"metadata": {"name": "c"}})
    assert kube_api.put(config, text) == 3
    assert kube_api.put("") == 0
    assert names(kube_api.list("configmaps", "default")) == ["a", "b", "c"]
    assert kube_api.get("cm", "a")["data"] == {"k": "ü"}
    with pytest.raises(kinformer.Invalid):
        kube_api.put({"kind": "Nothing", "apiVersion": "v1", "metadata": {"name": "a"}})


def test_objects_are_created_patched_listed_and_deleted_as_by_a_client(kube_api):
    made = kube_api.create("pods", POD)
    assert made["metadata"]["uid"] and made["spec"]["restartPolicy"] == "Always"
    with pytest.raises(kinformer.AlreadyExists):
        kube_api.create("pods", POD)
    with pytest.raises(kinformer.Invalid, match="spec.containers"):
        kube_api.create("pods", {"metadata": {"name": "b"}, "spec": {}})
    patch = {"metadata": {"labels": {"app": "web"}}, "status": {"phase": "Running"}}
    patched = kube_api.patch("pods", "a", patch)
    assert (patched["metadata"]["labels"], patched["status"]["phase"]) == ({"app": "web"}, "Running")
    assert names(kube_api.list("pods", labels="app=web", fields="status.phase=Running")) == ["a"]
    assert kube_api.list("pods", labels="app=db") == []
    kube_api.create("nodes", {"metadata": {"name": "n1"}})
    kube_api.patch("nodes", "n1", {"spec": {"unschedulable": True}})
    kube_api.delete("pods", "a")
    with pytest.raises(kinformer.NotFound):
        kube_api.get("pods", "a")
    with pytest.raises(kinformer.NotFound):
        kube_api.patch("pods", "a", {})


# ---- requests and waits ----


def test_requests_are_recorded_with_user_status_and_body(kube_api):
    kube_api.load("data/pods.yaml")
    ask(kube_api, "/api/v1/pods?limit=1")
    ask(kube_api, "/api/v1/namespaces/shop/pods/none")
    (listed,) = kube_api.requests(verb="list")
    assert (listed.resource, listed.status, listed.user) == ("pods", 200, "kinformer-admin")
    assert (listed.target, listed.body, listed.user_agent[:14]) == ("/api/v1/pods?limit=1", None, "Python-urllib/")
    assert abs(listed.time.timestamp() - time.time()) < 600
    (got,) = kube_api.requests(verb="get+create", resource="pods", namespace="shop", name="no*")
    assert (got.status, got.number > listed.number) == (404, True)
    assert str(got) == "get /api/v1/namespaces/shop/pods/none by kinformer-admin: 404"
    kube_api.forget_requests()
    assert kube_api.requests() == []
    with pytest.raises(kinformer.Invalid, match="deployments.apps"):
        kube_api.requests(resource="deployments")


def test_a_wait_ends_when_it_is_so(kube_api):
    with kinformer.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
        pods = factory.informer("pods")
        factory.start()
        kube_api.wait_for_watches("pods")
        kube_api.create("pods", POD)
        pods.wait_for_version(None, "default/a", timeout=30)
        thread = threading.Thread(target=kube_api.patch, args=["pods", "a", {"status": {"phase": "Running"}}])
        thread.start()
        assert kube_api.wait_for_object("pods", "a", fields="status.phase=Running")["status"]["phase"] == "Running"
        thread.join()
    kube_api.delete("pods", "a")
    kube_api.wait_for_deletion("pods", "a")
    assert [request.verb for request in kube_api.wait_for_requests(verb="watch")] == ["watch"]


def test_a_wait_that_is_in_vain_says_what_there_is(kube_api):
    with pytest.raises(kinformer.Timeout, match="0 watches of pods are open, not 1"):
        kube_api.wait_for_watches("pods", timeout=0)
    with pytest.raises(kinformer.Timeout, match="0 requests"):
        kube_api.wait_for_requests(2, 0, verb="list")
    kube_api.create("pods", POD)
    with pytest.raises(kinformer.Timeout, match="Pending"):
        kube_api.wait_for_object("pods", "a", fields="status.phase=Running", timeout=0)
    with pytest.raises(kinformer.Timeout):
        kube_api.wait_for_deletion("pods", "a", timeout=0)


def test_ctrl_c_ends_a_wait(kube_api):
    timer = threading.Timer(0.1, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        kube_api.wait_for_watches("pods", timeout=None)
    timer.join()


# ---- faults ----


def test_a_fault_is_injected_as_often_as_it_says_and_counted(kube_api):
    fault = kube_api.fault("status,code=500,verb=list,count=2")
    assert [ask(kube_api, "/api/v1/pods")[0] for _ in range(3)] == [500, 500, 200]
    fault.wait(2)
    assert (fault.requests, fault.injected) == (3, 2)
    assert [request.status for request in kube_api.requests(verb="list")] == [500, 500, 200]


def test_a_removed_fault_does_nothing(kube_api):
    fault = kube_api.fault("status,code=503")
    fault.remove()
    assert ask(kube_api, "/api/v1/pods")[0] == 200
    for use in fault.remove, fault.wait, lambda: fault.injected:
        with pytest.raises(kinformer.NotFound):
            use()


def test_a_fault_that_can_match_nothing_is_an_error(kube_api):
    with pytest.raises(kinformer.Invalid, match="did you mean deployments.apps"):
        kube_api.fault("close,resource=deployments")


def test_a_restore_takes_the_objects_away(kube_api):
    kube_api.create("pods", POD)
    kube_api.patch("pods", "a", {"metadata": {"labels": {"app": "web"}}})
    kube_api.restore(events=1)
    assert "labels" not in kube_api.get("pods", "a")["metadata"]
    kube_api.restore()
    assert kube_api.list("pods") == []


def test_a_server_that_restarts_has_its_objects(kube_api):
    kube_api.create("pods", POD)
    kube_api.restart()
    assert names(ask(kube_api, "/api/v1/pods")[1]["items"]) == ["a"]


# ---- users ----


def test_a_user_may_do_what_was_allowed_and_nothing_else(kube_api):
    jane = kube_api.user("jane", allow="pods:get,list")
    robot = kube_api.user("robot", allow=["pods,services:list", "deployments.apps:*"], namespace="shop")
    nobody = kube_api.user("nobody")
    cases = [
        (jane, "/api/v1/pods", 200),
        (jane, "/api/v1/services", 403),
        (robot, "/api/v1/namespaces/shop/services", 200),
        (robot, "/api/v1/namespaces/other/services", 403),
        (robot, "/apis/apps/v1/namespaces/shop/deployments", 200),
        (nobody, "/api/v1/pods", 403),
    ]
    for user, path, status in cases:
        assert ask(kube_api, path, user.token)[0] == status, (user, path)
    assert ask(kube_api, "/api/v1/pods", "wrong")[0] == 401
    assert ask(kube_api, "/api/v1/pods")[0] == 200
    assert {request.user for request in kube_api.requests()} >= {"jane", "robot", "nobody", "kinformer-admin"}


def test_the_kubeconfig_of_a_user_is_the_users(kube_api):
    kube_api.create("pods", POD)
    jane = kube_api.user("jane", allow="pods:list,watch")
    for file, context in (jane.kubeconfig, None), (kube_api.kubeconfig, "jane"):
        with kinformer.Factory.from_kubeconfig(file, context=context) as factory:
            pods, nodes = factory.informer("pods"), factory.informer("nodes")
            factory.start()
            pods.wait_for_sync(timeout=30)
            assert list(pods) == ["default/a"]
            kube_api.wait_for_requests(resource="nodes")
            assert not nodes.has_synced
    assert {request.user for request in kube_api.requests()} == {"jane"}


def test_a_revoked_token_gets_401(kube_api):
    jane = kube_api.user("jane", allow="pods:list")
    jane.revoke()
    assert ask(kube_api, "/api/v1/pods", jane.token)[0] == 401


def test_roles_authorize_on_a_server_with_rbac():
    with kinformer.testing.Server(rbac=True) as server:
        jane = server.user("jane", groups=["readers"])
        assert ask(server, "/api/v1/pods", jane.token)[0] == 403
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        server.create("clusterroles", {"metadata": {"name": "read"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "read"}
        group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}
        server.create("clusterrolebindings", {"metadata": {"name": "read"}, "roleRef": role, "subjects": [group]})
        assert ask(server, "/api/v1/pods", jane.token)[0] == 200


@pytest.mark.parametrize("rule", ["pods", "pods:", ":get", "verb=get:*", ""])
def test_a_rule_with_an_error_is_no_rule(kube_api, rule):
    with pytest.raises(ValueError, match="RESOURCE:VERB"):
        kube_api.user("jane", allow=rule)


def test_a_name_cannot_add_fields_to_a_rule(kube_api):
    for name, groups in ("jane,groups=system:masters", []), ("jane", ["a+system:masters"]):
        with pytest.raises(ValueError, match="no comma"):
            kube_api.user(name, groups=groups)


# ---- the start ----


def test_a_reset_returns_to_the_start(kube_api):
    kube_api.create("pods", POD)
    fault = kube_api.fault("status,code=500")
    jane = kube_api.user("jane", allow="pods:list")
    ask(kube_api, "/api/v1/pods")
    kube_api.reset()
    assert kube_api.list("pods") == [] and kube_api.requests() == []
    assert ask(kube_api, "/api/v1/pods")[0] == 200
    assert ask(kube_api, "/api/v1/pods", jane.token)[0] == 401
    with pytest.raises(kinformer.NotFound):
        fault.remove()
    with open(kube_api.kubeconfig) as file:
        assert "jane" not in file.read()


def test_a_program_that_goes_on_sees_a_reset_as_events(kube_api):
    with kinformer.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
        pods = factory.informer("pods")
        factory.start()
        made = kube_api.create("pods", POD)
        pods.wait_for_version(made["metadata"]["resourceVersion"], timeout=30)
        kube_api.reset()
        pods.wait_for_deletion("default/a", timeout=30)
        pods.wait_for_version(kube_api.create("pods", POD)["metadata"]["resourceVersion"], timeout=30)
        assert list(pods) == ["default/a"]
    assert len(kube_api.requests(verb="watch")) == 0  # the reset forgot the one, and it went on


def test_what_a_project_keeps_as_its_start_is_there_after_a_reset():
    with kinformer.testing.Server(folder=os.path.dirname(__file__)) as server:
        server.load("data/pods.yaml")
        jane = server.user("jane", allow="pods:list")
        server.keep_start()
        server.delete("pods", "cart-1", "shop")
        server.create("pods", POD)
        server.reset()
        assert names(server.list("pods")) == ["cart-1", "cart-2"]
        assert ask(server, "/api/v1/pods", jane.token)[0] == 200


def test_the_time_of_a_reset_is_printed(capsys):
    lines = []
    for count in 0, 10, 100:
        with kinformer.testing.Server() as server:
            times, work = [], []
            for _ in range(20):
                for number in range(count):
                    server.create("pods", {**POD, "metadata": {"name": f"pod-{number}"}})
                begin, begin_work = time.perf_counter(), time.thread_time()
                server.reset()
                times.append(time.perf_counter() - begin)
                work.append(time.thread_time() - begin_work)
            assert server.list("pods") == []
        took, cpu = statistics.median(times) * 1000, statistics.median(work) * 1000
        lines.append(f"{count} pods made: {took:.2f} ms, of CPU {cpu:.2f} ms")
    with capsys.disabled():
        print("\nreset after", "; after ".join(lines), file=sys.stderr)


# ---- a server's life ----


def test_a_server_without_tls_is_open_and_has_no_users():
    with kinformer.testing.Server(tls=False) as server:
        assert server.url.startswith("http://127.0.0.1:") and server.token is None and server.ca is None
        assert ask(server, "/api/v1/pods")[0] == 200
        with pytest.raises(kinformer.StateError, match="tls"):
            server.user("jane")
    with pytest.raises(ValueError, match="rbac needs tls"):
        kinformer.testing.Server(tls=False, rbac=True)


def test_a_server_has_the_load_that_was_asked_for():
    with kinformer.testing.Server(pods=50, nodes=3) as server:
        assert len(server.list("nodes")) == 3 and len(server.list("pods")) > 20
        server.delete("nodes", server.list("nodes")[0]["metadata"]["name"])
        server.reset()
        assert len(server.list("nodes")) == 3


def test_a_server_that_cannot_start_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(kinformer.StateError, match="no load to change"):
        kinformer.testing.Server(churn=5)
    with pytest.raises(kinformer.Invalid):
        kinformer.testing.Server(pods=5, churn=-1)
    assert list(tmp_path.iterdir()) == []


def test_several_servers_do_not_know_each_other(kube_api):
    with kinformer.testing.Server() as other:
        other.create("pods", POD)
        assert kube_api.list("pods") == [] and other.url != kube_api.url


def test_a_closed_server_says_so():
    server = kinformer.testing.Server()
    folder = os.path.dirname(server.kubeconfig)
    server.close()
    server.close()
    assert not os.path.exists(folder)
    uses = [
        server.reset,
        server.restore,
        server.keep_start,
        server.compact,
        server.close_watches,
        server.cut_watches,
        server.restart,
        server.requests,
        server.forget_requests,
        server.wait_for_requests,
        server.wait_for_watches,
        server.__enter__,
        lambda: server.fault("close"),
        lambda: server.user("jane"),
        lambda: server.put({}),
        lambda: server.create("pods", POD),
        lambda: server.get("pods", "a"),
        lambda: server.list("pods"),
        lambda: server.patch("pods", "a", {}),
        lambda: server.delete("pods", "a"),
        lambda: server.wait_for_object("pods", "a"),
        lambda: server.wait_for_deletion("pods", "a"),
    ]
    for use in uses:
        with pytest.raises(kinformer.StateError, match="the server is closed"):
            use()


def test_closing_ends_the_waits_of_other_threads():
    server = kinformer.testing.Server()
    failures = []

    def wait():
        try:
            server.wait_for_watches(timeout=None)
        except kinformer.StateError as failure:
            failures.append(failure)

    thread = threading.Thread(target=wait)
    thread.start()
    while not server._callers:
        os.sched_yield()
    server.close()
    thread.join()
    assert "closed" in str(failures[0])


def test_wrong_types_are_exceptions(kube_api):
    uses = [
        lambda: kinformer.testing.Server(tls=1),
        lambda: kinformer.testing.Server(pods="many"),
        lambda: kube_api.load(5),
        lambda: kube_api.put(5),
        lambda: kube_api.put([POD]),
        lambda: kube_api.create("pods", "text"),
        lambda: kube_api.create(None, POD),
        lambda: kube_api.get("pods", None),
        lambda: kube_api.get("pods", "a", 5),
        lambda: kube_api.patch("pods", "a", None),
        lambda: kube_api.fault(None),
        lambda: kube_api.user(5),
        lambda: kube_api.user("jane", allow=5),
        lambda: kube_api.user("jane", allow=[5]),
        lambda: kube_api.requests(verb=5),
        lambda: kube_api.wait_for_watches(5),
        lambda: kube_api.wait_for_watches("pods", timeout="1"),
        lambda: kube_api.wait_for_watches("pods", "1"),
        lambda: kube_api.wait_for_object("pods", "a", fields=5),
        lambda: kube_api.restart("1"),
        lambda: kube_api.restore("1"),
    ]
    for number, use in enumerate(uses):
        with pytest.raises(TypeError):
            use()
            pytest.fail(f"case {number}")
    with pytest.raises(ValueError):
        kube_api.requests(verb="get,list")


def test_a_count_is_not_below_zero(kube_api):
    for name in "pods", "nodes":
        with pytest.raises(ValueError, match=f"{name} must be at least 0"):
            kinformer.testing.Server(**{name: -1})
    with pytest.raises(ValueError, match="events must be at least 0"):
        kube_api.restore(events=-1)
    for wait in kube_api.wait_for_requests, kube_api.wait_for_watches, kube_api.fault("close").wait:
        with pytest.raises(ValueError, match="count must be at least 0"):
            wait(count=-1)


@pytest.mark.parametrize("name, message", [("", "empty"), ("shop/a", "write 'a', namespace='shop', not 'shop/a'")])
def test_a_name_is_no_key_and_not_empty(kube_api, name, message):
    uses = [
        lambda: kube_api.get("pods", name),
        lambda: kube_api.patch("pods", name, {}),
        lambda: kube_api.delete("pods", name),
        lambda: kube_api.wait_for_object("pods", name, timeout=0),
        lambda: kube_api.wait_for_deletion("pods", name, timeout=0),
    ]
    for use in uses:
        with pytest.raises(ValueError, match=message):
            use()


def test_a_forked_child_may_use_the_url_and_nothing_else(kube_api):
    kube_api.create("pods", POD)
    child = os.fork()
    if child == 0:
        try:
            with pytest.raises(kinformer.StateError, match="forked"):
                kube_api.reset()
            kube_api.close()
            assert names(ask(kube_api, "/api/v1/pods")[1]["items"]) == ["a"]
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert names(kube_api.list("pods")) == ["a"]


def test_a_process_that_forgets_to_close_ends():
    program = "import kinformer.testing; print(kinformer.testing.Server().kubeconfig, kinformer.testing.Server().url)"
    server = "import kinformer.testing; server = kinformer.testing.Server(); print(server.kubeconfig)"
    for source in program, server:
        done = subprocess.run([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, timeout=300)
        assert done.returncode == 0
        assert not os.path.exists(done.stdout.split()[0])
