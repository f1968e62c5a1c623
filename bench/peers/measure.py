"""What compare measures with: processes that are asked over pipes and looked at from outside, through /proc and the
clock of their CPU time. All programs are measured by the same code."""

import os
import re
import select
import signal
import subprocess
import time

ANSWER_S = 300  # a line that takes longer has failed


class Failure(Exception):
    pass


class Process:
    """A program that reads and prints lines. Its errors go to the terminal, or to the file `log`."""

    def __init__(self, *command, log=None):
        self.name = " ".join(os.path.basename(part) for part in command)
        with open(log or os.devnull, "ab") as errors:
            self.popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors if log else None)
        self.pid = self.popen.pid
        self.unread = b""
        os.set_blocking(self.popen.stdout.fileno(), False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.stdin.close()
        try:
            self.popen.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()

    def say(self, line):
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def line(self, timeout=ANSWER_S):
        until = time.monotonic() + timeout
        while b"\n" not in self.unread:
            ready, _, _ = select.select([self.popen.stdout], [], [], max(0, until - time.monotonic()))
            part = self.popen.stdout.read() if ready else None
            if not part:
                raise Failure(f"{self.name}: {'it has ended' if ready else 'no answer'}")
            self.unread += part
        line, self.unread = self.unread.split(b"\n", 1)
        return line.decode()

    def ask(self, line, answer):
        self.say(line)
        said = self.line()
        if said != answer:
            raise Failure(f"{self.name}: {said!r}, not {answer!r}")

    def cpu(self):
        """Seconds of CPU time of all threads, also of those that have ended."""
        return time.clock_gettime(~self.pid << 3 | 2)  # clock_getcpuclockid(3)

    def memory(self):
        """Bytes: resident, its peak, private and dirty."""
        text = read(f"/proc/{self.pid}/status") + read(f"/proc/{self.pid}/smaps_rollup")
        sizes = [re.search(rf"^{name}:\s*(\d+) kB", text, re.M) for name in ("VmRSS", "VmHWM", "Private_Dirty")]
        return [int(size[1]) * 1024 for size in sizes]

    def forget_peak(self):
        with open(f"/proc/{self.pid}/clear_refs", "w", encoding="ascii") as file:
            file.write("5")

    def waits(self):
        """Voluntary context switches of the threads."""
        total = 0
        for task in os.listdir(f"/proc/{self.pid}/task"):
            try:
                text = read(f"/proc/{self.pid}/task/{task}/status")
            except FileNotFoundError:
                continue  # it has ended
            total += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", text, re.M)[1])
        return total


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def version(go_mod, module):
    """The version of a module in a go.mod."""
    return re.search(rf"{module} (\S+)", read(go_mod))[1]


class Calls:
    """Counts the system calls of a process while it is entered."""

    def __init__(self, process, file):
        self.file = file
        self.strace = subprocess.Popen(["strace", "-f", "-c", "-q", "-o", file, "-p", str(process.pid)])
        threads = len(os.listdir(f"/proc/{process.pid}/task"))
        for _ in range(500):  # until each thread is traced
            traced = sum(
                not re.search(r"^TracerPid:\s*0$", read(f"/proc/{process.pid}/task/{task}/status"), re.M)
                for task in os.listdir(f"/proc/{process.pid}/task")
            )
            if traced >= threads:
                break
            time.sleep(0.01)

    def end(self):
        """Returns the number of calls of each name."""
        self.strace.send_signal(signal.SIGINT)
        self.strace.wait()
        found = {}
        for line in read(self.file).splitlines():
            words = line.split()
            if len(words) >= 5 and words[3].isdigit() and words[-1] != "total":
                found[words[-1]] = int(words[3])
        return found


def kubeconfig(path, url):
    with open(path, "w", encoding="ascii") as file:
        file.write(
            f'apiVersion: v1\nkind: Config\nclusters: [{{name: bench, cluster: {{server: "{url}"}}}}]\n'
            "users: [{name: bench, user: {}}]\n"  # kr8s and lightkube need one
            "contexts: [{name: bench, context: {cluster: bench, user: bench}}]\ncurrent-context: bench\n"
        )
    return path
