"""kinformer.aio: informers on asyncio's event loop."""

import asyncio
import contextlib
import gc
import operator
import subprocess
import sys
import threading

import kinformer
import kinformer.aio
import pytest

LIMIT = 30  # seconds for what comes at once
POD = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def run(main):
    """Runs a coroutine function on a loop of its own, and reports what the loop has nobody else to tell."""

    async def watched():
        reports = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reports.append(context))
        await main()
        gc.collect()
        assert reports == []

    asyncio.run(asyncio.wait_for(watched(), 300))


@contextlib.asynccontextmanager
async def pods_of(kube_api, **options):
    """An informer of pods, started."""
    async with kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
        pods = factory.informer("pods", **options)
        factory.start()
        yield pods


def test_events_come_in_order_and_the_cache_has_what_they_tell(kube_api):
    kube_api.create("pods", POD)

    async def main():
        async with pods_of(kube_api, view={"phase": "status.phase"}) as pods:
            await pods.wait_for_sync(timeout=LIMIT)
            assert list(pods) == ["default/a"]
            seen = []
            async for event in pods.events():
                seen.append((event.type, event.old and event.old.phase, event.obj.phase))
                if event.type == "add":
                    kube_api.patch("pods", "a", {"status": {"phase": "Running"}})
                elif event.type == "update":
                    assert pods["default/a"].phase == "Running"
                    kube_api.delete("pods", "a")
                else:
                    break
            assert seen == [("add", None, "Pending"), ("update", "Pending", "Running"), ("delete", None, "Running")]

    run(main)


def test_no_thread_is_started(kube_api):
    async def main():
        before = threading.active_count()
        loop_thread = threading.get_ident()
        threads = set()
        async with pods_of(kube_api) as pods:
            pods.on_add(lambda event: threads.add(threading.get_ident()))
            await pods.wait_for_sync(timeout=LIMIT)
            version = kube_api.create("pods", POD)["metadata"]["resourceVersion"]
            await pods.wait_for_version(version, timeout=LIMIT)
            assert threading.active_count() == before
        assert threads <= {loop_thread}

    run(main)


def test_waits_are_coroutines_that_do_not_stop_the_loop(kube_api):
    async def main():
        async with pods_of(kube_api) as pods:
            await pods._factory.wait_for_sync(timeout=LIMIT)
            await pods.wait_for_sync(timeout=0)
            gone = asyncio.create_task(pods.wait_for_deletion("default/a", timeout=LIMIT))
            await gone
            made = kube_api.create("pods", POD)
            await asyncio.gather(
                pods.wait_for_version(made["metadata"]["resourceVersion"], timeout=LIMIT),
                pods.wait_for_version(None, "default/a", timeout=LIMIT),
            )
            assert (await pods.get_or_fetch("default/a", timeout=LIMIT)).name == "a"
            assert await pods.get_or_fetch("default/b", timeout=LIMIT) is None
            kube_api.delete("pods", "a")
            await pods.wait_for_deletion("default/a", timeout=LIMIT)
            assert len(pods) == 0

    run(main)


def test_a_wait_in_vain_ends_with_timeout(kube_api):
    kube_api.fault("status,code=503,resource=pods")

    async def main():
        async with pods_of(kube_api) as pods:
            with pytest.raises(kinformer.Timeout, match="not synced"):
                await pods.wait_for_sync(timeout=0.01)
            with pytest.raises(TimeoutError):
                await pods._factory.wait_for_sync(timeout=0)
            with pytest.raises(kinformer.Timeout):
                await pods.wait_for_version("1000000", timeout=0.01)

    run(main)


def test_a_response_is_an_exception(kube_api):
    jane = kube_api.user("jane", allow="configmaps:list")

    async def main():
        async with kinformer.aio.Factory.from_kubeconfig(jane.kubeconfig) as factory:
            pods = factory.informer("pods")
            factory.start()
            with pytest.raises(kinformer.Forbidden, match="jane"):
                await pods.get_or_fetch("default/a", timeout=LIMIT)

    run(main)


