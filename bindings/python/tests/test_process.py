"""The end of the interpreter, forks, sub-interpreters and Ctrl-C: each in a process of its own."""

import os
import re
import signal
import subprocess
import sys
import textwrap

import pytest

LIMIT = 60  # seconds for what ends by itself


def run(server, code, *, signal_at=None, finds_leaks=True):
    """Runs a program that has `factory` and `pods`, and returns its end: status, output. `signal_at` is a line of its
    output, at which it gets SIGINT. The leak detector cannot look at a process that forks, or ends with a thread."""
    program = textwrap.dedent(
        """
        import logging, os, signal, sys, threading, time
        import kinformer
        logging.basicConfig(level=logging.ERROR)
        factory = kinformer.Factory.from_server(sys.argv[1])
        pods = factory.informer("pods")
        """
    ) + textwrap.dedent(code)
    process = subprocess.Popen(
        [sys.executable, "-u", "-W", "ignore::DeprecationWarning", "-c", program, server.url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + f":detect_leaks={int(finds_leaks)}"},
    )
    output = ""
    if signal_at:
        for line in process.stdout:
            output += line
            if line.strip() == signal_at:
                process.send_signal(signal.SIGINT)
                break
    rest, _ = process.communicate(timeout=LIMIT)
    return process.returncode, output + rest


@pytest.mark.parametrize("how", ["", "sys.exit(3)", "raise ValueError('no')", "del factory, pods; import gc; gc.collect()"])
def test_a_program_that_forgets_close_ends(server, how):
    server.create_pod("a")
    status, output = run(
        server,
        f"""
        @pods.on_add
        def add(event): print(event.key)
        factory.start()
        pods.wait_for_sync(30)
        {how}
        """,
    )
    assert status == {"sys.exit(3)": 3, "raise ValueError('no')": 1}.get(how, 0), output
    assert output.startswith("shop/a\n")


def test_a_factory_that_was_never_started_ends(server):
    assert run(server, "pods.on_add(print)") == (0, "")


def test_a_handler_that_runs_at_the_end_returns_first(server):
    server.create_pod("a")
    status, output = run(
        server,
        """
        begun = threading.Event()
        @pods.on_add
        def add(event):
            begun.set()
            time.sleep(0.2)
            print("returned")
        factory.start()
        begun.wait()
        """,
    )
    assert (status, output) == (0, "returned\n")


def test_a_handler_that_never_returns_does_not_hold_up_the_end(server):
    server.create_pod("a")
    status, output = run(
        server,
        """
        import kinformer.factory
        kinformer.factory._END_SECONDS = 0.1
        begun = threading.Event()
        @pods.on_add
        def add(event):
            begun.set()
            threading.Event().wait()
        factory.start()
        begun.wait()
        """,
        finds_leaks=False,
    )
    assert (status, output) == (0, "")


def test_objects_and_snapshots_outlive_the_factory(server):
    server.create_pod("a")
    status, output = run(
        server,
        """
        import gc
        factory.start()
        pods.wait_for_sync(30)
        pod, snapshot = pods["shop/a"], pods.snapshot()
        factory.close()
        del factory, pods
        gc.collect()
        print(pod["spec"]["nodeName"], [obj.name for obj in snapshot.values()])
        """,
    )
    assert (status, output) == (0, "n1 ['a']\n")


@pytest.mark.parametrize(
    "wait",
    ["pods.wait_for_sync()", "pods.wait_for_version('999999')", "pods.wait_for_deletion('shop/a')", "factory.run()"],
)
def test_ctrl_c_ends_a_wait_at_once(server, wait):
    server.create_pod("a")
    blocked = "pods = factory.informer('widgets.example.com')" if "sync" in wait else "pods"
    status, output = run(
        server,
        f"""
        {blocked}
        factory.start()
        try:
            print("waits")
            {wait}
        except KeyboardInterrupt:
            print("interrupted")
        factory.close()
        """,
        signal_at="waits",
    )
    assert (status, output) == (0, "waits\ninterrupted\n")


