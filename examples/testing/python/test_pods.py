#!/usr/bin/env python3
"""A program that follows pods, tested against `kinformer serve`, without a sleep. Needs the standard library only."""
import http.client
import json
import pathlib
import queue
import socket
import subprocess
import threading
import unittest
import urllib.parse
import urllib.request

PODS = "/api/v1/namespaces/shop/pods"


class Follower(threading.Thread):
    """The program under test: lists the pods, then watches them, and puts each into `seen` as (name, phase)."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.address = urllib.parse.urlsplit(url).netloc
        self.seen, self.known, self.stopped = queue.Queue(), {}, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.is_set():
            self.connection = http.client.HTTPConnection(self.address)
            try:
                self.watch(self.list())
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                self.stopped.wait(1)
            self.connection.close()

    def get(self, path):
        self.connection.request("GET", path)
        return self.connection.getresponse()

    def list(self):
        pods = json.load(self.get(PODS))
        for pod in pods["items"]:
            self.note(pod)
        return pods["metadata"]["resourceVersion"]

    def watch(self, version):
        for line in self.get(f"{PODS}?watch=true&resourceVersion={version}"):
            event = json.loads(line)
            if event["type"] == "ERROR":
                return
            self.note(event["object"])

    def note(self, pod):
        name, phase = pod["metadata"]["name"], pod["status"]["phase"]
        if self.known.get(name) != phase:
            self.known[name] = phase
            self.seen.put((name, phase))

    def stop(self):
        self.stopped.set()
        self.connection.sock.shutdown(socket.SHUT_RDWR)  # ends its watch
        self.join()


class TestFollower(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        pods = pathlib.Path(__file__).parent.parent / "pods.yaml"
        cls.server = subprocess.Popen(["kinformer", "serve", "--until-eof", "--load", pods], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.url = cls.server.stdout.readline().split()[1]  # "serving http://127.0.0.1:41231"

    @classmethod
    def tearDownClass(cls):
        cls.server.communicate()  # closes its standard input, and waits

    def setUp(self):
        self.follower = Follower(self.url)
        self.assertEqual([self.see(), self.see()], [("cart-1", "Pending"), ("cart-2", "Running")])
        self.api("GET", "/_wait?watches=pods")

    def tearDown(self):
        self.follower.stop()
        self.api("GET", "/_wait?watches=pods&count=0")
        self.api("POST", "/_reset")

    def api(self, method, path, body="", kind="application/merge-patch+json"):
        request = urllib.request.Request(self.url + path, body.encode(), {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def see(self):
        return self.follower.seen.get(timeout=30)

    def set_phase(self, name, phase):
        self.api("PATCH", f"{PODS}/{name}/status", json.dumps({"status": {"phase": phase}}))

    def test_a_start_is_seen_though_the_watch_ends_and_the_server_fails_twice(self):
        fault = self.api("POST", "/_faults", "status,code=500,verb=list+watch,resource=pods,count=2")
        self.api("POST", "/_faults", "close-watches")
        self.api("GET", f"/_wait?fault={fault['id']}&count=2")
        self.set_phase("cart-1", "Running")
        self.assertEqual(self.see(), ("cart-1", "Running"))
        requests = self.api("GET", "/_requests?verb=list+watch&resource=pods")["requests"]
        self.assertEqual([r["status"] for r in requests].count(500), 2)

    def test_the_next_test_has_the_pods_of_the_start_and_no_faults(self):
        self.assertEqual(self.api("GET", "/_faults"), {"faults": []})
        self.set_phase("cart-2", "Failed")
        self.assertEqual(self.see(), ("cart-2", "Failed"))


if __name__ == "__main__":
    unittest.main()
