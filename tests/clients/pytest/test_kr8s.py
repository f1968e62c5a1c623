"""kr8s, tested with the fixture kube_api: it finds resources by discovery, lists in pages of 100, and has a watch loop of its own."""

import asyncio

import kr8s
import pytest
from kr8s.asyncio.objects import ConfigMap, Pod

LIMIT = 30  # seconds for what comes at once

pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version .* is not supported")  # kr8s lags behind Kubernetes


def run(steps, kube_api):
    """Runs a test's coroutine with a client of its own, as the administrator."""

    async def main():
        await steps(await kr8s.asyncio.api(kubeconfig=kube_api.kubeconfig))

    kube_api.load("fleet.yaml")
    asyncio.run(asyncio.wait_for(main(), 2 * LIMIT))


async def names(objects):
    return [obj.name async for obj in objects]


def config(name, api):
    return ConfigMap({"metadata": {"name": name, "namespace": "shop"}, "data": {"k": "v"}}, api=api)


def test_resources_are_found_by_short_names_and_groups(kube_api):
    async def steps(api):
        assert await names(api.get("po", namespace="shop", label_selector={"app": "cart"})) == ["cart-1", "cart-2"]
        assert await names(api.get("pods", "cart-2", namespace=kr8s.ALL)) == ["cart-2"]
        assert await names(api.get("deployment.apps", namespace="shop")) == ["cart"]
        assert await names(api.get("orders.shop.example.com", namespace="shop")) == ["first", "second"]
        with pytest.raises(ValueError, match="Kind gizmos not found"):
            await names(api.get("gizmos"))

    run(steps, kube_api)


def test_a_list_of_250_has_three_pages(kube_api):
    async def steps(api):
        kube_api.put(*({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"s{i:03}"}} for i in range(250)))
        assert await names(api.get("secrets", namespace="default")) == [f"s{i:03}" for i in range(250)]
        assert len(kube_api.requests(verb="list", resource="secrets")) == 3

    run(steps, kube_api)


def test_an_object_is_created_patched_and_deleted(kube_api):
    async def steps(api):
        one = config("one", api)
        await one.create()
        await one.label(tier="web")
        await one.patch([{"op": "replace", "path": "/data/k", "value": "w"}], type="json")
        kept = kube_api.get("configmaps", "one", "shop")
        assert (kept["metadata"]["labels"], kept["data"]) == ({"tier": "web"}, {"k": "w"})
        await one.label("tier-")
        assert "labels" not in kube_api.get("configmaps", "one", "shop")["metadata"]
        with pytest.raises(kr8s.ServerError, match='configmaps "one" already exists'):
            await config("one", api).create()
        await one.delete()
        with pytest.raises(kr8s.NotFoundError):
            await one.refresh()

    run(steps, kube_api)


def test_a_status_and_a_scale_are_subresources(kube_api):
    async def steps(api):
        (order,) = [order async for order in api.get("orders.shop.example.com", "first", namespace="shop")]
        await order.patch({"status": {"phase": "Accepted"}}, subresource="status")
        assert kube_api.get("orders.shop.example.com", "first", "shop")["status"] == {"phase": "Accepted"}
        (deployment,) = [found async for found in api.get("deploy", "cart", namespace="shop")]
        await deployment.scale(7)
        assert kube_api.get("deploy", "cart", "shop")["spec"]["replicas"] == 7

    run(steps, kube_api)


def test_a_wait_ends_when_its_condition_is_true(kube_api):
    async def steps(api):
        (pod,) = [pod async for pod in api.get(Pod, "cart-1", namespace="shop")]
        ready = asyncio.create_task(pod.wait("condition=Ready", timeout=LIMIT))
        await asyncio.to_thread(kube_api.wait_for_watches, "pods")
        assert not ready.done()
        kube_api.patch("pods", "cart-1", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "shop")
        await ready
        deleted = asyncio.create_task(pod.wait("delete", timeout=LIMIT))
        await asyncio.to_thread(kube_api.wait_for_watches, "pods")
        kube_api.delete("pods", "cart-1", "shop")
        await deleted

    run(steps, kube_api)


def test_a_watch_begins_again_after_410_and_ends_when_it_is_closed(kube_api):
    async def steps(api):
        expired = kube_api.fault("error-event,code=410,event=3,verb=watch,resource=pods,count=1")
        seen = []
        async for operation, pod in api.watch("pods", namespace="shop"):
            seen.append((operation, pod.name))
            if len(seen) == 2:
                kube_api.delete("pods", "cart-1", "shop")
            if operation == "DELETED":
                kube_api.close_watches()
        assert seen == [("ADDED", "cart-1"), ("ADDED", "cart-2"), ("DELETED", "cart-1")]
        assert (expired.injected, len(kube_api.requests(verb="watch", resource="pods"))) == (1, 2)

    run(steps, kube_api)


def test_a_user_without_permission_gets_403(kube_api):
    async def steps(_):
        jane = kube_api.user("jane", ["pods:list", "tokenreviews.authentication.k8s.io:create"])
        api = await kr8s.asyncio.api(kubeconfig=jane.kubeconfig)
        assert await api.whoami() == "jane"
        assert await names(api.get("pods", namespace=kr8s.ALL)) == ["cart-1", "cart-2"]
        with pytest.raises(kr8s.ServerError, match='User "jane" cannot create'):
            await config("one", api).create()

    run(steps, kube_api)
