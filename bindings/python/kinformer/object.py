"""An object of the cluster: the state that an informer has seen, or that a request returned. It never changes."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .arguments import string, text
from .errors import StateError, call, error_of, new_error
from .view import Getter, View
from ._native import ffi, lib


class Object(Mapping[str, Any]):
    """One state of an object, shared with the informer's cache and kept for as long as the program has it.

    Attributes of the informer's view are read directly: `pod.phase`. A missing field is None (str, datetime), 0, False
    or empty. Everything else is read by name, as in the object's YAML: `pod["spec"]["nodeName"]`; the JSON is parsed
    at the first such access. What that returns belongs to this Python object: a change of it changes no cache.

    Errors: StateError if the informer does not keep what is asked for (`keep`).
    """

    __slots__ = ("_pointer", "_content")
    _view: View | None = None

    def __init__(self, pointer: Any) -> None:
        """pointer: a reference to a ki_object, which the object releases at its end."""
        self._pointer = ffi.gc(pointer, lib.ki_object_unref)
        self._content: dict[str, Any] | None = None

    @property
    def key(self) -> str:
        """ "namespace/name", or "name" of a cluster-scoped object."""
        return string(lib.ki_object_key(self._pointer))

    @property
    def name(self) -> str:
        """metadata.name"""
        return string(lib.ki_object_name(self._pointer))

    @property
    def namespace(self) -> str:
        """metadata.namespace; "" of a cluster-scoped object"""
        return string(lib.ki_object_namespace(self._pointer))

    @property
    def uid(self) -> str:
        """metadata.uid"""
        return string(lib.ki_object_uid(self._pointer))

    @property
    def resource_version(self) -> str:
        """metadata.resourceVersion, an opaque text"""
        return string(lib.ki_object_resource_version(self._pointer))

    @property
    def api_version(self) -> str:
        """apiVersion, such as "apps/v1" """
        return string(lib.ki_object_api_version(self._pointer))

    @property
    def kind(self) -> str:
        """kind, such as "Deployment" """
        return string(lib.ki_object_kind(self._pointer))

    @property
    def labels(self) -> dict[str, str]:
        """The labels, a new dict. With keep="view" the view has ("metadata.labels", dict)."""
        pair = ffi.new("const char *[2]")
        labels = {}
        for i in range(lib.ki_object_label_count(self._pointer)):
            lib.ki_object_label_at(self._pointer, i, pair, pair + 1)
            labels[string(pair[0])] = string(pair[1])
        if not labels and not lib.ki_object_matches(self._pointer, _without_label()):
            raise StateError(
                f"{self.key} has no labels: the cache does not keep them; "
                'keep them in the view, {"tags": ("metadata.labels", dict)}, or the whole object'
            )
        return labels

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations, a new dict."""
        annotations: dict[str, str] = self.field("metadata.annotations", None) or {}
        return annotations

    @property
    def json(self) -> str:
        """The whole object as compact JSON. Errors: StateError (the informer keeps a part of it)."""
        self._check_whole()
        return self._text()

    def to_dict(self) -> dict[str, Any]:
        """Returns the whole object as a new dict, to be changed freely.

        Errors: StateError (the informer keeps a part of it: a write would remove the rest).
        """
        content: dict[str, Any] = json.loads(self.json)
        return content

    def field(self, path: str, default: Any = None) -> Any:
        """Returns the value at a path, or `default` if the object has no such field. Reads no more than that field.

        path: "spec.nodeName", "spec.containers[*].image", "metadata.labels['app.kubernetes.io/name']".
        Errors: ParseError (the path).
        """
        value, err = ffi.new("ki_value *"), new_error()
        status = lib.ki_object_field(self._pointer, text("path", path), value, err)
        if status in (lib.KI_ERR_NOT_FOUND, lib.KI_ERR_END):
            return default
        if status:
            raise error_of(err)
        return _take_value(value)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._parsed()[name]
        except KeyError:
            if isinstance(name, str) and name.isidentifier():
                self.field(name)  # raises that the informer does not keep it
            raise

    def __iter__(self) -> Iterator[str]:
        self._check_whole()
        return iter(self._parsed())

    def __len__(self) -> int:
        self._check_whole()
        return len(self._parsed())

    def __bool__(self) -> bool:
        """True: `if pod:` is for what may be None, and reads nothing."""
        return True

    def __eq__(self, other: object) -> bool:
        """True for the same state of the same object."""
        if not isinstance(other, Object):
            return NotImplemented
        return self._pointer == other._pointer or (
            (self.key, self.uid, self.resource_version, self.kind)
            == (other.key, other.uid, other.resource_version, other.kind)
            and self.api_version == other.api_version
        )

    def __hash__(self) -> int:
        return hash((self.key, self.uid, self.resource_version))

    def __repr__(self) -> str:
        return f"<{self.kind or 'Object'} {self.key} resource_version={self.resource_version}>"

    def __reduce__(self) -> Any:
        raise TypeError("an object cannot be pickled or copied: use to_dict() or json")

    def _parsed(self) -> dict[str, Any]:
        """Returns what the cache keeps of the object. A member that is missing may be one that is not kept."""
        if self._content is None:
            self._content = json.loads(self._text())
        return self._content

    def _text(self) -> str:
        value = ffi.new("ki_value *")
        call(lib.ki_object_json, self._pointer, value)
        return _take_text(value).decode("utf-8", "replace")

    def _check_whole(self) -> None:
        """Raises that the informer keeps a part of the object."""
        value = ffi.new("ki_value *")
        if lib.ki_object_field(self._pointer, b"kinformer-no-member", value, ffi.NULL) == lib.KI_ERR_STATE:
            raise StateError(
                f"the cache keeps only a part of {self.key} (keep), and a write of that would remove the rest: "
                "get the whole object with client.get(), or change fields of it with client.patch()"
            )

    if TYPE_CHECKING:  # the attributes of the view

        def __getattr__(self, name: str) -> Any: ...


