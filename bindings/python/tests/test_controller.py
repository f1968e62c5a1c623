"""Controllers: reconciling, retries, children, status, finalizers, events, leader election, the end."""

import logging
import threading
import time

import kinformer
import pytest
from conftest import definition

LIMIT = 30  # seconds for what comes at once


def website(name="a", **spec):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Website",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


class Calls:
    """Counts calls, and lets the test wait for what it expects."""

    def __init__(self):
        self.keys = []
        self.changed = threading.Condition()

    def add(self, key):
        with self.changed:
            self.keys.append(key)
            self.changed.notify_all()

    def wait_for(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self.keys), LIMIT), self.keys


@pytest.fixture
def cluster(server):
    """A client of its own for the test, and the definition of websites."""
    with kinformer.Factory.from_server(server.url) as factory:
        factory.start()
        factory.client.create(definition("Website"))
        yield factory.client


def config_map(site):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": site.name},
        "data": {"index.html": site["spec"]["html"]},
    }


def test_a_controller_makes_children_and_repairs_them(factory, cluster):
    calls = Calls()

    @factory.controller(for_="websites.example.com", owns=["configmaps"], workers=4)
    def reconcile(ctx, key):
        if ctx.obj:
            ctx.apply_child(config_map(ctx.obj))
        calls.add(key)

    assert reconcile.name == "websites" and reconcile.informer.resource == "websites.example.com"
    maps = reconcile.owned("cm")
    assert maps.resource == "configmaps"
    factory.start()
    site = cluster.create(website(html="hello"))
    calls.wait_for(lambda keys: "default/a" in keys)
    read = cluster.get("configmaps", "default/a")
    assert read["data"] == {"index.html": "hello"}
    assert kinformer.is_controlled_by(read, site) and not kinformer.is_controlled_by(site, read)
    [owner] = read["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == ("Website", "a", site.uid, True)
    [manager] = {entry["manager"] for entry in read["metadata"]["managedFields"]}
    assert manager == "websites"
    repaired = threading.Event()

    @maps.on_add
    def added(event):
        if event.obj.uid != read.uid and event.key == "default/a":
            repaired.set()

    cluster.delete("configmaps", "default/a")
    assert repaired.wait(LIMIT)


def test_an_exception_is_logged_with_its_traceback_and_the_key_is_retried(factory, cluster, caplog):
    calls = Calls()

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        calls.add(key)
        if len(calls.keys) < 3:
            raise RuntimeError(f"no place for {key}")

    with caplog.at_level(logging.INFO):
        factory.start()
        cluster.create(website())
        calls.wait_for(lambda keys: len(keys) == 3)
        factory.close()
    failures = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert reconcile.errors == 2
    assert [record.getMessage() for record in failures] == 2 * ["reconcile default/a of websites failed, retried later"]
    assert all("no place for default/a" in str(record.exc_info[1]) for record in failures)


def test_an_exception_without_a_text_is_retried_too(factory, cluster):
    calls = Calls()

    class NoText(BaseException):
        def __str__(self):
            raise RuntimeError

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        calls.add(key)
        if len(calls.keys) < 3:
            raise NoText

    factory.start()
    cluster.create(website())
    calls.wait_for(lambda keys: len(keys) == 3)
    assert reconcile.errors == 2


def test_a_failure_is_there_until_its_key_succeeds(factory, cluster):
    calls = Calls()
    may_succeed = threading.Event()

    @factory.controller(for_="websites.example.com", name="sites")
    def reconcile(ctx, key):
        calls.add(key)
        if not may_succeed.is_set():
            ctx.client.get("pods", "default/none")

    factory.start()
    assert reconcile.failure is None
    cluster.create(website())
    calls.wait_for(lambda keys: len(keys) >= 2)
    failure = reconcile.failure
    assert failure.key == "default/a" and 'pods "none" not found' in failure.message
    may_succeed.set()
    seen = len(calls.keys)
    calls.wait_for(lambda keys: len(keys) > seen)
    reconcile.queue("default/b")
    calls.wait_for(lambda keys: "default/b" in keys)
    assert reconcile.failure is None


def test_a_number_processes_the_key_again_after_that_time(factory, cluster):
    calls = Calls()

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        calls.add(key)
        return 0.01 if len(calls.keys) < 5 else None

    factory.start()
    cluster.create(website())
    calls.wait_for(lambda keys: len(keys) == 5)


def test_a_result_of_a_wrong_type_is_a_failure(factory, cluster, caplog):
    calls = Calls()

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        calls.add(key)
        return "later" if len(calls.keys) == 1 else None

    factory.start()
    cluster.create(website())
    calls.wait_for(lambda keys: len(keys) == 2)
    assert "the result of a reconcile function must be a number of seconds, not str" in caplog.text


def test_a_reconcile_sees_what_the_last_one_of_its_key_wrote(factory, cluster):
    seen = []
    done = threading.Event()

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        count = ctx.obj["status"]["count"] if "status" in ctx.obj else 0
        seen.append(count)
        if count == 20:
            done.set()
            return
        changed = ctx.obj.to_dict()
        changed["status"] = {"count": count + 1}
        assert ctx.update_status(changed)

    factory.start()
    cluster.create(website())
    assert done.wait(LIMIT)
    assert seen == list(range(21)) and reconcile.errors == 0


def test_the_status_is_written_only_if_it_has_changed(server, factory, cluster):
    calls = Calls()
    written = []

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        changed = ctx.obj.to_dict()
        kinformer.set_condition(changed, "Ready", "True", "AllReady", "1 of 1 is ready")
        written.append(ctx.update_status(changed))
        calls.add(key)

    factory.start()
    cluster.create(website())
    calls.wait_for(lambda keys: len(keys) == 2)
    assert written == [True, False]
    [condition] = cluster.get("websites.example.com", "default/a")["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["observedGeneration"]) == ("Ready", "True", 1)


def test_a_finalizer_keeps_an_object_until_its_end_is_reconciled(factory, cluster):
    calls = Calls()
    ended = []

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        calls.add("gone" if ctx.obj is None else key)
        if ctx.obj is None:
            return
        if "deletionTimestamp" in ctx.obj["metadata"]:
            ended.append(key)
            assert ctx.remove_finalizer("example.com/route")
            assert ctx.remove_finalizer("example.com/other") is False
        elif ctx.add_finalizer("example.com/route"):
            return
        else:
            calls.add("served")

    factory.start()
    cluster.create(website())
    calls.wait_for(lambda keys: "served" in keys)
    assert cluster.get("websites.example.com", "default/a")["metadata"]["finalizers"] == ["example.com/route"]
    cluster.delete("websites.example.com", "default/a")
    calls.wait_for(lambda keys: "gone" in keys)
    assert ended == ["default/a"] and reconcile.errors == 0


def test_events_are_recorded_about_the_object(factory, cluster):
    @factory.controller(for_="websites.example.com", name="sites")
    def reconcile(ctx, key):
        ctx.event("Synced", "Website synced")
        ctx.event("Odd", "100 % of it", type="Warning")

    factory.start()
    events = factory.informer("events", namespace="default")
    factory.start()
    both = threading.Event()

    @events.on_add
    def added(event):
        if len(events) == 2:
            both.set()

    cluster.create(website())
    assert both.wait(LIMIT)
    read = {event["reason"]: event for event in events.values()}
    assert read["Synced"]["involvedObject"]["name"] == "a" and read["Synced"]["type"] == "Normal"
    assert read["Odd"]["message"] == "100 % of it" and read["Odd"]["source"]["component"] == "sites"
    assert reconcile.recorder.counts.recorded == 2


def test_a_watch_queues_the_keys_of_a_function_and_an_exception_in_it_is_logged(factory, cluster, caplog):
    calls = Calls()

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        calls.add(key)

    @reconcile.watch("configmaps")
    def sites_of(config):
        return config.annotations["sites"].split()

    factory.start()
    for name, annotations in (("none", {}), ("two", {"sites": "default/x default/y"})):
        metadata = {"name": name, "namespace": "default", "annotations": annotations}
        cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    calls.wait_for(lambda keys: {"default/x", "default/y"} <= set(keys))
    assert reconcile.errors >= 1 and "a watch of the controller websites failed" in caplog.text


def test_workers_reconcile_different_keys_at_the_same_time(factory, cluster):
    together = threading.Barrier(3)

    @factory.controller(for_="websites.example.com", workers=2)
    def reconcile(ctx, key):
        together.wait(LIMIT)

    factory.start()
    cluster.create(website("a"))
    cluster.create(website("b"))
    together.wait(LIMIT)


def test_close_waits_for_the_running_reconcile_which_can_still_write(factory, cluster):
    started = threading.Event()
    results = []

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        started.set()
        while not ctx.is_cancelled:
            time.sleep(0)
        results.append(ctx.apply_child(config_map(ctx.obj)).key)

    factory.start()
    cluster.create(website(html="x"))
    assert started.wait(LIMIT)
    factory.close()
    assert results == ["default/a"] and cluster.get("cm", "default/a").name == "a"


def test_a_reconcile_can_close_the_factory(factory, cluster):
    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        factory.close()

    cluster.create(website())
    factory.run()


def test_of_two_processes_the_leader_reconciles_and_the_next_one_takes_over(server, cluster):
    calls = {"one": Calls(), "two": Calls()}
    factories = {}
    electors = {}
    for name in calls:
        factory = factories[name] = kinformer.Factory.from_server(server.url)
        durations = {"lease_duration": 3, "renew_deadline": 2, "retry_period": 0.05}
        elector = electors[name] = factory.elector("sites", namespace="default", identity=name, **durations)

        @factory.controller(for_="websites.example.com", elector=elector)
        def reconcile(ctx, key, calls=calls[name], elector=elector):
            assert elector.is_leader and elector.fencing_token >= 0
            calls.add(key)

    started = threading.Event()
    stopped = threading.Event()
    holders = []
    electors["one"].on_started_leading(started.set)
    electors["one"].on_stopped_leading(stopped.set)
    electors["two"].on_new_leader(holders.append)
    with factories["two"] as second:
        with factories["one"] as first:
            first.start()
            assert started.wait(LIMIT)
            second.start()
            cluster.create(website())
            calls["one"].wait_for(lambda keys: keys)
            assert not electors["two"].is_leader and calls["two"].keys == []
        assert stopped.wait(LIMIT)
        calls["two"].wait_for(lambda keys: keys)
        assert electors["two"].leader == "two" and holders[-1] == "two"


def test_conditions_and_owners_are_changed_as_kubernetes_controllers_change_them(cluster):
    owner = cluster.create(website())
    obj = website("b")
    assert kinformer.set_condition(obj, "Ready", "False", "Starting")
    conditions = obj["status"]["conditions"]
    assert not kinformer.set_condition(obj, "Ready", "False", "Starting")
    assert kinformer.set_condition(obj, "Ready", "False", "Waiting", "for a node")
    assert obj["status"]["conditions"][0]["lastTransitionTime"] == conditions[0]["lastTransitionTime"]
    assert kinformer.remove_condition(obj, "Ready") and not kinformer.remove_condition(obj, "Ready")
    assert obj["status"]["conditions"] == []
    kinformer.set_controller(obj, owner)
    assert obj["metadata"]["ownerReferences"][0]["uid"] == owner.uid
    other = cluster.create(website("c"))
    with pytest.raises(kinformer.AlreadyExists):
        kinformer.set_controller(obj, other)
    kinformer.add_owner(obj, other)
    assert [reference["name"] for reference in obj["metadata"]["ownerReferences"]] == ["a", "c"]
    kinformer.remove_owner(obj, owner)
    kinformer.remove_owner(obj, other)
    assert obj["metadata"]["ownerReferences"] == []
    with pytest.raises(kinformer.Invalid):
        kinformer.set_condition(obj, "Ready", "Maybe", "Unsure")
    with pytest.raises(TypeError, match="to_dict"):
        kinformer.set_condition(owner, "Ready", "True", "Sure")
    with pytest.raises(TypeError):
        kinformer.set_controller(obj, {"kind": "Website"})
    with pytest.raises(TypeError):
        kinformer.is_controlled_by(obj, owner)


def nothing(ctx, key):
    return None


async def nothing_later(ctx, key):
    return None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"for_": 5},
        {"for_": "pods", "owns": "services"},
        {"for_": "pods", "owns": [5]},
        {"for_": "pods", "workers": 0},
        {"for_": "pods", "workers": 2000},
        {"for_": "pods", "workers": "4"},
        {"for_": "pods", "name": 5},
        {"for_": "pods", "name": ""},
        {"for_": "pods", "elector": "me"},
    ],
)
def test_wrong_options_of_a_controller_are_exceptions(factory, options):
    with pytest.raises((TypeError, ValueError)):
        factory.controller(**options)(nothing)


