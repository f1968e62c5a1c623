"""The table of a real kube-apiserver: the program of tests/e2e with its etcd, over TLS and HTTP/2, and a writer that patches pods."""

import http.client
import json
import os
import subprocess
import ssl
import threading
import time
import urllib.request

import measure
import subjects
import tables
from subjects import in_rounds, settled, sync

COLUMNS = [
    "client-go typed",
    "client-go typed, JSON",
    "client-go metadata",
    "kube typed",
    "kube metadata",
    "kinformer",
    "kinformer, on the loop",
    "kinformer, every 50 ms",
    "kinformer metadata",
    "kinformer view",
    "curl",
]
ROWS = [
    ("CPU", "CPU time of a change", "us"),
    ("above", "CPU time of a change, above curl's", "us"),
    ("waits", "voluntary context switches of a change", ""),
    ("calls", "system calls of a change", ""),
    ("resident", "resident after the changes", "MB"),
    ("settled", "resident, once free memory is returned", "MB"),
    ("sync CPU", "first list: CPU time", "s"),
    ("sync peak", "first list: peak resident", "MB"),
    ("rate", "changes a second that the writer made", "n"),
]
PODS = 1000
PER_SECOND = 450
SECONDS = 4  # if the machine can make so many changes; otherwise it takes longer
COUNTED_SECONDS = 1  # while system calls are counted
WRITERS = 4
STAMP = "bench/changed-at-ns"
SERVER_START_S = 150


def apiserver():
    """Returns the kube-apiserver of tests/e2e, which is built if it has not been built."""
    program = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kinformer-e2e/bin/apiserver")
    built = subprocess.run([f"{subjects.HERE}/../../tests/e2e/run", "--reference", "--list"], stdout=subprocess.DEVNULL, check=False)
    if built.returncode != 0:
        raise measure.Failure("there is no kube-apiserver: tests/e2e builds it, and needs Go 1.26 or later")
    return program


