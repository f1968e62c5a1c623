"""fleet.py, tested with the fixture kube_api: no sleep, and no test tries again."""

import pytest
from fleet import Fleet, Follower, TooManyConflicts
from kubernetes import config
from kubernetes.client.exceptions import ApiException

LIMIT = 30  # seconds for what comes at once


@pytest.fixture
def fleet(kube_api, api):
    kube_api.load("fleet.yaml")
    return Fleet(api)


@pytest.fixture
def follower(kube_api, fleet, api):
    follower = Follower(api, "shop")
    kube_api.wait_for_watches("pods")
    yield follower
    kube_api.wait_for_watches("pods")
    follower.stop()
    kube_api.close_watches()
    follower.join()


def changes(follower, count):
    return {follower.changes.get(timeout=LIMIT) for _ in range(count)}


def fleet_of(user):
    return Fleet(config.new_client_from_config(user.kubeconfig))


# ---- what it reads ----


def test_failed_pods_are_found(fleet):
    assert fleet.failed_pods("shop") == ["cart-2"]
    assert fleet.failed_pods("default") == []


def test_pods_are_read_in_pages(kube_api, fleet):
    assert fleet.all_pods(page=1) == ["cart-1", "cart-2"]
    assert len(kube_api.requests(verb="list", resource="pods")) == 2


def test_a_list_that_becomes_too_old_is_begun_again(kube_api, fleet):
    expired = kube_api.fault("status,code=410,verb=list,resource=pods,path=*,n=2")
    assert fleet.all_pods(page=1) == ["cart-1", "cart-2"]
    assert expired.injected == 1
    assert len(kube_api.requests(verb="list", resource="pods")) == 4


def test_a_server_that_fails_is_an_exception(kube_api, fleet):
    kube_api.fault("status,code=500,verb=list,count=1")
    with pytest.raises(ApiException, match="500"):
        fleet.failed_pods("shop")
    assert fleet.failed_pods("shop") == ["cart-2"]


# ---- what it writes ----


def test_a_namespace_is_created_once(kube_api, fleet):
    assert fleet.ensure_namespace("market")
    assert not fleet.ensure_namespace("market")
    assert [request.status for request in kube_api.requests(verb="create")] == [201, 409]


def test_scaling_changes_the_replicas_only(kube_api, fleet):
    before = kube_api.get("deploy", "cart", "shop")["spec"]
    fleet.scale("shop", "cart", 5)
    assert kube_api.get("deploy", "cart", "shop")["spec"] == before | {"replicas": 5}
    (request,) = kube_api.requests(verb="patch")
    assert (request.resource, request.body) == ("deployments.apps/scale", {"spec": {"replicas": 5}})


def test_scaling_what_does_not_exist_is_an_exception(fleet):
    with pytest.raises(ApiException) as failure:
        fleet.scale("shop", "nothing", 5)
    assert failure.value.status == 404


def test_a_restart_annotates_the_template(kube_api, fleet):
    fleet.restart("shop", "cart", "2026-11-30T12:00:00Z")
    template = kube_api.get("deploy", "cart", "shop")["spec"]["template"]
    assert template["metadata"]["annotations"] == {"kubectl.kubernetes.io/restartedAt": "2026-11-30T12:00:00Z"}
    assert template["spec"]["containers"][0]["image"] == "cart:1"


def test_a_setting_is_changed_and_the_others_stay(kube_api, fleet):
    fleet.set_config("shop", "settings", colour="blue")
    assert kube_api.get("configmaps", "settings", "shop")["data"] == {"colour": "blue", "currency": "EUR"}


def test_a_conflict_is_tried_again(kube_api, fleet):
    conflict = kube_api.fault("status,code=409,verb=update,resource=configmaps,count=2")
    fleet.set_config("shop", "settings", colour="blue")
    assert conflict.injected == 2
    assert kube_api.get("configmaps", "settings", "shop")["data"]["colour"] == "blue"