def test_wrong_arguments_of_controllers_electors_and_recorders_are_exceptions(factory):
    with pytest.raises(TypeError, match=r"called with \(ctx, key\)"):
        factory.controller(for_="pods")(lambda key: None)
    controller = factory.controller(for_="pods")(nothing)
    with pytest.raises(kinformer.AlreadyExists):
        factory.controller(for_="pods")(nothing)
    elector = factory.elector("lease")
    recorder = factory.event_recorder("me")
    with kinformer.Factory.from_server(factory.server) as other:
        foreign = other.informer("pods")
        calls = [
            lambda: factory.controller(for_="pods", name="x")("reconcile"),
            lambda: factory.controller(for_=foreign, name="y"),
            lambda: factory.controller(for_="pods", name="z")(nothing_later),
            lambda: controller.queue(5),
            lambda: controller.queue("a", after="b"),
            lambda: controller.queue(""),
            lambda: controller.owned(5),
            lambda: controller.watch(5),
            lambda: controller.watch("pods")(5),
            lambda: factory.elector(5),
            lambda: factory.elector("a", namespace=5),
            lambda: factory.elector("a", identity=5),
            lambda: factory.elector("a", lease_duration="long"),
            lambda: factory.elector("a", lease_duration=1, renew_deadline=2),
            lambda: factory.elector("a", patience=2),
            lambda: elector.on_started_leading(5),
            lambda: factory.event_recorder(5),
            lambda: recorder.record("pod", "Reason"),
        ]
        for wrong in calls[:1] + calls[2:]:
            with pytest.raises((TypeError, ValueError)):
                wrong()
        with pytest.raises(kinformer.Invalid, match="another factory"):
            calls[1]()(nothing)
        with pytest.raises(kinformer.NotFound):
            controller.owned("services")