def test_a_request_that_is_cancelled_leaves_nothing_behind(kube_api):
    async def main():
        async with pods_of(kube_api) as pods:
            client = pods._factory.client
            pod = {**POD, "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}}
            made = await client.create(pod, seen_by=pods)
            assert pods["default/a"].uid == made.uid
            assert [pod.name for pod in await client.list("pods")] == ["a"]
            with pytest.raises(kinformer.NotFound):
                await client.get("pods", "default/b")
            kube_api.fault("silent,verb=get")
            request = asyncio.create_task(client.get("pods", "default/a"))
            await asyncio.to_thread(kube_api.wait_for_requests, verb="get", name="a")
            request.cancel()
            with pytest.raises(asyncio.CancelledError):
                await request
            await client.delete("pods", "default/a", seen_by=pods)
            assert len(pods) == 0 and pods._factory._operations == set()

    run(main)


def test_a_cancelled_wait_leaves_nothing_behind(kube_api):
    kube_api.fault("status,code=503,verb=list+watch,resource=pods")

    async def main():
        async with pods_of(kube_api) as pods:
            waits = [
                pods.wait_for_sync(),
                pods.wait_for_version("1000000"),
                pods.wait_for_deletion("default/a"),
                pods.get_or_fetch("default/a"),
            ]
            tasks = [asyncio.create_task(wait) for wait in waits]
            await asyncio.wait(tasks[:1], timeout=0.01)
            for task in tasks:
                task.cancel()
            for task in tasks:
                with contextlib.suppress(kinformer.Error):  # one may have ended before
                    with pytest.raises(asyncio.CancelledError):
                        await task
                        raise asyncio.CancelledError  # it had ended with a result
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(pods.wait_for_sync(), 0.01)
            kube_api.reset()
            await pods.wait_for_sync(timeout=LIMIT)
            assert pods._factory._operations == set()

    run(main)


def test_a_cancelled_iteration_goes_on_where_it_was(kube_api):
    async def main():
        async with pods_of(kube_api) as pods:
            events = pods.events()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(events.__anext__(), 0.01)
            for name in "a", "b":
                kube_api.create("pods", {**POD, "metadata": {"name": name}})
            assert [(await events.__anext__()).key for _ in range(2)] == ["default/a", "default/b"]

    run(main)


def test_an_iterator_that_nobody_has_is_removed(kube_api):
    kube_api.create("pods", POD)

    async def main():
        async with pods_of(kube_api) as pods:
            async for event in pods.events():
                break
            async with pods.events() as events:
                await events.__anext__()
            with pytest.raises(StopAsyncIteration):
                await events.__anext__()
            del events
            gc.collect()
            await pods.wait_for_sync(timeout=LIMIT)
            assert pods._factory._buffers == set() and pods._registrations == set()

    run(main)


def test_several_iterators_have_all_events_each(kube_api):
    async def main():
        async with pods_of(kube_api) as pods:
            first, second = pods.events(), pods.events()
            kube_api.create("pods", POD)
            one, other = await asyncio.gather(first.__anext__(), second.__anext__())
            assert one.key == other.key == "default/a"

    run(main)


def test_closing_ends_iterators_and_waits(kube_api):
    kube_api.fault("status,code=503,resource=pods")

    async def main():
        async def iterate():
            return [event.key async for event in pods.events()]

        async with pods_of(kube_api) as pods:
            iteration = asyncio.create_task(iterate())
            wait = asyncio.create_task(pods.wait_for_sync())
            await asyncio.wait([iteration], timeout=0.01)
            factory = pods._factory
        assert await iteration == []
        with pytest.raises(kinformer.Cancelled):
            await wait
        await factory.aclose()
        for use in factory.start, pods.events, lambda: len(pods), lambda: factory.informer("pods"):
            with pytest.raises(kinformer.StateError):
                use()
        for use in pods.wait_for_sync, factory.__aenter__:
            with pytest.raises(kinformer.StateError):
                await use()

    run(main)


def test_more_events_than_may_wait_end_the_iterator(kube_api, monkeypatch):
    monkeypatch.setattr(kinformer.aio, "EVENTS_MAX", 2)
    for name in "a", "b", "c":
        kube_api.create("pods", {**POD, "metadata": {"name": name}})

    async def main():
        async with pods_of(kube_api) as pods:
            events = pods.events()
            await pods.wait_for_sync(timeout=LIMIT)
            await pods.wait_for_version(kube_api.get("pods", "c")["metadata"]["resourceVersion"], timeout=LIMIT)
            seen = []
            with pytest.raises(kinformer.LimitExceeded, match="2 events of pods in all namespaces wait"):
                async for event in events:
                    seen.append(event.key)
            assert seen == ["default/a", "default/b"]

    run(main)


def test_an_exception_in_a_handler_is_logged_and_counted_and_the_next_event_comes(kube_api, caplog):
    async def main():
        async with pods_of(kube_api) as pods:

            @pods.on_add
            def fail(event):
                raise RuntimeError(f"no place for {event.key}")

            events = pods.events()
            for name in "a", "b":
                kube_api.create("pods", {**POD, "metadata": {"name": name}})
            assert [(await events.__anext__()).key for _ in range(2)] == ["default/a", "default/b"]
            assert pods.handler_errors == 2
        assert "no place for default/b" in caplog.text

    run(main)


USES = {
    "handler": lambda factory, function: factory.informer("pods").on_add(function),
    "transform": lambda factory, function: factory.informer("pods", transform=function),
    "elector": lambda factory, function: factory.elector("lease").on_started_leading(function),
}


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("use", USES)
def test_an_exit_in_a_function_of_the_program_ends_it_as_elsewhere_on_the_event_loop(kube_api, use, kind):
    kube_api.create("pods", POD)
    factories = []

    def leave(*arguments):
        raise kind(3)

    async def main():
        async with kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
            factories.append(factory)
            USES[use](factory, leave)
            factory.start()
            await asyncio.Event().wait()

    with pytest.raises(kind, match="3"):
        asyncio.run(asyncio.wait_for(main(), LIMIT))
    with pytest.raises(kinformer.StateError, match="closed"):
        factories[0].informer("pods")


def test_a_coroutine_is_no_handler(kube_api):
    async def main():
        async with pods_of(kube_api) as pods:

            async def handler(event):
                pass

            with pytest.raises(TypeError, match="events()"):
                pods.on_add(handler)

    run(main)


def test_a_factory_belongs_to_the_loop_of_its_start(kube_api):
    factory = kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig)
    pods = factory.informer("pods")
    with pytest.raises(RuntimeError, match="no running event loop"):
        factory.start()
    loop = asyncio.new_event_loop()

    async def start():
        factory.start()
        await pods.wait_for_sync(timeout=LIMIT)

    loop.run_until_complete(start())

    async def elsewhere():
        with pytest.raises(kinformer.StateError, match="another one|belongs to"):
            factory.start()
        for use in pods.wait_for_sync, factory.aclose:
            with pytest.raises(kinformer.StateError, match="belongs to"):
                await use()

    asyncio.run(elsewhere())
    assert len(pods) == 0
    loop.run_until_complete(factory.aclose())
    loop.close()


