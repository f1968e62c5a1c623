"""Informers for asyncio: the event loop drives them, without a thread.

    import asyncio
    import kinformer.aio

    async def main():
        async with kinformer.aio.Factory() as factory:
            pods = factory.informer("pods", view={"phase": "status.phase"})
            factory.start()
            await pods.wait_for_sync()
            async for event in pods.events():
                print(event.type, event.key, event.obj.phase)

    asyncio.run(main())
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from types import TracebackType
from typing import Any

from .arguments import milliseconds
from .errors import Error, LimitExceeded, StateError, error_of, new_error
from .factory import BaseFactory
from .handler import Event
from .informer import BaseInformer
from .log import logger, write_messages
from .object import Object
from .operation import Deletion, Fetch, Operation, Sync, Version
from ._native import ffi, lib

__all__ = ["EVENTS_MAX", "Events", "Factory", "Informer"]

EVENTS_MAX = 250_000  # events that wait for one iterator


class Events:
    """The changes of an informer's objects, as an asynchronous iterator of Event: first an "add" for each object that
    is there, then each change, in order.

    Events wait until they are taken, at most EVENTS_MAX; then the iterator ends with LimitExceeded. It ends without an
    exception when the factory is closed, and with the failure if the factory fails. It removes itself from the
    informer by close(), at the end of `async with`, and when nothing refers to it any more.
    """

    def __init__(self, informer: Informer) -> None:
        """Made by informer.events()."""
        self._buffer = _Buffer(str(informer))
        self._registration = informer.add_handler(self._buffer)
        informer._factory._buffers.add(self._buffer)
        self._factory = informer._factory

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        buffer = self._buffer
        while not buffer.events:
            if buffer.has_ended:
                if buffer.failure:
                    raise buffer.failure
                raise StopAsyncIteration
            buffer.changed.clear()
            await buffer.changed.wait()
        return buffer.events.popleft()

    def close(self) -> None:
        """Ends the iterator, and drops the events that wait. Repeatable."""
        self._buffer.events.clear()
        if not self._buffer.has_ended:
            self._buffer.end(None)
            self._factory._buffers.discard(self._buffer)
            try:
                self._registration.remove()
            except Error:  # the factory is closed: nothing comes any more
                pass

    async def __aenter__(self) -> Events:
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_factory"):
            self.close()


class _Buffer:
    """The handler behind Events: the informer refers to it, and nobody but the program to Events."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.events: deque[Event] = deque()
        self.changed = asyncio.Event()
        self.has_ended = False
        self.failure: Error | None = None

    def on_add(self, event: Event) -> None:
        if self.has_ended:
            return
        if len(self.events) >= EVENTS_MAX:
            self.end(LimitExceeded(f"{EVENTS_MAX} events of {self._name} wait: the program is slower than the changes"))
            return
        self.events.append(event)
        self.changed.set()

    on_update = on_add
    on_delete = on_add

    def end(self, failure: Error | None) -> None:
        self.has_ended = True
        self.failure = failure
        self.changed.set()


class Informer(BaseInformer):
    """An informer of a Factory of this module. Handlers are called on the event loop, and must not block it.

    Further errors of the waits: Cancelled (the factory was closed), StateError (the factory or the informer is not
    started, or the factory was started on another event loop). A wait that is cancelled leaves nothing behind.
    """

    _factory: Factory

    def events(self) -> Events:
        """Returns the changes as an asynchronous iterator, which waits for start(). Several have all events each."""
        return Events(self)

    async def wait_for_sync(self, timeout: float | None = None) -> None:
        """Waits until the whole first list is in the cache; after set_namespaces() until that set's objects are, and
        no others.

        timeout: seconds; None: no limit. Errors: Timeout (the message says why it has not synced).
        """
        await self._factory._wait_async(Sync(self, timeout))

    async def wait_for_version(
        self, resource_version: str | None, key: str | None = None, timeout: float | None = None
    ) -> None:
        """Waits until the cache contains a write.

        resource_version: the version that the write returned; None with a key: any. key: ends the wait earlier, once
        the object under the key is at that version. timeout: seconds; None: no limit.
        Errors: Timeout, Invalid (neither a version nor a key; a key that no object of the informer can have).
        """
        await self._factory._wait_async(Version(self, resource_version, key, timeout))

    async def wait_for_deletion(self, key: str, uid: str | None = None, timeout: float | None = None) -> None:
        """Waits until the cache has no object under the key, or one with another uid.

        timeout: seconds; None: no limit. Errors: Timeout, Invalid (a key that no object of the informer can have).
        """
        await self._factory._wait_async(Deletion(self, key, uid, timeout))

    async def get_or_fetch(self, key: str, timeout: float | None = None) -> Object | None:
        """Returns the object from the cache, or else from the server; None if there is none.

        timeout: seconds; None: no limit.
        Errors: Forbidden and the like (the response), Timeout (unknown: the server is away).
        """
        found: Object | None = await self._factory._wait_async(Fetch(self, key, timeout))
        return found