class Writer:
    """Requests of several threads, each with its connection."""

    def __init__(self, folder, url):
        self.address = url.removeprefix("https://")
        self.tls = ssl.create_default_context(cafile=f"{folder}/ca.crt")
        self.tls.load_cert_chain(f"{folder}/admin.crt", f"{folder}/admin.key")
        self.local = threading.local()
        self.pods = []

    def request(self, method, path, body, kind="application/json"):
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPSConnection(self.address, context=self.tls)
        self.local.connection.request(method, path, body and json.dumps(body), {"Content-Type": kind})
        response = self.local.connection.getresponse()
        text = response.read()
        if response.status >= 300:
            raise measure.Failure(f"{method} {path}: {text.decode()[:300]}")
        return text

    def in_threads(self, count, work):
        """Calls work(0) to work(count - 1), spread over the threads."""
        failures = []

        def run(first):
            try:
                for number in range(first, count, WRITERS):
                    work(number)
            except (measure.Failure, OSError, http.client.HTTPException) as failure:
                failures.append(failure)

        threads = [threading.Thread(target=run, args=(first,)) for first in range(WRITERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise measure.Failure(str(failures[0]))

    def create(self, pods):
        """Creates the pods as their controller does, then writes their status as the kubelet does."""
        for namespace in sorted({pod["metadata"]["namespace"] for pod in pods} - {"default", "kube-system"}):
            self.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        self.in_threads(len(pods), lambda number: self.create_one(pods[number]))
        self.pods = [f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}" for pod in pods]

    def create_one(self, pod):
        status, given = pod["status"], pod["metadata"]
        metadata = {name: given[name] for name in ("name", "namespace", "labels", "annotations", "ownerReferences") if name in given}
        path = f"/api/v1/namespaces/{given['namespace']}/pods"
        self.request("POST", f"{path}?fieldManager=controller", {"metadata": metadata, "spec": pod["spec"]})
        self.patch(f"{path}/{given['name']}/status?fieldManager=kubelet", {"status": status})

    def patch(self, path, body):
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def change(self, seconds):
        """Patches the pods in turn. Returns the changes that were made a second."""
        begin = time.monotonic()

        def change_one(number):
            time.sleep(max(0, begin + number / PER_SECOND - time.monotonic()))
            body = {"metadata": {"annotations": {STAMP: str(time.time_ns())}}}
            self.patch(self.pods[number % len(self.pods)], body)

        self.in_threads(PER_SECOND * seconds, change_one)
        return PER_SECOND * seconds / (time.monotonic() - begin)


def pods_of_the_load(programs):
    with programs.server(PODS) as server:
        with urllib.request.urlopen(f"{subjects.served(server)[0]}/api/v1/pods") as response:
            return json.load(response)["items"]


def measure_one(programs, subject, server, writer, folder):
    config = f"{folder}/apiserver/kubeconfig-admin"
    with programs.start(subject, config) as process:
        rows = sync(process, server)
        changes = PER_SECOND * SECONDS
        process.ask(f"expect {changes}", "expecting")
        cpu, waits = process.cpu(), process.waits()
        rows["rate"] = writer.change(SECONDS)
        process.line()
        rows["CPU"] = (process.cpu() - cpu) / changes
        rows["waits"] = (process.waits() - waits) / changes
        rows["resident"] = process.memory()[0]
        changes = PER_SECOND * COUNTED_SECONDS
        process.ask(f"expect {changes}", "expecting")
        calls = measure.Calls(process, f"{folder}/calls")
        writer.change(COUNTED_SECONDS)
        process.line()
        rows["names"] = {name: count / changes for name, count in calls.end().items()}
        rows["calls"] = sum(rows["names"].values())
        rows["settled"] = settled(process)[0]
    return rows


def measure_curl(writer, folder):
    """curl, which only reads the watch: the least that a client with libcurl can take."""
    files = f"{folder}/apiserver"
    names = {"--cacert": "ca.crt", "--cert": "admin.crt", "--key": "admin.key"}
    given = [word for option, name in names.items() for word in (option, f"{files}/{name}")]
    url = f"https://{writer.address}/api/v1/pods?watch=1"
    with measure.Process("curl", "--silent", "--no-buffer", "--http2", *given, "--output", "/dev/null", url) as process:
        changes = PER_SECOND * SECONDS
        writer.change(COUNTED_SECONDS)  # the first answer has all pods
        settled_at = idle(process)
        rows = {"rate": writer.change(SECONDS)}
        rows["CPU"] = (idle(process) - settled_at) / changes
        process.popen.terminate()
    return rows


def above_curl(results):
    """Adds what each program takes above what reading the bytes takes. Less than nothing: it reads several changes at once."""
    curl = results.get("curl")
    for rows in results.values():
        if curl and rows is not curl:
            rows["above"] = rows["CPU"] - curl["CPU"]
    return results


def idle(process):
    """Returns the CPU time of a process once it uses no more."""
    before = -1
    while process.cpu() != before:
        before = process.cpu()
        time.sleep(0.5)
    return before


def tables_of(programs, options, folder):
    program = apiserver()
    pods = pods_of_the_load(programs)
    chosen = [subject for subject in COLUMNS if options.only in subject or subject == "curl"]
    with measure.Process(program, "--dir", f"{folder}/apiserver", log=f"{folder}/apiserver.log") as server:
        ready = server.line(SERVER_START_S).split()
        try:
            writer = Writer(f"{folder}/apiserver", ready[1])
            writer.create(pods)
            size = len(writer.request("GET", "/api/v1/pods", None)) / PODS
            rounds = in_rounds(
                programs, chosen, options.rounds, lambda subject: measure_curl(writer, folder) if subject == "curl" else measure_one(programs, subject, server, writer, folder)
            )
        finally:
            server.popen.terminate()
    results = above_curl(tables.medians(rounds))
    text = [
        f"kube-apiserver {measure.version(subjects.HERE + '/../../tests/e2e/go.mod', 'k8s.io/kubernetes')} with etcd, TLS, HTTP/2:"
        f" {PODS:,} pods of {size / 1000:.1f} KB JSON, up to {PER_SECOND} changes a second; {tables.rounds_of(rounds)}."
        " client-go asks for protobuf, its default, where the column does not say JSON. The writer and the server run on the same CPUs."
        " kinformer, every 50 ms: watch_read_interval_ms, with the handler on the loop."
        " curl only reads the bytes of the watch.",
        tables.table(
            COLUMNS,
            ROWS,
            results,
            [("client-go typed", "kinformer"), ("client-go typed", "kinformer, every 50 ms"), ("client-go typed, JSON", "kinformer"), ("kube typed", "kinformer")],
        ),
    ]
    for subject in ("kinformer", "kinformer, on the loop"):
        if subject in rounds:
            text.append(f"System calls of a change, {subject}: {tables.calls(rounds[subject])}.")
    return "\n\n".join(text)