@pytest.mark.parametrize(
    "wait",
    [
        "pods.wait_for_sync()",
        "pods.wait_for_version('999999')",
        "pods.get_or_fetch('shop/none')",
        "factory.client.get('pods', 'shop/none')",
        "factory.client.get('widgets.example.com', 'shop/none')",
    ],
)
def test_an_exception_of_a_signals_handler_can_come_when_a_wait_has_just_begun(server, wait):
    status, output = run(
        server,
        f"""
        import gc, kinformer.operation
        call = kinformer.operation.call

        def call_and_interrupt(*arguments):
            call(*arguments)
            raise InterruptedError

        factory.start()
        pods.wait_for_sync(30)
        kinformer.operation.call = call_and_interrupt
        try:
            {wait}
        except InterruptedError:
            print("interrupted")
        gc.collect()
        kinformer.operation.call = call
        pods.wait_for_version("1", timeout=30)
        factory.close()
        """,
    )
    assert (status, output) == (0, "interrupted\n")


def test_ctrl_c_while_a_list_is_made_leaves_no_list_behind(server):
    server.create_pod("a")
    status, output = run(
        server,
        """
        import kinformer.informer
        call = kinformer.informer.call

        def call_and_interrupt(*arguments):
            call(*arguments)
            raise KeyboardInterrupt

        factory.start()
        pods.wait_for_sync(30)
        kinformer.informer.call = call_and_interrupt
        try:
            pods.list()
        except KeyboardInterrupt:
            print("interrupted")
        factory.close()
        """,
    )
    assert (status, output) == (0, "interrupted\n")


def test_ctrl_c_while_a_wait_begins_leaves_no_lock_taken(server):
    status, output = run(
        server,
        """
        def interrupt(frame, event, _argument):
            if event == "return" and frame.f_code is threading.Condition.__enter__.__code__:
                sys.setprofile(None)
                raise KeyboardInterrupt

        factory.start()
        pods.wait_for_sync(30)
        sys.setprofile(interrupt)
        try:
            pods.wait_for_version("999999", timeout=0.01)
        except (KeyboardInterrupt, kinformer.Timeout):
            sys.setprofile(None)
            print("ended")
        factory.close()
        """,
    )
    assert (status, output) == (0, "ended\n")


@pytest.mark.parametrize("wait", ["factory.run()", "factory.close()"])
def test_ctrl_c_while_the_wait_for_the_end_begins_leaves_no_lock_taken(server, wait):
    status, output = run(
        server,
        f"""
        def interrupt(frame, event, _argument):
            if event == "return" and frame.f_code is threading.Condition.__enter__.__code__:
                sys.setprofile(None)
                raise KeyboardInterrupt

        factory.start()
        pods.wait_for_sync(30)
        closing = threading.Timer(0.2, factory.close)
        closing.start()
        sys.setprofile(interrupt)
        try:
            {wait}
        except KeyboardInterrupt:
            pass
        sys.setprofile(None)
        factory.close()
        closing.join()
        print("ended")
        """,
    )
    assert (status, output) == (0, "ended\n")


def test_ctrl_c_in_start_starts_nothing_or_all(server):
    """The thread may run by then: close() must not end the factory beside it."""
    server.create_pod("a")
    status, output = run(
        server,
        """
        start = threading.Thread.start

        def start_and_interrupt(thread):
            start(thread)
            threading.Thread.start = start
            raise KeyboardInterrupt

        threading.Thread.start = start_and_interrupt
        try:
            factory.start()
        except KeyboardInterrupt:
            print("interrupted", factory._is_started)
        for thread in threading.enumerate():
            if thread.name == "kinformer":
                thread.join(30)
        factory.start()
        pods.wait_for_sync(30)
        print(list(pods), [thread.name for thread in threading.enumerate()])
        factory.close()
        print([thread.name for thread in threading.enumerate()])
        """,
    )
    assert (status, output) == (0, "interrupted False\n['shop/a'] ['MainThread', 'kinformer']\n['MainThread']\n")