class Factory(BaseFactory[Informer]):
    """A factory that the event loop drives, on which all handlers are called. What is said of the factory's thread is
    true of the event loop's here.

        async with kinformer.aio.Factory() as factory:
            pods = factory.informer("pods")
            factory.start()
            await pods.wait_for_sync(timeout=10)

    Controllers have threads of their own: make them with kinformer.Factory, beside this one.

    The factory belongs to the event loop that runs at start(); once that is closed, the factory does nothing any more.
    SystemExit and KeyboardInterrupt in a handler, a transform or a function of an elector end the loop. A process that
    is forked after start() makes a factory of its own: this one raises StateError there.
    """

    _informer_class = Informer

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._event_loop: asyncio.AbstractEventLoop | None = None
        self._stopping: Any = None  # the ki_informer whose stop is the end of aclose()
        self._ended = asyncio.Event()
        self._buffers: set[_Buffer] = set()
        self._exit: BaseException | None = None  # what left a function of the program, and ends the event loop

    def start(self) -> None:
        """Starts every informer that is not started yet. Repeatable.

        Errors: StateError (the factory is closed, or belongs to another event loop), RuntimeError (no event loop runs).
        """
        self._check_loop(asyncio.get_running_loop())
        self._start(self._add_readers)

    def _add_readers(self) -> None:
        self._event_loop = asyncio.get_running_loop()
        self._event_loop.add_reader(lib.ki_engine_fd(self._engine), self._step)
        self._event_loop.add_reader(lib.kpy_loop_wake_fd(self._loop), self._wake)

    @property
    def client(self) -> Any:
        """The kinformer.Client, whose functions are awaited here: `await factory.client.get("pods", "shop/cart-1")`."""
        return super().client

    async def wait_for_sync(self, timeout: float | None = None) -> None:
        """Waits until all informers have synced.

        timeout: seconds; None: no limit.
        Errors: Timeout (the message says which has not, and why), Cancelled, StateError (not started).
        """
        milliseconds("timeout", timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        for informer in list(self._informers.values()):
            await informer.wait_for_sync(None if deadline is None else max(0.0, deadline - time.monotonic()))

    async def aclose(self) -> None:
        """Stops the informers, and waits for it. No handler is called afterwards, and iterators end. Repeatable.

        Errors: StateError (the factory belongs to another event loop, which is open).
        """
        if self._unusable:
            return
        if self._event_loop is None or self._event_loop.is_closed():
            self._begin_close()
            self._end(None)
            return
        self._check_loop(asyncio.get_running_loop())
        if self._stopping is None:
            self._begin_close()
            lib.ki_factory_stop(self._pointer)
            self._stopping = self._any_informer()
            self._end_if_stopped()
        try:
            await self._ended.wait()
        except BaseException:  # the task is cancelled: no handler is called later all the same
            self._end(None)
            raise

    async def __aenter__(self) -> Factory:
        self._check()
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _leave(self, error: BaseException) -> bool:
        if not isinstance(error, (KeyboardInterrupt, SystemExit)):
            return False
        self._exit = self._exit or error
        return True

    def _step(self) -> None:
        """Called by the event loop when the engine has work."""
        err = new_error()
        failure = error_of(err) if lib.ki_engine_step(self._engine, 0, err) else None
        write_messages(self._loop, self._leave)
        if failure:
            self._end(failure)
            logger.error("the factory has ended: %s", failure)
        else:
            self._end_if_stopped()
        self._raise_exit()

    def _wake(self) -> None:
        """Called by the event loop when the library has written to its log."""
        os.read(lib.kpy_loop_wake_fd(self._loop), 8)
        write_messages(self._loop, self._leave)
        self._raise_exit()

    def _raise_exit(self) -> None:
        if error := self._exit:
            self._exit = None
            raise error

    def _end_if_stopped(self) -> None:
        if self._stopping is not None and (self._stopping == ffi.NULL or lib.kpy_has_stopped(self._stopping)):
            self._end(None)

    def _end(self, failure: Error | None) -> None:
        if self._unusable:
            return
        if self._event_loop and not self._event_loop.is_closed():
            self._event_loop.remove_reader(lib.ki_engine_fd(self._engine))
            self._event_loop.remove_reader(lib.kpy_loop_wake_fd(self._loop))
        self._finish(failure)
        for buffer in self._buffers:
            buffer.end(failure)
        self._buffers.clear()
        self._ended.set()

    def _check_loop(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._event_loop not in (None, loop):
            raise StateError("the factory belongs to the event loop that ran at its start: make a new one in this loop")

    def _wait(self, operation: Operation) -> Any:
        return self._wait_async(operation)

    async def _wait_async(self, operation: Operation) -> Any:
        self._check()
        if self._event_loop is None:
            raise StateError("the factory is not started: call start() first")
        loop = asyncio.get_running_loop()
        self._check_loop(loop)
        ended: asyncio.Future[None] = loop.create_future()

        def notify() -> None:
            if not ended.done() and not loop.is_closed():
                ended.set_result(None)

        operation.begin(notify)
        try:
            await asyncio.wait([ended], timeout=operation.limit)
            if not operation.has_ended:
                operation.expire()
        except BaseException:  # the task is cancelled
            operation.cancel()
            raise
        return operation.result()

    def _end_with_interpreter(self) -> None:
        if self._is_started:
            self._end(None)
