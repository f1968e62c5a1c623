"""Where the package works: in the main interpreter of a process."""

import importlib


def check_interpreter() -> None:
    """Raises ImportError in a sub-interpreter: the library's callbacks come to the main interpreter alone."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # Python 3.13, and before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        current, main = interpreters.get_current(), interpreters.get_main()
        if current != main:
            raise ImportError(
                "kinformer works in the main interpreter of a process only, and this is a sub-interpreter: "
                "with mod_wsgi set WSGIApplicationGroup %{GLOBAL}; else import kinformer in a process of its own"
            )
        return