@pytest.mark.parametrize("error", ["ValueError", "SystemExit"])
def test_an_exception_of_a_handler_of_logging_does_not_stop_the_factory(server, error):
    status, output = run(
        server,
        f"""
        class Log(logging.Handler):
            def emit(self, record):
                raise {error}("no log")

        logging.getLogger("kinformer").setLevel(logging.INFO)
        logging.getLogger("kinformer").addHandler(Log())
        pods.on_add(print)
        factory.start()
        pods.wait_for_sync(30)
        pods.wait_for_version("1", timeout=30)
        print(pods.health.state)
        factory.close()
        print("closed")
        """,
    )
    assert status == 0 and all(text in output for text in (f"{error}: no log", "watching", "closed")), output


def test_ctrl_c_without_close_ends_the_program(server):
    status, output = run(server, "factory.start(); print('waits'); pods.wait_for_version('999999')", signal_at="waits")
    assert status == -signal.SIGINT or status == 130, output
    assert "KeyboardInterrupt" in output


def test_a_forked_child_gets_an_exception_that_says_so_and_can_make_a_factory(server):
    server.create_pod("a")
    status, output = run(
        server,
        """
        factory.start()
        pods.wait_for_sync(30)
        pid = os.fork()
        if pid == 0:
            for use in (lambda: pods["shop/a"], pods.wait_for_sync, lambda: factory.informer("nodes"), factory.start):
                try:
                    use()
                except kinformer.StateError as error:
                    print(error)
            factory.close()
            with kinformer.Factory.from_server(sys.argv[1]) as own:
                own_pods = own.informer("pods")
                own.start()
                own_pods.wait_for_sync(30)
                print(list(own_pods))
            sys.exit(4)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        print(pods["shop/a"].name)
        """,
        finds_leaks=False,
    )
    forked = "this process was forked after the factory was started"
    lines = output.splitlines()
    assert status == 0, output
    assert len(lines) == 7 and all(line.startswith(forked) for line in lines[:4]), output
    assert lines[4:] == ["['shop/a']", "4", "a"]


def test_a_factory_that_is_started_after_the_fork_works_in_the_child(server):
    server.create_pod("a")
    status, output = run(
        server,
        """
        pid = os.fork()
        factory.start()
        pods.wait_for_sync(30)
        os.write(1, pods["shop/a"].name.encode())  # whole, beside the other process
        if pid:
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """,
        finds_leaks=False,
    )
    assert (status, output) == (0, "aa0\n")


def test_a_sub_interpreter_is_refused(server):
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        interpreters = pytest.importorskip("_interpreters")
    status, output = run(
        server,
        f"""
        import {interpreters.__name__} as interpreters
        one = interpreters.create()
        interpreters.run_string(one, "import sys; sys.path[:] = " + repr(sys.path) + '''
        try:
            import kinformer
        except ImportError as error:
            print(error)
        ''')
        """,
    )
    assert status == 0 and output.startswith("kinformer works in the main interpreter of a process only"), output


@pytest.mark.parametrize("wait", ["pods.wait_for_version('999999')", "factory.run()"])
def test_a_descriptor_that_is_closed_behind_its_back_ends_the_factory_with_a_message(server, wait):
    status, output = run(
        server,
        f"""
        factory.start()
        pods.wait_for_sync(30)
        os.closerange(3, 200)
        try:
            {wait}
        except kinformer.Error as error:
            print(type(error).__name__, error)
        """,
    )
    # StateError: the factory had ended before the wait began.
    assert status == 0 and re.search("^(SystemFailure|StateError) .*descriptors", output, re.MULTILINE), output
