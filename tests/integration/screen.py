"""The screen of `kinformer top` in a real terminal: what it shows, its keys, and that the terminal is restored whatever ends the program.

usage: screen.py PROGRAM    PROGRAM is tests/programs/show_screen

Ends with 77 (skipped) where no tmux is installed; ./dev test installs it.
"""

import fcntl
import os
import pty
import re
import select
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import terminal as terminals
from terminal import Terminal

PROGRAM = os.path.abspath(sys.argv[1])
COMMAND = shlex.quote(PROGRAM) + " 2>errors"
COLOURS = re.compile(r"\x1b\[(\d+;)*(3[0-8]|4[0-8]|9[0-7]|10[0-7])(;\d+)*m")


def process_of(terminal):
    """Waits for the picture. Returns the program's process id."""
    lines = terminal.wait_for(lambda screen: "process" in screen[0])
    return int(re.search(r"process (\d+)", lines[0]).group(1))


def is_running(process):
    try:
        os.kill(process, 0)
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def is_stopped(process):
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


def begin(terminal):
    """Starts the program below a line of the shell. Returns its process id and the terminal's modes."""
    terminal.run("echo 'the shells'' line'")
    modes = terminal.output_of("stty -a")
    terminal.run(COMMAND)
    process = process_of(terminal)
    assert terminal.is_alternate() and not terminal.is_cursor_visible()
    return process, modes


def check_restored(terminal, modes):
    terminal.wait_for_prompt()
    screen = terminal.screen()
    assert "the shells line" in screen, screen
    assert not any("process" in line for line in screen), screen
    assert terminal.is_cursor_visible()
    now = terminal.output_of("stty -a")
    assert now == modes, f"before:\n{modes}now:\n{now}"


def the_terminal_is_restored_after(what, end):
    with Terminal() as terminal:
        process, modes = begin(terminal)
        end(terminal, process)
        terminal.wait_until(lambda: not is_running(process), what)
        check_restored(terminal, modes)


def the_terminal_is_restored_whatever_ends_the_program():
    the_terminal_is_restored_after("q", lambda terminal, _: terminal.type("q"))
    the_terminal_is_restored_after("a crash", lambda terminal, _: terminal.type("x"))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGSEGV, signal.SIGABRT, signal.SIGUSR1):
        the_terminal_is_restored_after(number.name, lambda _, process, number=number: os.kill(process, number))


def the_status_is_the_signals():
    with Terminal() as terminal:
        process, _ = begin(terminal)
        os.kill(process, signal.SIGTERM)
        terminal.wait_for_prompt()
        assert terminal.output_of("echo $?") == "143\n"


def stop_and_go_on(stop, go_on):
    with Terminal() as terminal:
        process, modes = begin(terminal)
        for _ in range(2): # the second time as well
            stop(terminal, process)
            terminal.wait_until(lambda: is_stopped(process), "the stop")
            check_restored(terminal, modes)
            go_on(terminal, process)
            assert process_of(terminal) == process
            terminal.wait_until(lambda: terminal.is_alternate() and not terminal.is_cursor_visible(), "the screen")
            terminal.wait_for("redraw")
            terminal.type("f")
            terminal.wait_for(lambda screen: re.match("(ab|ba)+$", screen[10]))
        terminal.type("q")
        check_restored(terminal, modes)


def the_terminal_is_restored_while_the_program_is_stopped():
    bring_back = lambda terminal, _: terminal.run("fg")
    stop_and_go_on(lambda terminal, _: terminal.press("C-z"), bring_back)
    stop_and_go_on(lambda _, process: os.kill(process, signal.SIGTSTP), bring_back)


def the_picture_comes_back_after_a_stop_that_nothing_can_see():
    with Terminal() as terminal:
        process, modes = begin(terminal)
        os.kill(process, signal.SIGSTOP)
        terminal.wait_until(lambda: is_stopped(process), "the stop")
        terminal.wait_for("Stopped")
        terminal.run("fg")
        terminal.wait_for(lambda screen: "process" in screen[0] and not any("Stopped" in line for line in screen))
        terminal.type("q")
        check_restored(terminal, modes)