def test_after_close_controllers_electors_and_recorders_say_so(factory):
    controller = factory.controller(for_="pods")(nothing)
    elector = factory.elector("lease")
    recorder = factory.event_recorder("me")
    factory.close()
    for late in (
        lambda: factory.controller(for_="pods"),
        lambda: factory.elector("other"),
        lambda: factory.event_recorder("other"),
        lambda: controller.queue("a"),
        lambda: controller.failure,
        lambda: controller.stop(),
        lambda: controller.watch("pods"),
        lambda: elector.is_leader,
        lambda: elector.fencing_token,
        lambda: elector.leader,
        lambda: elector.stop(),
        lambda: recorder.counts,
        lambda: recorder.record(None, "Reason"),
    ):
        with pytest.raises(kinformer.StateError, match="closed"):
            late()


def test_requests_of_a_reconcile_end_with_the_leadership(factory, cluster):
    elector = factory.elector("sites", namespace="default")
    ended = threading.Event()
    errors = []

    @factory.controller(for_="websites.example.com", elector=elector)
    def reconcile(ctx, key):
        elector.stop()
        while not ctx.is_cancelled:
            time.sleep(0)
        try:
            ctx.apply_child(config_map(ctx.obj))
        except kinformer.Cancelled as error:
            errors.append(error)
        ended.set()

    factory.start()
    cluster.create(website(html="x"))
    assert ended.wait(LIMIT) and len(errors) == 1
    with pytest.raises(kinformer.NotFound):
        cluster.get("configmaps", "default/a")


def test_wrong_arguments_of_a_context_are_exceptions_also_without_an_object(factory, cluster):
    done = threading.Event()
    raised = []
    contexts = []

    @factory.controller(for_="websites.example.com")
    def reconcile(ctx, key):
        contexts.append(ctx)
        calls = [
            lambda: ctx.event(5),
            lambda: ctx.event("Reason", 5),
            lambda: ctx.event("Reason", type="Odd"),
            lambda: ctx.apply_child(5),
            lambda: ctx.apply_child({"metadata": 5}),
            lambda: ctx.update_status(5),
            lambda: ctx.add_finalizer(5),
            lambda: ctx.remove_finalizer(5),
        ]
        for call in calls:
            try:
                call()
            except (TypeError, ValueError, kinformer.NotFound) as error:
                raised.append(error)
        if ctx.obj is None:
            done.set()

    factory.start()
    cluster.create(website(), seen_by=reconcile.informer, timeout=LIMIT)
    cluster.delete("websites.example.com", "default/a")
    assert done.wait(LIMIT)
    factory.close()
    assert len(raised) == 8 * len(contexts) and contexts[0].is_cancelled
