"""Tables in Markdown, and the file of results."""

import datetime
import os
import re
import statistics
import subprocess

import measure

HERE = os.path.dirname(os.path.abspath(__file__))
WITHOUT_RATIO = ("sync server", "burst server", "rate", "above")
MORE_IS_BETTER = ("burst rate",)
HEAD = """# Results of ./dev bench peers

kinformer beside client-go and kube, in one run on one machine. [peers/README.md](peers/README.md) says what the programs do and how they are measured;
[docs/performance.md](../docs/performance.md) explains the figures. `./dev bench peers --write` writes this file, one section for each kind of run. A column `A : B` says how many times
better B is. Compare the columns of a section: the machine ran other work too.
"""


def shown(value, kind):
    """A value in the unit of its row."""
    if value is None:
        return ""
    if kind == "KB":
        return f"{value / 1000:.2f} KB" if value < 10000 else f"{value / 1000:.1f} KB"
    if kind == "MB":
        return f"{value / 1e6:.1f} MB" if value < 1e7 else f"{value / 1e6:,.0f} MB"
    if kind == "us":
        return f"{value * 1e6:.1f} µs" if value < 1e-4 else f"{value * 1e6:,.0f} µs"
    if kind == "s":
        return f"{value:.2f} s"
    if kind == "n":
        return f"{value:,.0f}"
    return f"{value:.2f}"


def table(columns, rows, results, ratios=()):
    """`rows` are of (name, label, kind), `ratios` pairs of columns: how many times better the second is."""
    lines = [
        "| | " + " | ".join(columns) + "".join(f" | {first} : {second}" for first, second in ratios) + " |",
        "| --- " + "| ---: " * (len(columns) + len(ratios)) + "|",
    ]
    for name, label, kind in rows:
        cells = [shown(results.get(column, {}).get(name), kind) for column in columns]
        for first, second in ratios:
            a, b = results.get(first, {}).get(name), results.get(second, {}).get(name)
            if name in MORE_IS_BETTER:
                a, b = b, a
            cells.append(f"{a / b:.1f}" if a and b and name not in WITHOUT_RATIO else "")
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def medians(rounds):
    """The median of each row over the rounds, for each subject."""
    return {
        subject: {
            name: statistics.median(row[name] for row in rows)
            for name in rows[0]
            if not isinstance(rows[0][name], dict)
        }
        for subject, rows in rounds.items()
    }


def rounds_of(rounds):
    number = max(map(len, rounds.values()), default=0)
    return f"the median of {number} rounds" if number > 1 else "one round"


def calls(rows):
    """The system calls of the last round, the most frequent ones first."""
    names = sorted(rows[-1]["names"].items(), key=lambda item: -item[1])
    return ", ".join(f"{count:.2f} {name}" for name, count in names if count >= 0.01)


def said(*command):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit():
    return said("git", "log", "-1", "--format=%h", "--", "../../src") or "without git"


def setting(programs, arguments, measured):
    """When, how, on which machine, with which versions. `measured` is the commit."""
    model = re.search(r"^model name\s*: (.*)", measure.read("/proc/cpuinfo"), re.M)
    memory = int(measure.read("/proc/meminfo").split()[1]) / 2**20
    lines = [
        f"{datetime.date.today().isoformat()}, `./dev bench peers{''.join(' ' + word for word in arguments)}`",
        f"{os.cpu_count()} CPUs ({model[1] if model else os.uname().machine}), {memory:.0f} GiB, {os.uname().sysname}"
        f" {os.uname().release.split('-')[0]}; load average of 15 minutes {os.getloadavg()[2]:.1f}",
        f"kinformer {measured}, {said('cc', '--version').split(chr(10))[0]}",
    ]
    if "client-go" in programs.paths:
        version = measure.version(f"{HERE}/client-go/go.mod", "k8s.io/client-go")
        lines.append(f"client-go {version}, {' '.join(said('./run', '--version', 'client-go').split()[2:3])}")
    if "kube-rs" in programs.paths:
        version = re.search(r'name = "kube"\nversion = "(.*)"', measure.read(f"{HERE}/kube-rs/Cargo.lock"))
        lines.append(f"kube {version[1]}, {said('./run', '--version', 'kube-rs')}")
    return "\n".join(f"- {line}" for line in lines)


def write_section(path, title, text):
    """Replaces a section of the file of results, or adds it."""
    old = measure.read(path) if os.path.exists(path) else ""
    sections = dict(part.split("\n", 1) for part in ("\n" + old).split("\n## ")[1:])
    sections[title] = f"\n{text}"
    order = ["Side by side", "A real kube-apiserver", "Growing work"]
    parts = [f"## {name}\n\n{sections[name].strip()}\n" for name in order if name in sections]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([HEAD, *parts]))
