"""A snapshot: one state of a cache with its indexes, which never changes, for any number of reads."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any

from .arguments import string, text
from .errors import Invalid, call
from .object import Object
from ._native import ffi, lib

Objects = list[Object]


class Snapshot(Mapping[str, Object]):
    """A mapping of keys ("namespace/name" or "name") to objects. The order is none in particular.

    A snapshot may outlive its informer, and several threads may read it.
    """

    def __init__(self, pointer: Any, make: type[Object]) -> None:
        """pointer: a ki_snapshot, which the object frees at its end."""
        self._pointer = ffi.gc(pointer, lib.ki_snapshot_free)
        self._make = make

    @property
    def resource_version(self) -> str:
        """The resource version of the cache; "" before the first list."""
        return string(lib.ki_snapshot_resource_version(self._pointer))

    def __getitem__(self, key: str) -> Object:
        obj = lib.ki_snapshot_get(self._pointer, text("key", key))
        if not obj:
            raise KeyError(key)
        return self._make(lib.ki_object_ref(obj))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(lib.ki_snapshot_get(self._pointer, text("key", key)))

    def __len__(self) -> int:
        return int(lib.ki_snapshot_count(self._pointer))

    def __iter__(self) -> Iterator[str]:
        return (obj.key for obj in self._walk())

    def values(self) -> ValuesView[Object]:
        """Returns the objects."""
        return _Values(self)

    def items(self) -> ItemsView[str, Object]:
        """Returns pairs of key and object."""
        return _Items(self)

    def by_index(self, name: str, value: str) -> Objects:
        """Returns the objects with this value in the index. Errors: Invalid (there is no such index)."""
        name_text, value_text = text("name", name), text("value", value)
        if not lib.ki_snapshot_has_index(self._pointer, name_text):
            raise Invalid(f"there is no index {name}: name it in factory.informer(indexes=…)")
        return [*self._walk(lib.ki_snapshot_next_by_index, name_text, value_text)]

    def list(self, *, labels: str = "", fields: str = "", namespace: str = "") -> Objects:
        """Returns the objects that match, as Informer.list does. Errors: ParseError (a selector)."""
        selector = ffi.new("ki_selector **")
        call(lib.ki_selector_new, text("labels", labels), text("fields", fields), selector)
        try:
            return [*self._walk(lib.ki_snapshot_next_match, text("namespace", namespace), selector[0])]
        finally:
            lib.ki_selector_free(selector[0])

    def __repr__(self) -> str:
        return f"<Snapshot of {len(self)} objects resource_version={self.resource_version}>"

    def _walk(self, step: Any = lib.ki_snapshot_next, *arguments: Any) -> Iterator[Object]:
        cursor = ffi.new("ki_cursor *")
        while obj := step(self._pointer, *arguments, cursor):
            yield self._make(lib.ki_object_ref(obj))


class _Values(ValuesView[Object]):
    _mapping: Snapshot

    def __iter__(self) -> Iterator[Object]:
        return self._mapping._walk()


class _Items(ItemsView[str, Object]):
    _mapping: Snapshot

    def __iter__(self) -> Iterator[tuple[str, Object]]:
        return ((obj.key, obj) for obj in self._mapping._walk())
