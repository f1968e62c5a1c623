"""A program that follows pods with the official client, tested with pytest and the fixture kube_api, without a sleep."""

import queue
import threading

import pytest
from kubernetes import client, config, watch


class Follower(threading.Thread):
    """The program under test: lists the pods, then watches them, and puts each into `seen` as (name, phase)."""

    def __init__(self, kubeconfig):
        super().__init__(daemon=True)
        self.core = client.CoreV1Api(config.new_client_from_config(kubeconfig))
        self.seen, self.known = queue.Queue(), {}
        self.stopped, self.watch = threading.Event(), watch.Watch()
        self.start()

    def run(self):
        while not self.stopped.is_set():
            try:
                pods = self.core.list_namespaced_pod("shop")
                for pod in pods.items:
                    self.note(pod)
                version = pods.metadata.resource_version
                for event in self.watch.stream(self.core.list_namespaced_pod, "shop", resource_version=version):
                    self.note(event["object"])
            except Exception:
                self.stopped.wait(0.1)

    def note(self, pod):
        if self.known.get(pod.metadata.name) != pod.status.phase:
            self.known[pod.metadata.name] = pod.status.phase
            self.seen.put((pod.metadata.name, pod.status.phase))

    def stop(self):
        self.stopped.set()
        self.watch.stop()


@pytest.fixture
def follower(kube_api):
    kube_api.load("../pods.yaml")
    follower = Follower(kube_api.kubeconfig)
    assert [follower.seen.get(timeout=30) for _ in range(2)] == [("cart-1", "Pending"), ("cart-2", "Running")]
    kube_api.wait_for_watches("pods")
    yield follower
    kube_api.wait_for_watches("pods")
    follower.stop()
    kube_api.close_watches()
    follower.join()


def test_a_start_is_seen(kube_api, follower):
    kube_api.patch("pods", "cart-1", {"status": {"phase": "Running"}}, namespace="shop")
    assert follower.seen.get(timeout=30) == ("cart-1", "Running")


def test_a_start_is_seen_though_the_watch_ends_and_the_server_fails_twice(kube_api, follower):
    fault = kube_api.fault("status,code=500,verb=list+watch,resource=pods,count=2")
    kube_api.close_watches()
    fault.wait(2)
    kube_api.patch("pods", "cart-1", {"status": {"phase": "Running"}}, namespace="shop")
    assert follower.seen.get(timeout=30) == ("cart-1", "Running")
    assert [request.status for request in kube_api.requests(verb="list+watch", resource="pods")].count(500) == 2


def test_a_user_may_do_what_was_allowed(kube_api):
    kube_api.load("../pods.yaml")
    jane = kube_api.user("jane", allow="pods:get,list")
    core = client.CoreV1Api(config.new_client_from_config(jane.kubeconfig))
    assert len(core.list_namespaced_pod("shop").items) == 2
    with pytest.raises(client.ApiException, match='User .*"jane.*" cannot delete'):
        core.delete_namespaced_pod("cart-1", "shop")
