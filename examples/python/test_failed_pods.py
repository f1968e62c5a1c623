"""failed_pods.py, tested with pytest: the fixture kube_api is an API server. No test sleeps."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import kinformer.aio
from failed_pods import failed_pods

POD = """
apiVersion: v1
kind: Pod
metadata: {name: cart-1, namespace: shop}
spec: {containers: [{name: cart, image: "cart:1"}]}
status: {phase: Running}
"""


def test_the_program_prints_what_fails(kube_api, monkeypatch):
    kube_api.put(POD, POD.replace("cart-1", "cart-2"))
    monkeypatch.setenv("KUBECONFIG", kube_api.kubeconfig)
    command = [sys.executable, Path(__file__).with_name("failed_pods.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as program:
        kube_api.wait_for_watches("pods", timeout=60)
        kube_api.patch("pods", "cart-2", {"status": {"phase": "Failed"}}, namespace="shop")
        assert program.stdout.readline() == "shop/cart-2\n"
        program.send_signal(signal.SIGINT)


def test_a_failure_is_told_though_the_watch_is_cut_and_the_server_fails(kube_api):
    kube_api.put(POD)

    async def follow():
        async with kinformer.aio.Factory.from_kubeconfig(kube_api.kubeconfig) as factory:
            told = asyncio.ensure_future(anext(failed_pods(factory)))
            await asyncio.to_thread(kube_api.wait_for_watches, "pods")   # the loop goes on meanwhile
            kube_api.fault("status,code=500,verb=list+watch,resource=pods,count=2")
            kube_api.cut_watches()
            kube_api.patch("pods", "cart-1", {"status": {"phase": "Failed"}}, namespace="shop")
            return await asyncio.wait_for(told, 30)

    assert asyncio.run(follow()) == "shop/cart-1"
