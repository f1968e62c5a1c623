"""Handlers: what the program is called with for each change, and the registration of a handler."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal

from .arguments import callback
from .errors import Error, call
from .log import interrupted, logger
from .object import Object
from ._native import ffi, lib

if TYPE_CHECKING:
    from .informer import BaseInformer

EventType = Literal["add", "update", "delete"]

_TYPES: dict[int, EventType] = {lib.KI_EVENT_ADD: "add", lib.KI_EVENT_UPDATE: "update", lib.KI_EVENT_DELETE: "delete"}
_METHODS = ("on_add", "on_update", "on_delete", "on_synced")


class Event:
    """One change of one object.

    type: "add", "update" or "delete".
    obj: the new state; on delete the last known state.
    old: on update the state of this handler's previous event; else None.
    is_in_initial_list: on add: the object existed when the informer started, or when the handler was added.
    is_resync: on update: a periodic resync, or a relist that changes nothing.
    final_state_unknown: on delete: the delete event was missed, and `obj` may be out of date.
    """

    __slots__ = ("type", "obj", "old", "is_in_initial_list", "is_resync", "final_state_unknown")

    def __init__(self, event: Any, make: type[Object]) -> None:
        self.type: EventType = _TYPES[event.type]
        self.obj: Object = make(lib.ki_object_ref(event.obj))
        self.old: Object | None = make(lib.ki_object_ref(event.old)) if event.old else None
        self.is_in_initial_list: bool = event.is_in_initial_list
        self.is_resync: bool = event.is_resync
        self.final_state_unknown: bool = event.final_state_unknown

    @property
    def key(self) -> str:
        """The key of the object, "namespace/name" or "name"."""
        return self.obj.key

    @property
    def new(self) -> Object:
        """`obj`, beside `old`."""
        return self.obj

    def __repr__(self) -> str:
        return f"<Event {self.type} {self.key}>"


class Registration:
    """A handler that was added to an informer.

    errors: exceptions that left its methods since it was added. Each was logged with its traceback.
    """

    def __init__(self, informer: BaseInformer, handler: Any) -> None:
        self._informer = informer
        self._methods = {name: getattr(handler, name) for name in _METHODS if getattr(handler, name, None) is not None}
        if not self._methods:
            raise TypeError(f"a handler has one of the methods {', '.join(_METHODS)}; {handler!r} has none")
        for name, method in self._methods.items():
            if not callable(method):
                raise TypeError(f"{name} of a handler must be callable, not {type(method).__name__}")
            if inspect.iscoroutinefunction(method):
                raise TypeError(f"{name} is a coroutine function, which nothing would await: use events() of kinformer.aio")
            callback(name, method, *([] if name == "on_synced" else ["event"]))
        self.errors = 0
        self._handle = ffi.new_handle(self)
        self._registration = ffi.new("ki_registration *")

    def _add(self) -> None:
        handler = ffi.new("ki_handler *", {"on_removed": lib.kpy_on_removed})
        for name in self._methods:
            setattr(handler, name, lib.kpy_on_synced if name == "on_synced" else lib.kpy_on_event)
        self._informer._registrations.add(self)
        try:
            add = lib.ki_informer_add_handler
            call(add, self._informer._pointer, handler, self._handle, ffi.NULL, self._registration)
        except Error:  # after any other, of a signal's handler, the library may have the handler
            self._informer._registrations.discard(self)
            raise

    def remove(self) -> None:
        """Removes the handler: no new call starts. Errors: NotFound (removed before), StateError (closed)."""
        self._informer._factory._check()
        call(lib.ki_informer_remove_handler, self._informer._pointer, self._registration[0])

    @property
    def has_synced(self) -> bool:
        """True once the handler has returned from the call for each initial object."""
        self._informer._factory._check()
        return bool(lib.ki_registration_has_synced(self._registration[0]))

    @property
    def pending(self) -> int:
        """The number of changes that wait for the handler."""
        self._informer._factory._check()
        return int(lib.ki_registration_pending(self._registration[0]))

    def _leave(self, error: BaseException) -> bool:
        return self._informer._factory._leave(error)

    def _call(self, name: str, *arguments: Any) -> None:
        self._informer._factory._running = (f"{name} of a handler", self._informer)
        try:
            self._methods[name](*arguments)
        except BaseException as error:
            if self._informer._factory._leave(error):
                return
            self.errors += 1
            where = "".join(f" for {event.key}" for event in arguments)
            logger.exception("%s of a handler of %s failed%s: %r", name, self._informer, where, self._methods[name])
        finally:
            self._informer._factory._running = None


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_event(event: Any, user: Any) -> None:
    registration: Registration = ffi.from_handle(user)
    change = Event(event, registration._informer._object_class)
    registration._call(f"on_{change.type}", change)


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_synced(_informer: Any, user: Any) -> None:
    registration: Registration = ffi.from_handle(user)
    registration._call("on_synced")


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_removed(user: Any) -> None:
    registration: Registration = ffi.from_handle(user)
    registration._informer._past_errors += registration.errors
    registration._informer._registrations.discard(registration)
