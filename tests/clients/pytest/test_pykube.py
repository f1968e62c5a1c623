"""pykube-ng, tested with the fixture kube_api."""

import pykube
import pytest
from pykube import ConfigMap, Deployment, Node, Pod
from pykube.exceptions import HTTPError, ObjectDoesNotExist


def client(user):
    return pykube.HTTPClient(pykube.KubeConfig.from_file(user.kubeconfig))


@pytest.fixture
def api(kube_api):
    kube_api.load("fleet.yaml")
    return client(kube_api)


def config(api, name):
    return ConfigMap(api, {"metadata": {"name": name, "namespace": "shop"}, "data": {"k": "v"}})


def test_pods_are_found_by_labels_fields_and_name(api):
    pods = Pod.objects(api).filter(namespace="shop")
    assert [pod.name for pod in pods.filter(selector={"app__in": {"cart", "till"}})] == ["cart-1", "cart-2"]
    assert [pod.name for pod in pods.filter(field_selector={"status.phase": "Failed"})] == ["cart-2"]
    assert pods.get_by_name("cart-1").obj["spec"]["nodeName"] == "n1"
    with pytest.raises(ObjectDoesNotExist):
        pods.get_by_name("nothing")


def test_a_table_has_the_columns_of_kubectl(api):
    table = Pod.objects(api).filter(namespace="shop").as_table()
    assert [column["name"] for column in table.columns][:3] == ["Name", "Ready", "Status"]
    assert [row["cells"][:3] for row in table.rows] == [["cart-1", "0/1", "Running"], ["cart-2", "0/1", "Failed"]]


def test_an_object_is_created_updated_and_deleted(kube_api, api):
    one = config(api, "one")
    one.create()
    one.labels["tier"] = "web"
    one.obj["data"]["k"] = "w"
    one.update()
    kept = kube_api.get("configmaps", "one", "shop")
    assert (kept["metadata"]["labels"], kept["data"]) == ({"tier": "web"}, {"k": "w"})
    with pytest.raises(HTTPError, match='configmaps "one" already exists'):
        config(api, "one").create()
    one.delete()
    assert not one.exists()


def test_an_update_of_an_old_version_is_a_conflict(kube_api, api):
    settings = ConfigMap.objects(api).filter(namespace="shop").get(name="settings")
    kube_api.patch("configmaps", "settings", {"data": {"colour": "blue"}}, "shop")
    settings.obj["data"]["colour"] = "green"
    with pytest.raises(HTTPError) as failure:
        settings.update()
    assert failure.value.code == 409


def test_a_deployment_is_scaled_and_a_node_cordoned(kube_api, api):
    Deployment.objects(api).filter(namespace="shop").get(name="cart").scale(7)
    assert kube_api.get("deploy", "cart", "shop")["spec"]["replicas"] == 7
    kube_api.create("nodes", {"metadata": {"name": "n3"}})  # with the empty spec of a request, which a loaded node lacks
    Node.objects(api).get(name="n3").cordon()
    assert kube_api.get("nodes", "n3")["spec"]["unschedulable"] is True


def test_a_custom_resource_is_found_by_discovery(kube_api, api):
    orders = pykube.object_factory(api, "shop.example.com/v1", "Order").objects(api)
    order = orders.filter(namespace="shop").get(name="first")
    order.patch({"status": {"phase": "Accepted"}}, subresource="status")
    assert kube_api.get("orders.shop.example.com", "first", "shop")["status"] == {"phase": "Accepted"}


def test_a_watch_gives_what_comes_after_its_list(kube_api, api):
    watch = Pod.objects(api).filter(namespace="shop").watch(since=pykube.now)
    kube_api.delete("pods", "cart-1", "shop")
    seen = []
    for event in watch:
        seen.append((event.type, event.object.name))
        kube_api.close_watches()
    assert seen == [("DELETED", "cart-1")]


def test_a_user_without_permission_gets_403(kube_api, api):
    as_jane = client(kube_api.user("jane", allow="pods:list"))
    assert len(Pod.objects(as_jane).filter(namespace=pykube.all)) == 2
    with pytest.raises(HTTPError, match='User "jane" cannot create') as failure:
        config(as_jane, "one").create()
    assert failure.value.code == 403
