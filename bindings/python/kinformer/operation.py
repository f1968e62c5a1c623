"""Operations that take time: the library ends each by a call on the loop.

A factory decides how the program waits: by blocking a thread, or in asyncio. So that both are one code, an operation
begins, notifies, and then has a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .arguments import milliseconds, text, text_or_null
from .errors import Cancelled, Error, NotFound, Timeout, call, error_of, error_of_status
from .log import interrupted
from .object import Object
from ._native import ffi, lib

if TYPE_CHECKING:
    from .factory import BaseFactory
    from .informer import BaseInformer


_BUSY_SECONDS = 1.0


def _limit(timeout: float | None) -> float | None:
    """Returns the limit of an operation that has one in the library, whose timer waits for a handler that is running."""
    return None if timeout is None else timeout + _BUSY_SECONDS


class Operation:
    """A wait for the library.

    limit: seconds after which whoever waits calls expire(); None: the library ends the operation.
    """

    limit: float | None = None

    def __init__(self, factory: BaseFactory[Any]) -> None:
        self._factory = factory
        self._handle = ffi.new_handle(self)
        self._notify: Callable[[], None] = lambda: None
        self._error: Exception | None = None
        self._may_be_taken = False  # the library may call
        self.has_ended = False

    def begin(self, notify: Callable[[], None]) -> None:
        """Begins. `notify` is called once, on the loop, when the operation has ended; not after an exception."""
        self._notify = notify
        operations = self._factory._operations
        operations.add(self)
        try:
            self._begin()
        except BaseException:
            if self._may_be_taken:
                self.cancel()
            else:
                operations.discard(self)
            raise

    def result(self) -> Any:
        """Returns the result of an operation that has ended, or raises its failure."""
        if self._error:
            raise self._error
        return None

    def cancel(self) -> None:
        """Asks the library to end the operation early; its call still comes."""

    def expire(self) -> None:
        """Ends the operation at its limit, without a notification."""
        self.cancel()
        if not self.has_ended:
            self.has_ended = True
            self._error = self._timeout()

    def end(self, error: Exception | None) -> None:
        """Ends the operation, and notifies, unless it has ended."""
        if not self.has_ended:
            self.has_ended = True
            self._error = error
            self._notify()

    def _begin(self) -> None:
        raise NotImplementedError

    def _call(self, function: Any, *arguments: Any) -> None:
        """Calls the library's function that begins. The exception of a signal's handler can come after its success."""
        self._may_be_taken = True
        try:
            call(function, *arguments)
        except Error:
            self._may_be_taken = False
            raise

    def _leave(self, error: BaseException) -> bool:
        """Takes an exception that ended a call of the library (log.interrupted), and ends the operation."""
        is_taken = self._factory._leave(error)
        self.end(Cancelled(f"interrupted: {type(error).__name__}"))
        return is_taken

    def _release(self) -> None:
        """The library has made its last call."""
        self._factory._operations.discard(self)

    def _timeout(self) -> Error:
        raise NotImplementedError


class InformerOperation(Operation):
    """A wait for an informer."""

    _what: str  # what has not happened, if the library does not say it: for the message of a Timeout

    def __init__(self, informer: BaseInformer) -> None:
        super().__init__(informer._factory)
        self._informer = informer

    def _timeout(self) -> Error:
        health = self._informer.health
        reason = f": {health.message}" if health.message else ""
        if running := self._factory._running:
            reason += f"; the factory's thread is in {running[0]} of {running[1]}"
        return Timeout(f"{self._informer}: {self._what} within the time limit ({health.state}{reason})")


class Sync(InformerOperation):
    """Until the informer's whole first list is in the cache, and its namespaces are those that were set last: a handler
    that is called for nothing else."""

    _what = "not synced"

    def __init__(self, informer: BaseInformer, timeout: float | None) -> None:
        super().__init__(informer)
        milliseconds("timeout", timeout)
        self.limit = timeout
        self._registration = ffi.new("ki_registration *")

    def _begin(self) -> None:
        self._informer._check_started()
        calls = {"on_synced": lib.kpy_on_sync, "on_namespaces_synced": lib.kpy_on_sync, "on_removed": lib.kpy_on_sync_removed}
        handler = ffi.new("ki_handler *", calls)
        add = lib.ki_informer_add_handler
        self._call(add, self._informer._pointer, handler, self._handle, ffi.NULL, self._registration)

    def expire(self) -> None:
        super().expire()
        if isinstance(self._error, Timeout) and lib.ki_informer_namespaces_have_synced(self._informer._pointer):
            self._error = None  # the call that says so was on its way, as with timeout=0

    def cancel(self) -> None:
        lib.ki_informer_remove_handler(self._informer._pointer, self._registration[0], ffi.NULL)


class Write(InformerOperation):
    """Until the cache has seen a write.

    wait: the library's function. arguments: its key, and its version or uid.
    """

    def __init__(self, informer: BaseInformer, wait: Any, arguments: tuple[Any, Any], timeout: float | None) -> None:
        super().__init__(informer)
        self._wait = wait
        self._arguments = (*arguments, milliseconds("timeout", timeout))
        self.limit = _limit(timeout)

    def _begin(self) -> None:
        self._informer._check_started()
        self._call(self._wait, self._informer._pointer, *self._arguments, lib.kpy_on_waited, self._handle)

    def cancel(self) -> None:
        lib.ki_informer_cancel_version_waits(self._informer._pointer, lib.kpy_on_waited, self._handle, ffi.NULL)


class Version(Write):
    """Until the cache contains a write."""

    def __init__(self, informer: BaseInformer, version: str | None, key: str | None, timeout: float | None) -> None:
        arguments = text_or_null("key", key), text_or_null("resource_version", version)
        super().__init__(informer, lib.ki_informer_wait_for_version_async, arguments, timeout)
        self._what = f"version {version or 'any'} of {key or 'the cache'} not seen"


class Deletion(Write):
    """Until the cache has seen a deletion."""

    def __init__(self, informer: BaseInformer, key: str, uid: str | None, timeout: float | None) -> None:
        arguments = text("key", key), text_or_null("uid", uid)
        super().__init__(informer, lib.ki_informer_wait_for_deletion_async, arguments, timeout)
        self._what = f"the deletion of {key} not seen"


class Fetch(InformerOperation):
    """An object from the cache, or else from the server."""

    def __init__(self, informer: BaseInformer, key: str, timeout: float | None) -> None:
        super().__init__(informer)
        self._key = text("key", key)
        self._milliseconds = milliseconds("timeout", timeout)
        self.limit = _limit(timeout)
        self._what = f"{key} not fetched"
        self._object: Object | None = None

    def _begin(self) -> None:
        fetch = lib.ki_informer_get_or_fetch_async
        self._call(fetch, self._informer._pointer, self._key, self._milliseconds, lib.kpy_on_fetched, self._handle)

    def result(self) -> Object | None:
        """Returns the object; None if there is none."""
        if isinstance(self._error, NotFound):
            return None
        super().result()
        return self._object

    def cancel(self) -> None:
        lib.ki_informer_cancel_fetches(self._informer._pointer, lib.kpy_on_fetched, self._handle, ffi.NULL)


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_sync(informer: Any, user: Any) -> None:
    operation: Sync = ffi.from_handle(user)
    if lib.ki_informer_namespaces_have_synced(informer):
        operation.end(None)
        operation.cancel()


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_sync_removed(user: Any) -> None:
    operation: Sync = ffi.from_handle(user)
    operation._release()


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_waited(_informer: Any, status: int, user: Any) -> None:
    operation: InformerOperation = ffi.from_handle(user)
    operation._release()
    if status == lib.KI_ERR_TIMEOUT:
        operation.end(operation._timeout())
    elif status:
        operation.end(error_of_status(status, f"waiting for {operation._informer}: stopped"))
    else:
        operation.end(None)


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_fetched(_informer: Any, _key: Any, obj: Any, err: Any, user: Any) -> None:
    operation: Fetch = ffi.from_handle(user)
    operation._release()
    if obj:
        operation._object = operation._informer._object_class(lib.ki_object_ref(obj))
    operation.end(error_of(err) if err else None)
