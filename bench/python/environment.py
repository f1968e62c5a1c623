"""The interpreter of the programs: a venv with the libraries of requirements.txt, and kinformer of a build."""

import fcntl
import os
import re
import shutil
import subprocess
import sys

import measure
import tables

REQUIREMENTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "requirements.txt")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "kinformer-bench")
NAMES = ("kubernetes", "kr8s", "lightkube")


class Environment:
    """command: begins the command of a program."""

    def __init__(self, package):
        python = _made(os.path.join(CACHE, "python"))
        self.command = ["env", f"PYTHONPATH={package}", "PYTHONDONTWRITEBYTECODE=1", python]

    def setting(self):
        """When, on which machine, with which versions: lines of Markdown."""
        versions = dict(re.findall(r"^([^=\s]+)==(\S+)$", measure.read(REQUIREMENTS), re.M))
        date, load = tables.said("date", "+%F"), os.getloadavg()[2]
        return (
            f"- {date}, {os.cpu_count()} CPUs; load average of 15 minutes {load:.1f}\n"
            f"- kinformer {tables.commit()}, Python {sys.version.split()[0]}, "
            + ", ".join(f"{name} {versions[name]}" for name in NAMES)
        )


def _made(folder):
    """Makes the venv, unless it is there for this interpreter and these requirements. Returns its interpreter."""
    python, stamp = os.path.join(folder, "bin", "python"), os.path.join(folder, "made-of")
    wanted = f"{sys.version}\n{measure.read(REQUIREMENTS)}"
    os.makedirs(CACHE, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # waits for another run that makes it
        if os.path.exists(stamp) and measure.read(stamp) == wanted:
            return python
        shutil.rmtree(folder, ignore_errors=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([*pip, "--requirement", REQUIREMENTS], check=True)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
    return python