_RESERVED = frozenset(dir(Object))


def _attribute(get: Getter) -> property:
    def read(self: Object) -> Any:
        return get(lib.ki_object_view(self._pointer))

    return property(read)


def object_class(view: Mapping[str, Any] | None) -> type[Object]:
    """Returns the class of the objects of an informer with this view. Errors: TypeError, ValueError (view.py)."""
    if view is None:
        return Object
    compiled = View(view, _RESERVED)
    members: dict[str, Any] = {"__slots__": (), "_view": compiled, "__doc__": Object.__doc__, "__module__": __name__}
    for name, get in compiled.getters.items():
        members[name] = _attribute(get)
    return type("Object", (Object,), members)


@functools.cache
def _without_label() -> Any:
    """Returns a ki_selector that matches each object without labels, and no object whose labels are unknown."""
    made = ffi.new("ki_selector **")
    call(lib.ki_selector_new, b"!none", ffi.NULL, made)
    return ffi.gc(made[0], lib.ki_selector_free)


def _take_text(value: Any) -> bytes:
    text_of: bytes = ffi.buffer(value.text, value.text_size)[:]
    lib.ki_value_clear(value)
    return text_of


def _take_value(value: Any) -> Any:
    """Returns a ki_value as a value of Python, and clears it."""
    kind = value.type
    if kind == lib.KI_VALUE_STRING:
        return _take_text(value).decode("utf-8", "replace")
    if kind in (lib.KI_VALUE_ARRAY, lib.KI_VALUE_OBJECT):
        return json.loads(_take_text(value))
    if kind == lib.KI_VALUE_BOOL:
        return bool(value.boolean)
    if kind == lib.KI_VALUE_INT:
        return value.integer
    return value.number if kind == lib.KI_VALUE_DOUBLE else None
