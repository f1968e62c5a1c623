"""What the programs share: lines of the standard input, which compare writes, and their answers.

`expect N` counts the next N changes; after the last one the program prints `received N`. `settle` collects garbage and
returns free memory to the system. `blocks` asks for the number of Python's blocks of memory: each object that is still
referred to has one or more. The program ends with its standard input.
"""

import ctypes
import gc
import os
import sys
import threading

_libc = ctypes.CDLL(None)
_expected = _received = 0
read = 0  # characters of the two fields that handlers read


def say(line):
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def kubeconfig():
    return sys.argv[1]


def begin():
    threading.Thread(target=_answer, daemon=True).start()


def handle(node, phase):
    """What every handler does with the two fields that it has read."""
    global read
    read += len(node) + len(phase)


def count():
    """A change was handled."""
    global _received
    _received += 1
    if _received == _expected:
        say(f"received {_received}")


def _answer():
    global _expected, _received
    for line in sys.stdin:
        words = line.split()
        if words[0] == "expect":
            _received, _expected = 0, int(words[1])
            say("expecting")
        elif words[0] == "settle":
            gc.collect()
            _libc.malloc_trim(0)
            say("settled")
        elif words[0] == "blocks":
            gc.collect()
            say(f"blocks {sys.getallocatedblocks()}")
    os._exit(0)