def a_program_in_the_background_leaves_the_terminal_to_the_shell():
    with Terminal() as terminal:
        process, modes = begin(terminal)
        terminal.press("C-z")
        check_restored(terminal, modes)
        terminal.run("kill %1")
        terminal.wait_until(lambda: not is_running(process), "the end")
        check_restored(terminal, modes)
        process, _ = begin(terminal)
        terminal.press("C-z")
        check_restored(terminal, modes)
        os.kill(process, signal.SIGCONT)
        check_restored(terminal, modes)
        terminal.run("fg")
        assert process_of(terminal) == process
        terminal.type("q")
        check_restored(terminal, modes)


def a_program_that_begins_in_the_background_waits_for_the_terminal():
    with Terminal() as terminal:
        terminal.run("echo 'the shells'' line'")
        modes = terminal.output_of("stty -a")
        terminal.run(f"mkfifo begin; (read line <begin; exec {COMMAND}) &")
        process = int(terminal.output_of("echo $!"))
        terminal.wait_for(lambda screen: [line for line in screen if line][-1] == terminals.PROMPT.strip())
        with open(os.path.join(terminal.folder, "begin"), "w") as begin_now: # the shell reads a line, in modes of its own
            print(file=begin_now)
        terminal.wait_until(lambda: is_stopped(process), "the stop")
        terminal.run("fg")
        process_of(terminal)
        terminal.type("q")
        check_restored(terminal, modes)


def keys_come_by_their_names():
    with Terminal(width=200) as terminal:
        begin(terminal)
        terminal.press("Up", "Down", "Left", "Right", "PPage", "NPage", "Home", "End", "Enter", "BSpace", "Tab", "BTab")
        terminal.wait_for("keys: up down left right page-up page-down home end enter backspace tab back-tab")
        terminal.press("C-u", "C-l", "C-c", "C-d", "C-s")
        terminal.wait_for("back-tab clear redraw interrupt 4 19")
        terminal.press("Escape")
        terminal.wait_for("19 escape")
        terminal.type("a\u00e9\u2026\U0001f469")
        terminal.wait_for("escape a 233 8230 128105")
        terminal.press("M-j", "F5", "C-Right", "DC")
        terminal.type("\x1b[200~\x1b[A\x1bOB\x1b[1~z") # a sequence that no description has, and arrows in the other mode
        terminal.wait_for("128105 escape j up down home z")


def all_styles_are_shown():
    with Terminal(environment={"TERM": "xterm-256color"}) as terminal:
        begin(terminal)
        terminal.wait_for("plain dim heading good warning bad lit bar")
        styles = terminal.styled()
        assert COLOURS.search(styles[2]), styles[2]
        for name, codes in {"dim": "2", "heading": "1;4", "good": "32", "warning": "33", "bad": "31", "lit": "43", "bar": "7"}.items():
            assert f"\x1b[{codes}m{name}" in styles[2], (name, styles[2])
        # The cursor's line is reverse as a whole, but for what is reverse elsewhere. tmux's styles go on from line to line.
        assert re.match(r"plain \x1b\[2mdim\x1b\[0;7m", styles[3]), styles[3]
        assert re.search(r"\x1b\[0m(\x1b\[\d+m)*bar\x1b\[7m *$", styles[3]), styles[3]
        assert terminal.screen()[4] == "1 \u2192 2 \u2026 \u2500\u2502 \u65e5\u672c|e\u0301|\U0001f469|", terminal.screen()


def without_colours_attributes_are_left():
    for environment in ({"NO_COLOR": "1", "TERM": "xterm-256color"}, {"TERM": "vt100"}):
        with Terminal(environment=environment) as terminal:
            terminal.run(COMMAND)
            terminal.wait_for("plain dim heading good warning bad lit bar")
            styles = terminal.styled()
            assert not any(COLOURS.search(line) for line in styles), styles
            assert "\x1b[" in styles[2]
    with Terminal(environment={"NO_COLOR": "", "TERM": "xterm-256color"}) as terminal:
        begin(terminal)
        terminal.wait_for("plain dim heading")
        assert COLOURS.search(terminal.styled()[2])


