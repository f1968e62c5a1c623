"""Kubernetes Events about objects, which `kubectl describe` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .arguments import Struct, text
from .errors import call
from .object import Object
from ._native import ffi, lib

if TYPE_CHECKING:
    from .factory import BaseFactory


class RecorderCounts(NamedTuple):
    """Events since the recorder was made: each recorded one is sent, dropped, filtered, failed or queued."""

    recorded: int
    sent: int
    dropped: int
    filtered: int
    failed: int
    queued: int


class EventRecorder:
    """Records events about objects. Equal events become one Event whose count rises.

    factory.event_recorder("sample-controller").record(foo, "Synced", "Foo synced successfully")
    """

    def __init__(self, factory: BaseFactory[Any], component: str) -> None:
        """Made by factory.event_recorder()."""
        self._factory = factory
        made = ffi.new("ki_event_recorder **")
        options = Struct("ki_event_recorder_options", component=text("component", component))
        call(lib.ki_event_recorder_new, factory._pointer, options.struct, made)
        self._pointer = made[0]
        factory._parts.append(self)

    def record(
        self, obj: Object, reason: str, message: str = "", type: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        """Records an event, which is sent later: this never waits.

        reason: one CamelCase word for programs. message: a sentence for people; of a long one the first 1,024
        bytes.
        """
        self._factory._check()
        if not isinstance(obj, Object):
            raise TypeError(f"an event is about an Object, not {obj!r}")
        if type not in ("Normal", "Warning"):
            raise ValueError(f"type must be Normal or Warning, not {type!r}")
        parts = Struct(
            "ki_record", obj=obj._pointer, type=type, reason=text("reason", reason), message=text("message", message)
        )
        lib.ki_event_recorder_record_with(self._pointer, parts.struct)

    @property
    def counts(self) -> RecorderCounts:
        """What has become of the recorded events."""
        self._factory._check()
        counts = ffi.new("ki_event_recorder_counts *")
        lib.ki_event_recorder_count(self._pointer, counts)
        return RecorderCounts(*(getattr(counts, name) for name in RecorderCounts._fields))

    def _end(self) -> None:
        pass

    def _free(self) -> None:
        lib.ki_event_recorder_free(self._pointer)
