"""Views: the fields of an object that the program reads as attributes.

A view is a mapping of attributes to paths: {"node": "spec.nodeName", "replicas": ("spec.replicas", int)}. The library
reads the fields once, when it decodes an object, and keeps them beside it.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import keyword
from collections.abc import Callable, Mapping
from typing import Any

from .arguments import text
from ._native import ffi, lib

Getter = Callable[[Any], Any]

_UTC_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def _read_text(base: Any, offset: int) -> str | None:
    value = lib.kpy_text(base, offset)
    return ffi.string(value).decode("utf-8", "replace") if value else None


def _read_time(base: Any, offset: int) -> datetime.datetime | None:
    value = lib.kpy_int(base, offset)
    return _UTC_EPOCH + datetime.timedelta(milliseconds=value) if value else None


def _read_quantity(base: Any, offset: int) -> decimal.Decimal:
    return decimal.Decimal(lib.kpy_int(base, offset)) / 1000


def _read_strings(base: Any, offset: int) -> list[str]:
    strings = lib.kpy_string_list(base, offset)
    return [ffi.string(strings.items[i]).decode("utf-8", "replace") for i in range(strings.count)]


def _read_map(base: Any, offset: int) -> dict[str, str]:
    pairs = lib.kpy_string_map(base, offset)
    name, value = ffi.new("const char **"), ffi.new("const char **")
    members = {}
    index = 0
    while lib.ki_string_map_at(pairs, index, name, value):
        members[ffi.string(name[0]).decode("utf-8", "replace")] = ffi.string(value[0]).decode("utf-8", "replace")
        index += 1
    return members


# Type of Python: type of C, size of the member, how it is read.
_TYPES: dict[Any, tuple[int, int, Callable[[Any, int], Any]]] = {
    str: (lib.KI_FIELD_TYPE_TEXT, 8, _read_text),
    int: (lib.KI_FIELD_TYPE_INT64, 8, lib.kpy_int),
    float: (lib.KI_FIELD_TYPE_DOUBLE, 8, lib.kpy_double),
    bool: (lib.KI_FIELD_TYPE_BOOL, 8, lib.kpy_bool),
    datetime.datetime: (lib.KI_FIELD_TYPE_TIME, 8, _read_time),
    decimal.Decimal: (lib.KI_FIELD_TYPE_MILLI, 8, _read_quantity),
    list: (lib.KI_FIELD_TYPE_STRING_LIST, 16, _read_strings),
    dict: (lib.KI_FIELD_TYPE_STRING_MAP, 16, _read_map),
}
_TYPE_NAMES = "str, int, float, bool, datetime, Decimal, list (of strings), dict (of strings) or a view"


class View:
    """A compiled view: the array of ki_field, and how each attribute is read.

    fields: the array, which must outlive the informer and its objects, with `kept`, the memory that it points to.
    getters: attribute → function of the pointer to the struct. names: the attributes in their order, those of
    the objects in an array as "ports.port".
    """

    def __init__(self, view: Mapping[str, Any], reserved: frozenset[str] = frozenset()) -> None:
        if not isinstance(view, Mapping):
            raise TypeError(f"a view must be a mapping of names to paths, not {type(view).__name__}")
        self.fields = ffi.new("ki_field[]", len(view) + 1)
        self.kept: list[Any] = []
        self.getters: dict[str, Getter] = {}
        self.names: list[str] = []
        offset = 0
        for i, (name, field) in enumerate(view.items()):
            _check_name(name, reserved)
            path, kind = field if isinstance(field, tuple) and len(field) == 2 else (field, str)
            path_text = ffi.new("char[]", text(f"the path of the view's {name}", path))
            self.kept.append(path_text)
            self.fields[i].path = path_text
            self.fields[i].offset = offset
            offset += self._add(i, name, kind, offset)
        for i in range(len(view)):
            self.fields[i].struct_size = offset

    def _add(self, i: int, name: str, kind: Any, offset: int) -> int:
        """Sets the type of the field and its getter. Returns the size of the member."""
        self.names.append(name)
        if isinstance(kind, Mapping):
            elements = View(kind)
            self.kept.append(elements)
            self.fields[i].type = lib.KI_FIELD_TYPE_LIST
            self.fields[i].elements = elements.fields
            self.getters[name] = _list_getter(name, elements, offset)
            self.names += [f"{name}.{inner}" for inner in elements.names]
            return 16
        if not isinstance(kind, type) or kind not in _TYPES:
            raise TypeError(f"the view's {name} has the type {kind!r}: use {_TYPE_NAMES}")
        self.fields[i].type, size, read = _TYPES[kind]
        self.getters[name] = lambda base: read(base, offset)
        return size


def _check_name(name: str, reserved: frozenset[str]) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a view's names are str, not {type(name).__name__}")
    if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise ValueError(f"a view's name must be an identifier that does not begin with _, not {name!r}")
    if name in reserved:
        raise ValueError(f"every object has the attribute {name}: give the view's field another name")


def _list_getter(name: str, elements: View, offset: int) -> Getter:
    record = collections.namedtuple(name, list(elements.getters))  # type: ignore[misc]
    getters = list(elements.getters.values())
    size = elements.fields[0].struct_size

    def read(base: Any) -> list[Any]:
        items = lib.kpy_list(base, offset)
        begin = ffi.cast("const char *", items.items)
        return [record._make(get(begin + i * size) for get in getters) for i in range(items.count)]

    return read
