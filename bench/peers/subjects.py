"""The programs that compare runs, and what each of them does in a round."""

import os
import shutil
import subprocess
import sys
import time

import measure
from measure import Failure, Process

HERE = os.path.dirname(os.path.abspath(__file__))
PAUSE_S = 2  # before memory is read

# The programs in the forms in which they are compared: the name of a column, program, arguments.
SUBJECTS = {
    "client-go typed": ("client-go", ["--form=typed"]),
    "client-go typed, JSON": ("client-go", ["--form=typed", "--json"]),
    "client-go dynamic": ("client-go", ["--form=dynamic"]),
    "client-go metadata": ("client-go", ["--form=metadata"]),
    "kube typed": ("kube-rs", ["--form", "typed"]),
    "kube dynamic": ("kube-rs", ["--form", "dynamic"]),
    "kube metadata": ("kube-rs", ["--form", "metadata"]),
    "kinformer": ("kinformer", ["--form", "typed"]),
    "kinformer, on the loop": ("kinformer", ["--form", "typed", "--loop"]),
    "kinformer, every 50 ms": ("kinformer", ["--form", "typed", "--loop", "--interval", "50"]),
    "kinformer metadata": ("kinformer", ["--form", "metadata"]),
    "kinformer view": ("kinformer", ["--form", "view"]),
    "curl": ("curl", []),
}


class Programs:
    """Where the programs are. Those that cannot be built here are missing, and their columns stay empty."""

    def __init__(self, folder):
        self.paths = {name: os.path.join(folder, f"peer_{name}") for name in ("server", "kinformer")}
        if shutil.which("curl"):
            self.paths["curl"] = shutil.which("curl")
        for name in ("client-go", "kube-rs"):
            built = subprocess.run([f"{HERE}/run", "--build", name], stdout=subprocess.PIPE, check=True, text=True)
            if built.stdout.strip():
                self.paths[name] = built.stdout.strip()
        os.sync()  # pages of a program that was built just now count as dirty until they are written

    def has(self, subject):
        return SUBJECTS[subject][0] in self.paths

    def start(self, subject, config, *more):
        name, arguments = SUBJECTS[subject]
        return Process(self.paths[name], "--kubeconfig", config, *arguments, *more)

    def server(self, objects):
        """The server, with a number of pods of the load or those of a file."""
        option = "--count" if isinstance(objects, int) else "--objects"
        return Process(self.paths["server"], option, str(objects))


def served(server):
    """The server's URL, the number of its pods and their mean size."""
    url, count, size = server.line().split()
    return url, int(count), int(size)


def progress(text):
    print(f"  {text}", file=sys.stderr, flush=True)


def in_rounds(programs, chosen, rounds, run):
    """Runs the subjects in turn, several times. Returns the rows of each round for each subject. An interrupt (Ctrl-C) ends the
    rounds: the tables are then of the whole rounds."""
    found = {subject: [] for subject in chosen if programs.has(subject)}
    for number in range(rounds):
        this_round = {}
        try:
            for subject in found:
                begin = time.monotonic()
                try:
                    this_round[subject] = run(subject)
                    progress(f"round {number + 1} of {rounds}: {subject}: {time.monotonic() - begin:.0f} s")
                except Failure as failure:
                    progress(f"round {number + 1} of {rounds}: {subject}: {failure}")
        except KeyboardInterrupt:
            if number == 0:
                raise
            break
        for subject, rows in this_round.items():
            found[subject].append(rows)
    return {subject: rows for subject, rows in found.items() if rows}


# --- the parts of a round: each returns rows ---


def synced(process):
    if process.line() != "synced":
        raise Failure(f"{process.name}: not synced")


def settled(process):
    """Returns the memory once the program has returned free memory to the system."""
    process.ask("settle", "settled")
    time.sleep(PAUSE_S / 2)
    process.ask("settle", "settled")
    return process.memory()


def sync(process, server):
    """A first list."""
    begin, server_cpu = time.monotonic(), server.cpu()
    synced(process)
    rows = {
        "sync wall": time.monotonic() - begin,
        "sync CPU": process.cpu(),
        "sync peak": process.memory()[1],
        "sync server": server.cpu() - server_cpu,
    }
    time.sleep(PAUSE_S)
    return rows | {"sync settled": process.memory()[0]}


def burst(process, server, changes, calls=1, what="annotation"):
    """Changes that come as fast as the program takes them. `calls`: of handlers for each change."""
    process.forget_peak()
    process.ask(f"expect {changes * calls}", "expecting")
    begin, cpu, server_cpu = time.monotonic(), process.cpu(), server.cpu()
    server.say(f"burst {changes} {what}")
    process.line()
    wall = time.monotonic() - begin
    return {
        "burst CPU": (process.cpu() - cpu) / changes,
        "burst rate": changes / wall,
        "burst server": (server.cpu() - server_cpu) / changes,
        "burst peak": process.memory()[1],
    }


def timed(process, server, work):
    """The time from the server's write to the handler."""
    process.ask(f"time {work.timed}", "expecting")
    server.say(f"rate {work.per_second} {work.timed}")
    times = [int(word) / 1e9 for word in process.line().split()[2:]]
    return dict(zip(("p50", "p99", "p99.9", "slowest"), times))


def singles(process, server, work, folder):
    """Changes that come alone, as most do."""

    def send():
        process.ask(f"expect {work.singles}", "expecting")
        server.say(f"rate {work.singles_per_second} {work.singles}")
        process.line()

    cpu, waits = process.cpu(), process.waits()
    send()
    rows = {
        "single CPU": (process.cpu() - cpu) / work.singles,
        "single waits": (process.waits() - waits) / work.singles,
    }
    calls = measure.Calls(process, f"{folder}/calls")
    send()
    names = {name: count / work.singles for name, count in calls.end().items()}
    return rows | {"single calls": sum(names.values()), "names": names}