def test_too_many_conflicts_are_an_exception(kube_api, fleet):
    kube_api.fault("status,code=409,verb=update,resource=configmaps")
    with pytest.raises(TooManyConflicts):
        fleet.set_config("shop", "settings", colour="blue")
    assert len(kube_api.requests(verb="update")) == 5
    assert kube_api.get("configmaps", "settings", "shop")["data"]["colour"] == "red"


def test_a_drained_node_takes_no_pods_and_has_none(kube_api, fleet):
    fleet.drain("n1")
    assert kube_api.get("nodes", "n1")["spec"]["unschedulable"] is True
    assert [pod["metadata"]["name"] for pod in kube_api.list("pods")] == ["cart-2"]
    assert not kube_api.get("nodes", "n2").get("spec", {}).get("unschedulable")


def test_orders_are_accepted_once(kube_api, fleet):
    assert fleet.accept_orders("shop") == ["first"]
    assert kube_api.get("orders.shop.example.com", "first", "shop")["status"] == {"phase": "Accepted"}
    assert fleet.accept_orders("shop") == []


# ---- as another user ----


def test_a_reader_may_list_and_not_change(kube_api, fleet):
    jane = fleet_of(kube_api.user("jane", allow="pods:get,list"))
    assert jane.failed_pods("shop") == ["cart-2"]
    with pytest.raises(ApiException) as failure:
        jane.scale("shop", "cart", 0)
    assert failure.value.status == 403 and 'User \\"jane\\" cannot patch' in failure.value.body
    assert kube_api.get("deploy", "cart", "shop")["spec"]["replicas"] == 2


def test_it_knows_what_it_may_do(kube_api, fleet):
    robot = fleet_of(kube_api.user("robot", ["pods:delete", "selfsubjectaccessreviews.authorization.k8s.io:create"]))
    assert robot.may("delete", "pods", "shop")
    assert not robot.may("delete", "nodes", "shop")


def test_a_revoked_token_is_an_exception(kube_api, fleet):
    jane = kube_api.user("jane", allow="pods:list")
    reader = fleet_of(jane)
    reader.all_pods()
    jane.revoke()
    with pytest.raises(ApiException) as failure:
        reader.all_pods()
    assert failure.value.status == 401


# ---- what it follows ----


def test_the_pods_of_the_start_are_seen(follower):
    assert changes(follower, 2) == {("cart-1", "Running"), ("cart-2", "Failed")}


def test_changes_are_seen_as_they_come(kube_api, follower):
    changes(follower, 2)
    kube_api.patch("pods", "cart-2", {"status": {"phase": "Running"}}, "shop")
    kube_api.delete("pods", "cart-1", "shop")
    assert [follower.changes.get(timeout=LIMIT) for _ in range(2)] == [("cart-2", "Running"), ("cart-1", None)]


def test_a_change_is_seen_though_the_watch_is_cut_and_lists_fail(kube_api, follower):
    changes(follower, 2)
    fault = kube_api.fault("status,code=500,verb=list,resource=pods,count=3")
    kube_api.cut_watches()
    fault.wait(3)
    kube_api.patch("pods", "cart-2", {"status": {"phase": "Running"}}, "shop")
    assert changes(follower, 1) == {("cart-2", "Running")}


def test_a_deletion_is_seen_though_the_history_is_gone(kube_api, follower):
    changes(follower, 2)
    held = kube_api.fault("status,code=503,verb=list+watch,resource=pods")
    kube_api.close_watches()
    held.wait()
    kube_api.delete("pods", "cart-1", "shop")
    kube_api.compact()
    held.remove()
    assert changes(follower, 1) == {("cart-1", None)}


def test_a_server_that_comes_back_from_a_backup_is_believed(kube_api, follower):
    changes(follower, 2)
    kube_api.restore()
    assert changes(follower, 2) == {("cart-1", None), ("cart-2", None)}
