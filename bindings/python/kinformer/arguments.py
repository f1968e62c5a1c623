"""Arguments of the public functions, checked and converted for C."""

from __future__ import annotations

import inspect
import math
from typing import Any, Callable

from ._native import ffi

_MILLISECONDS_MAX = 2**53


def text(name: str, value: str) -> bytes:
    """Returns a string as C takes it. Errors: TypeError; ValueError for a zero character."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name} has a zero character")
    return value.encode("utf-8", "surrogateescape")


def optional_text(name: str, value: str | None) -> str | None:
    """Returns the string or None. Errors: as of text()."""
    if value is not None:
        text(name, value)
    return value


def text_or_null(name: str, value: str | None) -> Any:
    """Returns an optional string as a function of C takes it. Errors: as of text()."""
    return ffi.NULL if value is None else text(name, value)


def callback(name: str, function: Callable[..., Any], *parameters: str) -> None:
    """Checks that a function can be called with these parameters. Errors: TypeError."""
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except ValueError:  # some functions of C have none
        return
    try:
        signature.bind(*parameters)
    except TypeError:
        called = ", ".join(parameters)
        raise TypeError(f"{name} is called with ({called}), but {function!r} takes {signature}") from None


class Struct:
    """An options struct of C, with the memory of its strings.

    `struct` is the pointer; it is valid while this object exists. A field that is None keeps the default of C.
    """

    def __init__(self, kind: str, **fields: Any) -> None:
        self.struct = ffi.new(f"{kind} *")
        self.struct.size = ffi.sizeof(kind)
        self._kept: list[Any] = []
        for name, value in fields.items():
            if value is None:
                continue
            if isinstance(value, str):
                value = text(name, value)
            if isinstance(value, bytes):
                value = ffi.new("char[]", value)
            self._kept.append(value)
            setattr(self.struct, name, value)


def flag(name: str, value: bool) -> bool:
    """Returns the bool. Errors: TypeError."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return value


def integer(name: str, value: int, least: int = 0) -> int:
    """Returns the int. Errors: TypeError; ValueError below `least` and above 2**63 - 1."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not least <= value < 2**63:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return value


def milliseconds(name: str, seconds: float | None) -> int:
    """Returns seconds as milliseconds, rounded up; -1 for None. Errors: TypeError; ValueError below 0."""
    if seconds is None:
        return -1
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, not {type(seconds).__name__}")
    if not 0 <= seconds * 1000 <= _MILLISECONDS_MAX:
        raise ValueError(f"{name} must be from 0 to {_MILLISECONDS_MAX // 1000} seconds, not {seconds}")
    return math.ceil(seconds * 1000)


def string(pointer: Any) -> str:
    """Returns a string of C; "" for NULL."""
    return str(ffi.string(pointer).decode("utf-8", "replace")) if pointer else ""
