"""Uses an installed wheel: the guide's first program, against `kinformer serve`, whose command the wheel has. Then the server of kinformer.testing.

Prints what it saw, and ends with a traceback if something is not as it must be. Needs nothing but the wheel.
"""

import contextlib
import fcntl
import importlib.metadata
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading

LIMIT = 60  # seconds for what comes at once
POD = """
apiVersion: v1
kind: Pod
metadata: { name: cart-1, namespace: shop, labels: { app: cart, tier: web } }
spec: { nodeName: n1, containers: [{ name: cart, image: cart:1 }] }
status: { phase: Pending }
"""
folder = tempfile.TemporaryDirectory()
os.environ["KUBECONFIG"] = f"{folder.name}/kubeconfig"
os.environ.pop("KUBERNETES_SERVICE_HOST", None)

import kinformer  # noqa: E402
import kinformer.testing  # noqa: E402

command = pathlib.Path(sys.executable).parent / "kinformer"
version = subprocess.run([command, "version"], stdout=subprocess.PIPE, check=True, text=True).stdout
print(version, end="")
assert importlib.metadata.version("kinformer") == kinformer.__version__, kinformer.__version__
assert kinformer.__version__ in version, version
print("certificates:", kinformer.certificates)

pathlib.Path(f"{folder.name}/pod.yaml").write_text(POD)
options = ["--tls", "--until-eof", "--load", f"{folder.name}/pod.yaml", "--write-kubeconfig", os.environ["KUBECONFIG"]]
server = subprocess.Popen([command, "serve", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
print(server.stdout.readline(), end="")

seen = threading.Event()
with kinformer.Factory() as factory:
    pods = factory.informer("pods", namespace="shop", labels="app=cart",
                            view={"node": "spec.nodeName", "phase": "status.phase"}, indexes={"node": "spec.nodeName"})

    @pods.on_update
    def changed(event):
        print(event.key, event.old.phase, "→", event.new.phase)
        seen.set()

    factory.start()
    pods.wait_for_sync(timeout=LIMIT)
    print(pods["shop/cart-1"].phase, pods.by_index("node", "n1"))
    for pod in pods.list(labels="tier=web"):
        print(pod.name, pod["spec"]["containers"][0]["image"])
    factory.client.patch("pods", "shop/cart-1", {"status": {"phase": "Running"}}, subresource="status")
    assert seen.wait(LIMIT), "no update came"
    assert pods["shop/cart-1"].phase == "Running", pods["shop/cart-1"].phase

# The command's screen finds this system's description of the terminal.
process, terminal = pty.fork()
if process == 0:
    os.environ["TERM"] = "xterm"
    os.execv(command, [command, "top", "pods", "-A"])
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
picture = b""
while b"cart-1" not in picture:
    assert select.select([terminal], [], [], LIMIT)[0], picture
    picture += os.read(terminal, 4096)
os.write(terminal, b"q")
with contextlib.suppress(OSError):  # the end of a terminal
    while os.read(terminal, 4096):
        pass
status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
print("kinformer top:", status)
assert status == 0, status

server.communicate()
assert server.returncode == 0, server.returncode

with kinformer.testing.Server() as server, kinformer.Factory.from_kubeconfig(server.kubeconfig) as factory:
    factory.start()
    assert list(factory.client.list("pods", namespace="shop")) == []
    print("kinformer.testing:", server.url)
print("the wheel works")
