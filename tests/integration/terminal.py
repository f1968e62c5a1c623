"""A real terminal, tmux, in which a shell runs programs: a test types, and reads the screen.

    with Terminal(width=100, height=30) as terminal:
        terminal.run("kinformer top pods -A")
        terminal.wait_for("cart-7d")
        terminal.press("Down", "Enter")                # tmux's names of keys: C-c, Escape, PPage
        terminal.type("/shop")
        terminal.wait_for(lambda screen: "filter: shop" in screen[-1])
        print("\n".join(terminal.screen()))            # lines without the blanks at their ends
        terminal.resize(20, 5)

Each terminal has a tmux server and a folder of its own. A wait that ends in vain raises an AssertionError with the screen. The environment has
LANG=C.UTF-8, what tmux sets (TERM=screen), and the values of `environment`; None removes one.
"""

import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
import time

PATIENCE_S = 120
PAUSE_S = 0.02 # between two looks at the screen
PROMPT = "ready> "


def is_available():
    return shutil.which("tmux") is not None


class Terminal:
    def __init__(self, width=80, height=24, environment=None):
        self.folder = tempfile.mkdtemp(prefix="ki-terminal.")
        self.socket = os.path.join(self.folder, "tmux")
        self.runs = 0
        changes = {"LANG": "C.UTF-8", "LC_ALL": None, "LC_CTYPE": None, "NO_COLOR": None, "LINES": None, "COLUMNS": None, "TMUX": None,
                   **(environment or {})}
        term = changes.pop("TERM", "as tmux sets it")
        values = {name: value for name, value in {**os.environ, **changes}.items() if value is not None}
        # tmux sets TERM and the shell LINES and COLUMNS: the shell begins without them where they are not wanted
        begin = "unset TERM; " if term is None else "" if term == "as tmux sets it" else f"export TERM={shlex.quote(term)}; "
        shell = f"unset TMUX LINES COLUMNS; {begin}PS1={shlex.quote(PROMPT)} exec bash --norc --noprofile +o history -i"
        try:
            self._tmux("new-session", "-d", "-x", str(width), "-y", str(height), "-c", self.folder, shell, env=values)
            self.wait_for(PROMPT.strip())
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Ends the shell and all that runs in it."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self._tmux("kill-server")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _tmux(self, *words, env=None):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *words], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, env=env)
        return done.stdout

    # ---- what a person does

    def type(self, text):
        """Types characters as they are."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys):
        """Presses keys by tmux's names."""
        self._tmux("send-keys", "--", *keys)

    def run(self, line):
        """Types a command line for the shell."""
        self.type(line)
        self.press("Enter")

    def output_of(self, line):
        """Returns what a command prints; the shell is at its prompt."""
        self.runs += 1
        path = os.path.join(self.folder, f"output-{self.runs}")
        self.run(f"{line} >{path}.part; mv {path}.part {path}")
        self.wait_until(lambda: os.path.exists(path), f"the command {line}")
        with open(path) as output:
            return output.read()

    def resize(self, width, height):
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    # ---- what a person sees

    def screen(self):
        """Returns the lines of the screen, without the blanks at their ends."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p").split("\n")[:-1]]

    def styled(self):
        """Returns the lines of the screen with the sequences of their colours and attributes."""
        return self._tmux("capture-pane", "-p", "-e").split("\n")[:-1]

    def is_cursor_visible(self):
        return self._tmux("display-message", "-p", "#{cursor_flag}").strip() == "1"

    def is_alternate(self):
        """Returns True while a program shows a screen of its own, from which the shell's comes back."""
        return self._tmux("display-message", "-p", "#{alternate_on}").strip() == "1"

    def wait_for(self, wanted):
        """Waits until the screen contains a text, or until a function of the screen's lines returns true. Returns the lines."""
        seen = []

        def is_there():
            seen[:] = self.screen()
            return wanted(seen) if callable(wanted) else any(wanted in line for line in seen)

        self.wait_until(is_there, repr(wanted))
        return seen

    def wait_for_prompt(self):
        """Waits until the shell, with the screen of its own, takes commands."""
        self.wait_until(lambda: not self.is_alternate() and (self._last_line() or "").startswith(PROMPT.strip()), "the prompt")

    def _last_line(self):
        return next((line for line in reversed(self.screen()) if line), None)

    def wait_until(self, is_so, what):
        """Waits until a function returns true."""
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                raise AssertionError(f"waited in vain for {what}; the screen:\n" + "\n".join(self.screen()))
            time.sleep(PAUSE_S)
