"""`kinformer top` in a real terminal: its screens at several sizes, its keys, and what it says when the cluster does not respond.

usage: top.py KINFORMER [--update]    --update writes the screens of screens/ anew

Ages, which the clock changes, are compared as "AGE". Ends with 77 (skipped) where no tmux is installed; ./dev test installs it.
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import shlex
import subprocess
import sys
import tempfile
import termios
import urllib.request

import terminal as terminals
from terminal import Terminal

PROGRAM = os.path.abspath(sys.argv[1])
UPDATES = "--update" in sys.argv
SCREENS = pathlib.Path(__file__).parent / "screens"
SIZES = [(80, 24), (120, 40), (300, 100), (20, 5)]
LONG_AGO = "2020-01-01T00:00:00Z"


# ---- the server ----


def pod(name, node="n1", phase="Running", ready=1, containers=1, restarts=0, waiting=None, owner=None):
    state = {"waiting": {"reason": waiting}} if waiting else {"running": {"startedAt": LONG_AGO}}
    metadata = {"name": name, "namespace": "shop", "creationTimestamp": LONG_AGO, "labels": {"app": name.partition("-")[0]}}
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
        metadata["labels"]["pod-template-hash"] = owner.rpartition("-")[2]
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"nodeName": node, "containers": [{"name": f"c{i}", "image": "web:1"} for i in range(containers)]},
        "status": {"phase": phase, "containerStatuses": [
            {"name": f"c{i}", "image": "web:1", "imageID": "", "ready": i < ready, "restartCount": restarts, "state": state}
            for i in range(containers)]},
    }


def node(name, ready="True"):
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "creationTimestamp": LONG_AGO},
            "status": {"nodeInfo": {"kubeletVersion": "v1.37.0"}, "conditions": [{"type": "Ready", "status": ready}]}}


def objects():
    pods = [pod(f"cart-7d9f-{i}", node=f"n{i % 3 + 1}", owner="cart-7d9f") for i in range(6)]
    pods += [pod("cart-7d9f-x", ready=1, containers=2, restarts=3, owner="cart-7d9f"),
             pod("db-0", node="n2", ready=0, waiting="CrashLoopBackOff", restarts=12), pod("db-1", phase="Pending", ready=0, waiting="ContainerCreating"),
             pod("web-with-a-name-that-is-longer-than-eighty-columns-have-room-for-1", node="n3")]
    replica_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
        "name": "cart-7d9f", "namespace": "shop", "uid": "cart-7d9f",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "cart", "uid": "cart", "controller": True}]}}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "db-0.1", "namespace": "shop"}, "type": "Warning", "reason": "BackOff",
             "involvedObject": {"kind": "Pod", "name": "db-0", "namespace": "shop"}, "message": "Back-off restarting failed container", "count": 12,
             "lastTimestamp": LONG_AGO}
    return {"apiVersion": "v1", "kind": "List", "items": pods + [node("n1"), node("n2"), node("n3", "False"), replica_set, event]}


class Server:
    """The embedded API server with these objects."""

    def __init__(self, *words):
        self.folder = tempfile.TemporaryDirectory(prefix="ki-top.")
        path = os.path.join(self.folder.name, "objects.json")
        with open(path, "w") as file:
            json.dump(objects(), file)
        self.process = subprocess.Popen([PROGRAM, "serve", "--load", path, "--until-eof", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().split()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.folder.cleanup()

    def end(self):
        self.process.stdin.close()
        self.process.wait()

    def send(self, method, path, value=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if value is None else json.dumps(value).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)) as response:
            return json.load(response)


def start(terminal, server, words="pods,nodes -A"):
    terminal.run(f"{shlex.quote(PROGRAM)} top {words} --server {server.url} 2>errors")
    terminal.wait_for(lambda screen: "q quit" in screen[-1] or len(screen) < 10 and "pods" in screen[-1])


def end(terminal):
    """Ends the program, which must have printed nothing: no message, no report of a sanitizer."""
    terminal.press("C-c")
    terminal.wait_for_prompt()
    printed = terminal.output_of("cat errors")
    assert not printed, printed


@contextlib.contextmanager
def top(width=100, height=30, words="pods,nodes -A", environment=None):
    with Server() as server, Terminal(width, height, environment) as terminal:
        start(terminal, server, words)
        yield server, terminal


# ---- screens ----


def masked(screen):
    """Replaces what differs from run to run: ages, how current the table is, what the server sets."""
    if len(screen[0]) < 40:
        screen = [*screen[:1], "HEALTH", *screen[2:]]
    text = "\n".join(screen) + "\n"
    text = re.sub(r"at most [\d.]+ (s|min) old, \d+ changes a second", "at most AGE old, N changes a second", text)
    text = re.sub(r"(creationTimestamp|resourceVersion|uid): .*", r"\1: …", text)
    return re.sub(r" +$", "", re.sub(r"\b(\d+[ydhms])+\b *", "AGE ", text), flags=re.M)


def read_screens(size):
    """Returns the expected screens of a size, by their names."""
    path = SCREENS / f"{size}.txt"
    parts = re.split(r"^=== (.*) ===\n", path.read_text() if path.exists() else "", flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def compare(terminal, size, name, is_there):
    """Compares the screen with the expected one, once the screen is there."""
    text = masked(terminal.wait_for(is_there))
    screens = read_screens(size)
    if UPDATES:
        screens[name] = text
        SCREENS.mkdir(exist_ok=True)
        (SCREENS / f"{size}.txt").write_text("".join(f"=== {key} ===\n{value}" for key, value in screens.items()))
    assert text == screens[name], f"{size}, {name}: expected\n{screens[name]}\nbut is\n{text}"


def has(*texts):
    return lambda screen: all(any(text in line for line in screen) for text in texts)


def each_size_has_its_screens():
    for width, height in SIZES:
        size = f"{width}x{height}"
        is_small = height < 14
        with top(width, height) as (server, terminal):
            terminal.press("Down") # and the pane of an object with an owner
            terminal.press("Up")
            compare(terminal, size, "table", has("NAMESPACE") if is_small else has("db-1", "← replicaset cart-7d9f ← deployment cart"))
            terminal.type("g")
            compare(terminal, size, "namespaces", has("▸ namespace"))
            terminal.type("g")
            terminal.press("Enter")
            compare(terminal, size, "nodes", has("▾ node n2") if is_small else has("▾ node n2", "db-0"))
            terminal.type("gg0")
            compare(terminal, size, "summary", has("COUNT"))
            terminal.type("1/db-0")
            terminal.press("Enter")
            if not is_small:
                terminal.wait_for(has("event", "BackOff"))
            compare(terminal, size, "filter", has("/db-0: 1"))
            terminal.press("Enter")
            compare(terminal, size, "object", has("apiVersion: v1"))
            terminal.press("Escape", "?")
            compare(terminal, size, "keys", has("Keys"))
            end(terminal)


def wait_for_mark(terminal, change, sign):
    """Makes a change until its row is seen with the sign, which it has for two seconds: a machine can be busy for longer."""
    def is_seen():
        change()
        return any(any(line.startswith(f"{sign} shop") for line in terminal.screen()) for _ in range(50))

    terminal.wait_until(is_seen, f"a row with {sign}")


def a_change_is_marked_and_is_in_the_pane():
    path = "/api/v1/namespaces/shop/pods/cart-7d9f-x"
    ready = [1]

    def turn():
        ready[0] = 3 - ready[0]
        server.send("PATCH", path + "/status", {"status": pod("cart-7d9f-x", ready=ready[0], containers=2, restarts=3)["status"]})

    def make_and_delete():
        if not has("cart-7d9f-x  ")(terminal.screen()):
            server.send("POST", "/api/v1/namespaces/shop/pods", pod("cart-7d9f-x", containers=2))
            terminal.wait_for(has("cart-7d9f-x  "))
        server.send("DELETE", path, {"gracePeriodSeconds": 0})

    with top() as (server, terminal):
        terminal.type("/cart-7d9f-x")
        terminal.press("Enter")
        terminal.wait_for(lambda screen: any("cart-7d9f-x" in line and "1/2" in line for line in screen) and not has("cart-7d9f-1 ")(screen))
        wait_for_mark(terminal, turn, "~")
        terminal.wait_for(has("pod shop/cart-7d9f-x  READY 1/2 → 2/2"))
        terminal.wait_for(lambda screen: any(line.startswith("  shop") for line in screen))
        wait_for_mark(terminal, make_and_delete, "-")
        terminal.wait_for(lambda screen: not has("cart-7d9f-x  ")(screen))


def a_resource_that_disappears_is_named_in_the_health():
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                     "type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                     "additionalPrinterColumns": [{"name": "Colour", "type": "string", "jsonPath": ".spec.colour"}]}]}}
    with Server() as server, Terminal(100, 30) as terminal:
        server.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        server.send("POST", "/apis/example.com/v1/namespaces/shop/widgets",
                    {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w1"}, "spec": {"colour": "red"}})
        start(terminal, server, "widgets -A")
        terminal.wait_for(has("COLOUR", "w1", "red"))
        server.send("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com")
        terminal.wait_for(lambda screen: "blocked" in screen[1] or "backing off" in screen[1])
        end(terminal)


def a_server_that_ends_or_hangs_is_named_in_the_health():
    with top() as (server, terminal):
        server.end()
        terminal.wait_for(lambda screen: "next try in" in screen[1] and "old" in screen[1])
        terminal.wait_for(has("cart-7d9f-0")) # what is known stays
        end(terminal)
    with Server() as server, Terminal(100, 30) as terminal:
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            terminal.run(f"{shlex.quote(PROGRAM)} top pods -A --server {server.url} 2>errors")
            terminal.wait_for(lambda screen: f"connecting to {server.url}" in screen[1] and "no response" in screen[1])
            terminal.type("q")
            terminal.wait_for_prompt()
            terminal.run(f"clear; {shlex.quote(PROGRAM)} top widgets -A --server {server.url}")
            terminal.wait_for(has(f"no response for 5 s from {server.url}")) # there is no picture yet
            terminal.press("C-c", "Enter") # the prompt, in a line of its own
            terminal.wait_for_prompt()
        finally:
            os.kill(server.process.pid, signal.SIGCONT)


def the_terminal_is_restored_after_each_end():
    with top() as (server, terminal):
        terminal.press("C-c")
        terminal.wait_for_prompt()
        for name in "TERM", "HUP", "SEGV":
            modes = terminal.output_of("stty -a")
            start(terminal, server)
            subprocess.run(["pkill", f"-{name}", "-f", f"top pods,nodes -A --server {server.url}"], check=True)
            terminal.wait_for_prompt()
            assert terminal.is_cursor_visible()
            assert terminal.output_of("stty -a") == modes, name
        start(terminal, server)
        terminal.press("C-z")
        terminal.wait_for_prompt()
        terminal.run("fg")
        terminal.wait_for(has("cart-7d9f-0", "q quit"))
        terminal.type("q")
        terminal.wait_for_prompt()


def a_storm_of_sizes_ends_in_a_picture_of_the_last():
    with top() as (server, terminal):
        for i in range(40):
            terminal.resize(20 + i * 7 % 180, 3 + i * 5 % 60)
        terminal.resize(80, 24)
        compare(terminal, "80x24", "table", has("db-1", "← replicaset cart-7d9f ← deployment cart"))


def a_pasted_text_delays_nothing():
    with Server("--pods", "3000") as server, Terminal(100, 30) as terminal:
        start(terminal, server)
        terminal.wait_for(has("pods 3,0"))
        terminal.type("/" + "x" * 5000)
        terminal.wait_for(lambda screen: screen[-1].endswith("x_"))
        for _ in range(3):
            terminal.type("y" * 10000)
        end(terminal)


def a_terminal_that_calls_itself_huge_has_a_picture():
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (65535, 65535))
    with Server() as server:
        process = subprocess.Popen([PROGRAM, "top", "pods", "-A", "--server", server.url], stdin=slave, stdout=slave,
                                   env={**os.environ, "TERM": "xterm"})
        shown = b""
        while b"q quit" not in shown and process.poll() is None:
            if select.select([master], [], [], 0.1)[0]:
                shown += os.read(master, 65536)
        os.write(master, b"q")
        assert process.wait() == 0
    os.close(slave)
    os.close(master)


def a_message_does_not_wait_for_a_terminal_that_nobody_reads():
    master, slave = pty.openpty()
    with Server() as server:
        os.kill(server.process.pid, signal.SIGSTOP)
        try:
            process = subprocess.Popen([PROGRAM, "top", "pods", "-A", "--request-timeout", "1s", "--server", server.url],
                                       stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"})
            os.read(master, 1)
            fills = os.open(os.ttyname(slave), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(fills, b" ")
            assert process.wait(timeout=terminals.PATIENCE_S) == 3
        finally:
            os.kill(server.process.pid, signal.SIGCONT)
    for descriptor in master, slave, fills:
        os.close(descriptor)


def without_colours_nothing_has_a_colour():
    with top(environment={"NO_COLOR": "1"}) as (_, terminal):
        terminal.wait_for(has("CrashLoopBackOff"))
        styled = "\n".join(terminal.styled())
        assert not re.search(r"\x1b\[[\d;]*\b(3[0-8]|4[0-8]|9[0-7]|10[0-7])\b[\d;]*m", styled), styled


def a_pipe_gets_the_table_once():
    with Server() as server:
        words = ["--server", server.url]
        table = subprocess.run([PROGRAM, "top", "pods", "-A", *words], check=True, stdout=subprocess.PIPE, text=True).stdout
        same = subprocess.run([PROGRAM, "get", "pods", "-A", *words], check=True, stdout=subprocess.PIPE, text=True).stdout
        table, same = [re.sub(r"\d+s$", "(age)", text, flags=re.M) for text in (table, same)]
        assert "cart-7d9f-0" in table and table == same, f"{table}\n{same}"


def a_terminal_that_cannot_draw_gets_a_message():
    with Server() as server, Terminal(100, 30, {"TERM": "dumb"}) as terminal:
        terminal.run(f"{shlex.quote(PROGRAM)} top pods -A --server {server.url}; echo status $?")
        terminal.wait_for(has('the terminal "dumb"', "status 1"))


CASES = [
    each_size_has_its_screens,
    a_change_is_marked_and_is_in_the_pane,
    a_resource_that_disappears_is_named_in_the_health,
    a_server_that_ends_or_hangs_is_named_in_the_health,
    the_terminal_is_restored_after_each_end,
    a_storm_of_sizes_ends_in_a_picture_of_the_last,
    a_pasted_text_delays_nothing,
    a_terminal_that_calls_itself_huge_has_a_picture,
    a_message_does_not_wait_for_a_terminal_that_nobody_reads,
    without_colours_nothing_has_a_colour,
    a_pipe_gets_the_table_once,
    a_terminal_that_cannot_draw_gets_a_message,
]


def main():
    if not terminals.is_available():
        print("skipped: tmux is not installed")
        sys.exit(77)
    only = [word for word in sys.argv[2:] if not word.startswith("-")]
    for case in CASES:
        if only and case.__name__ not in only:
            continue
        case()
        print(f"ok {case.__name__}", flush=True)


main()
