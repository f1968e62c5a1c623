"""What an informer says of itself: its health, and where its memory is."""

from __future__ import annotations

import dataclasses
from typing import Any

from .arguments import string
from .errors import Error, error_of
from ._native import ffi, lib


@dataclasses.dataclass(frozen=True)
class Health:
    """The state of an informer at one moment.

    state: "not started", "connecting", "listing", "watching", "backing off", "blocked" (a person must act) or "stopped".
    since: seconds in this state.
    retry_in: seconds until the next attempt; None if no attempt is planned.
    cause: why the informer backs off or is blocked; None without a cause.
    message: the cause for a person; "" without a cause.
    staleness: upper bound of the cache's age in seconds; None before the first list.
    objects: number of objects in the cache.
    listed, list_total: objects of the current list that have arrived, and that it will have (None: unknown).
    skipped: objects that could not be read, since the start.
    unreadable, unreadable_message: objects whose current state could not be read, and the first of them with the reason.
    failures: failed attempts in a row.
    object_bytes: memory of the objects, in bytes.
    is_over_memory_limit: they took more than the informer's `memory_limit`, and do not take a tenth less yet.
    """

    state: str
    since: float
    retry_in: float | None
    cause: Error | None
    message: str
    staleness: float | None
    objects: int
    listed: int
    list_total: int | None
    skipped: int
    unreadable: int
    unreadable_message: str
    failures: int
    object_bytes: int
    is_over_memory_limit: bool


@dataclasses.dataclass(frozen=True)
class Memory:
    """The memory of an informer's cache, in bytes as they were requested from the allocator.

    total: the sum. fields, shared, plain_bodies, packed_bodies, dictionaries: of the objects. indexes: how they are
    found. waiting: changes that wait for handlers. deleted: deleted objects that are kept. objects, packed_objects:
    numbers of objects. packed_json: bytes of JSON that the packed bodies have.
    """

    total: int
    fields: int
    shared: int
    plain_bodies: int
    packed_bodies: int
    dictionaries: int
    indexes: int
    waiting: int
    deleted: int
    objects: int
    packed_objects: int
    packed_json: int


def _seconds(milliseconds: int) -> float | None:
    return milliseconds / 1000 if milliseconds >= 0 else None


def read_health(informer: Any) -> Health:
    """Returns the health of a ki_informer."""
    health = ffi.new("ki_health *")
    lib.ki_informer_health_sized(informer, health, ffi.sizeof("ki_health"))
    return Health(
        state=string(lib.ki_state_name(health.state)),
        since=health.since_ms / 1000,
        retry_in=_seconds(health.retry_in_ms),
        cause=error_of(ffi.addressof(health[0], "cause")) if health.cause.code else None,
        message=string(health.message),
        staleness=_seconds(health.staleness_ms),
        objects=health.objects,
        listed=health.listed,
        list_total=health.list_total if health.list_total >= 0 else None,
        skipped=health.skipped,
        unreadable=health.unreadable,
        unreadable_message=string(health.unreadable_message),
        failures=health.failures,
        object_bytes=health.object_bytes,
        is_over_memory_limit=bool(health.is_over_memory_limit),
    )


def read_memory(informer: Any) -> Memory:
    """Returns the memory of a ki_informer."""
    memory = ffi.new("ki_memory *")
    lib.ki_informer_memory_sized(informer, memory, ffi.sizeof("ki_memory"))
    return Memory(**{field.name: getattr(memory, field.name) for field in dataclasses.fields(Memory)})
