"""A fault that was added to a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..arguments import integer
from ..errors import NotFound
from ._native import lib

if TYPE_CHECKING:
    from .server import Server


class Fault:
    """A fault of a server.

    id: its number. line: what it does, and for which requests.
    """

    def __init__(self, server: Server, line: str, number: int) -> None:
        """Made by server.fault()."""
        self._server = server
        self.line = line
        self.id = number

    @property
    def requests(self) -> int:
        """The number of requests that it applied to. Errors: NotFound (removed, also by a reset)."""
        return int(self._counts()["requests"])

    @property
    def injected(self) -> int:
        """The number of requests in which it was injected. Errors: NotFound (removed, also by a reset)."""
        return int(self._counts()["injected"])

    def wait(self, count: int = 1, timeout: float | None = 10) -> None:
        """Waits until the fault was injected at least `count` times.

        timeout: seconds; None: no limit. Errors: Timeout (the message says how often it was), NotFound (removed).
        """
        self._server._wait(lib.ki_testing_server_wait_for_fault, self.id, integer("count", count), timeout=timeout)

    def remove(self) -> None:
        """Removes the fault: later requests are not affected. Errors: NotFound (removed before)."""
        self._server._call(lib.ki_testing_server_remove_fault, self.id)

    def _counts(self) -> Any:
        faults = self._server._read_json(lib.ki_testing_server_faults)["faults"]
        for fault in faults:
            if fault["id"] == self.id:
                return fault
        raise NotFound(f"the fault {self.id} ({self.line}) was removed")

    def __repr__(self) -> str:
        return f"<Fault {self.id} {self.line}>"
