"""lightkube's clients, tested with the fixture kube_api."""

import asyncio

import lightkube
import pytest
from lightkube.core.exceptions import ApiError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Pod


@pytest.fixture
def client(kube_api):
    kube_api.load("fleet.yaml")
    return lightkube.Client(config=lightkube.KubeConfig.from_file(kube_api.kubeconfig))


def test_objects_are_listed_created_and_deleted(kube_api, client):
    assert [pod.metadata.name for pod in client.list(Pod, namespace="shop", labels={"app": "cart"})] == ["cart-1", "cart-2"]
    client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="shop"), data={"k": "v"}))
    assert kube_api.get("configmaps", "a", "shop")["data"] == {"k": "v"}
    client.delete(ConfigMap, "a", namespace="shop")
    with pytest.raises(ApiError) as failure:
        client.get(ConfigMap, "a", namespace="shop")
    assert failure.value.status.code == 404


def test_an_apply_records_its_manager(kube_api, client):
    config = ConfigMap(apiVersion="v1", kind="ConfigMap", metadata=ObjectMeta(name="a", namespace="shop"), data={"k": "v"})
    client.apply(config, field_manager="fleet")
    managers = kube_api.get("configmaps", "a", "shop")["metadata"]["managedFields"]
    assert [(entry["manager"], entry["operation"]) for entry in managers] == [("fleet", "Apply")]


def test_a_scale_is_a_subresource(kube_api, client):
    client.patch(Deployment.Scale, "cart", {"spec": {"replicas": 7}}, namespace="shop")
    assert kube_api.get("deploy", "cart", "shop")["spec"]["replicas"] == 7


def test_a_user_without_permission_gets_403(kube_api, client):
    jane = kube_api.user("jane", allow="pods:list")
    as_jane = lightkube.Client(config=lightkube.KubeConfig.from_file(jane.kubeconfig))
    assert len(list(as_jane.list(Pod, namespace="*"))) == 2
    with pytest.raises(ApiError, match='User "jane" cannot delete'):
        as_jane.delete(Pod, "cart-1", namespace="shop")


def test_a_watch_goes_on_after_it_was_closed(kube_api, client):
    async def follow():
        client = lightkube.AsyncClient(config=lightkube.KubeConfig.from_file(kube_api.kubeconfig))
        seen = []
        async for operation, pod in client.watch(Pod, namespace="shop", on_error=lambda *_: lightkube.core.client.WatchOnError.RETRY):
            seen.append((operation, pod.metadata.name))
            if len(seen) == 2:
                kube_api.close_watches()
                kube_api.delete("pods", "cart-1", "shop")
            if operation == "DELETED":
                return seen

    assert asyncio.run(asyncio.wait_for(follow(), 60))[-1] == ("DELETED", "cart-1")