def test_a_factory_whose_loop_was_closed_can_be_closed_and_does_nothing(kube_api):
    factory = kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig)
    pods = factory.informer("pods")
    kept = []

    async def start():
        factory.start()
        await pods.wait_for_sync(timeout=LIMIT)
        kept.append(pods.events())
        kept.append(asyncio.create_task(pods.wait_for_version("1000000")))

    asyncio.run(start())  # cancels the task, and closes the loop
    kube_api.create("pods", POD)
    assert kept[1].cancelled() and len(pods) == 0
    asyncio.run(factory.aclose())
    with pytest.raises(kinformer.StateError):
        len(pods)


def test_a_task_that_is_cancelled_while_it_closes_leaves_a_closed_factory(kube_api):
    async def main():
        factory = kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig)
        factory.informer("pods")
        factory.start()
        closing = asyncio.create_task(factory.aclose())
        await asyncio.wait([closing], timeout=0)
        closing.cancel()
        await asyncio.wait([closing])
        with pytest.raises(kinformer.StateError):
            factory.start()

    run(main)


def test_an_unstarted_factory_says_so(kube_api):
    async def main():
        async with kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
            pods = factory.informer("pods")
            events = pods.events()
            with pytest.raises(kinformer.StateError, match="start"):
                await pods.wait_for_sync()
            with pytest.raises(TypeError):
                await factory.wait_for_sync(timeout="1")
        with pytest.raises(StopAsyncIteration):
            await events.__anext__()

    run(main)


def test_informers_follow_faults(kube_api):
    async def main():
        async with pods_of(kube_api) as pods:
            await pods.wait_for_sync(timeout=LIMIT)
            kube_api.fault("status,code=500,verb=watch+list,resource=pods,count=2")
            kube_api.cut_watches()
            version = kube_api.create("pods", POD)["metadata"]["resourceVersion"]
            await pods.wait_for_version(version, timeout=LIMIT)
            assert list(pods) == ["default/a"]

    run(main)


def test_a_process_that_forgets_to_close_ends(kube_api):
    program = """
import asyncio, sys, kinformer.aio
async def main():
    global factory, pods, events
    factory = kinformer.aio.Factory.from_kubeconfig(sys.argv[1])
    pods = factory.informer("pods")
    events = pods.events()
    factory.start()
    await pods.wait_for_sync(timeout=30)
asyncio.run(main())
print("end")
"""
    command = [sys.executable, "-c", program, kube_api.kubeconfig]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "end\n")


@pytest.mark.parametrize(
    ("owner", "name", "wait"),
    [
        ("operation.Operation", "end", lambda factory, pods: pods.wait_for_sync()),
        ("client.Listing", "__init__", lambda factory, pods: factory.client.list("pods")),
        ("handler.Event", "__init__", lambda factory, pods: anext(pods.events())),
    ],
)
def test_ctrl_c_in_a_call_of_the_library_ends_the_loop(kube_api, owner, name, wait, monkeypatch):
    """Where SIGINT raises KeyboardInterrupt: before Python 3.11, and in loops that asyncio.run() did not make."""
    kube_api.create("pods", POD)
    place = operator.attrgetter(owner)(kinformer)
    real = getattr(place, name)

    def interrupt(*arguments):
        monkeypatch.setattr(place, name, real)
        raise KeyboardInterrupt

    async def main():
        async with kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
            pods = factory.informer("pods")
            factory.start()
            await pods.wait_for_sync(timeout=LIMIT)
            monkeypatch.setattr(place, name, interrupt)
            await asyncio.wait_for(wait(factory, pods), LIMIT)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