def a_locale_without_the_characters_has_similar_ones():
    with Terminal(environment={"LANG": "C"}) as terminal: # the terminal knows UTF-8
        begin(terminal)
        terminal.wait_for("1 \u2192 2 \u2026")
    with tempfile.TemporaryDirectory() as folder:
        locale = os.path.join(folder, "xx_XX")
        made = subprocess.run(["localedef", "-c", "-i", "POSIX", "-f", "ISO-8859-1", locale], stderr=subprocess.DEVNULL, check=False)
        if not os.path.isdir(locale):
            print(f"no locale: localedef ended with {made.returncode}")
            return
        with Terminal(environment={"LOCPATH": folder, "LANG": "xx_XX"}) as terminal:
            begin(terminal)
            terminal.wait_for("1 > 2 . -| ??|e?|?|")


def a_terminal_that_cannot_show_it_has_a_message():
    messages = {"dumb": 'the terminal "dumb" cannot move its cursor; use kinformer get, or kinformer watch',
                "nonsense": 'the terminal "nonsense" is not known here; set TERM to a similar one (xterm-256color), or use kinformer get',
                "": "TERM is not set", None: "TERM is not set"}
    for term, message in messages.items():
        with Terminal(width=200, environment={"TERM": term}) as terminal:
            terminal.run(shlex.quote(PROGRAM) + "; echo status=$?")
            terminal.wait_for("status=1")
            terminal.wait_for(message)
    done = subprocess.run([PROGRAM], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "standard input and output are not a terminal" in done.stderr, done


def the_screen_follows_the_terminals_size():
    with Terminal() as terminal:
        terminal.run("export LINES=10 COLUMNS=30; shopt -u checkwinsize") # of a terminal that was smaller
        process, modes = begin(terminal)
        terminal.wait_for("screen 80x24")
        for width, height in ((100, 30), (300, 100), (20, 5), (200, 50), (10, 1), (2, 2), (80, 24)):
            terminal.resize(width, height)
            wanted = f"screen {width}x{height},"[:width - 1]
            terminal.wait_for(lambda screen, wanted=wanted, height=height: screen[0].startswith(wanted) and len(screen) == height)
        for size in range(200): # a storm
            terminal.resize(20 + size % 50, 5 + size % 20)
            os.kill(process, signal.SIGWINCH)
        terminal.resize(90, 25)
        terminal.wait_for("screen 90x25")
        assert is_running(process)
        terminal.resize(80, 24)
        terminal.wait_for("screen 80x24")
        terminal.type("q")
        check_restored(terminal, modes)


def read_until(master, wanted):
    """Reads a terminal until the text has come."""
    text = b""
    while wanted not in text:
        assert select.select([master], [], [], terminals.PATIENCE_S)[0], f"{wanted} does not come after {text}"
        text += os.read(master, 4096)


def a_terminal_that_takes_no_bytes_does_not_block_the_program():
    process, master = pty.fork()
    if process == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(PROGRAM, [PROGRAM])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 300, 1000, 0, 0))
    read_until(master, b"screen 1000x300")
    os.write(master, b"f") # 300 KB, far more than what waits in a terminal; nobody reads all of it
    read_until(master, b"abab")
    os.write(master, b"q")
    end = time.monotonic() + terminals.PATIENCE_S
    ended, status = 0, 0
    while not ended:
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
            raise AssertionError("the program waits for the terminal")
        time.sleep(terminals.PAUSE_S)
        ended, status = os.waitpid(process, os.WNOHANG)
    os.close(master)
    assert os.waitstatus_to_exitcode(status) == 0, status


def main():
    if not terminals.is_available():
        print("skipped: there is no tmux")
        sys.exit(77)
    tests = [test for name, test in globals().items() if callable(test) and getattr(test, "__module__", "") == "__main__" and "_" in name
             and test.__code__.co_argcount == 0 and name not in ("main",)]
    chosen = sys.argv[2:]
    for test in tests:
        if not chosen or test.__name__ in chosen:
            print(test.__name__, flush=True)
            test()


main()
