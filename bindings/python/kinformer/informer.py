"""An informer: a local, indexed, current cache of one resource's objects, and handlers that are called for changes."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .arguments import text
from .errors import Invalid, StateError, call
from .handler import Event, Registration
from .health import Health, Memory, read_health, read_memory
from .object import Object
from .operation import Deletion, Fetch, Operation, Sync, Version
from .resource import full_name
from .snapshot import Objects, Snapshot
from .transform import Transform, TransformCall
from ._native import ffi, lib

if TYPE_CHECKING:
    from .factory import BaseFactory

Default = TypeVar("Default")
Handler = TypeVar("Handler", bound=Callable[[Event], Any])


class BaseInformer(Mapping[str, Object]):
    """What informers have in common: everything that does not wait.

    A mapping of keys ("namespace/name" or "name") to objects. Reading it sends no request. Before the first list is
    complete (`has_synced`), the cache has a part of the objects or none. Any thread may call any function.

    A wait for a key that no object of the informer can have raises Invalid: without a namespace where the resource has
    namespaces, of another namespace than the informer's. A custom resource's scope is known once it is found: before
    the informer has synced, such a wait goes on.

    Errors of all: StateError (the factory is closed, or the process was forked).

    transform_errors: exceptions that left the transform.
    """

    def __init__(self, factory: BaseFactory[Any], pointer: Any, make: type[Object], namespace: str) -> None:
        """Made by factory.informer()."""
        self._factory = factory
        self._pointer = pointer
        self._object_class = make
        self._namespace = namespace
        self._indexes: dict[str, str] = {}
        self._registrations: set[Registration] = set()
        self._past_errors = 0
        self._transform: TransformCall | None = None
        self._is_started = False
        self.transform_errors = 0

    # ---- handlers ----

    def on_add(self, function: Handler) -> Handler:
        """Decorator: calls the function with an Event for each object that is there and each that is added."""
        self.add_handler(SimpleNamespace(on_add=function))
        return function

    def on_update(self, function: Handler) -> Handler:
        """Decorator: calls the function with an Event for each change of an object."""
        self.add_handler(SimpleNamespace(on_update=function))
        return function

    def on_delete(self, function: Handler) -> Handler:
        """Decorator: calls the function with an Event for each object that is deleted."""
        self.add_handler(SimpleNamespace(on_delete=function))
        return function

    def add_handler(self, handler: Any) -> Registration:
        """Adds an object with one or more of the methods on_add(event), on_update(event), on_delete(event), on_synced().

        The calls of one handler come one at a time and in order: first on_add for each cached object, then on_synced,
        then each change. They come on the factory's thread: a handler that takes long delays all others. An exception
        that leaves a method is logged with its traceback, and counted; the handler gets the next event.

        Errors: TypeError (no such method).
        """
        self._factory._check()
        registration = Registration(self, handler)
        registration._add()
        return registration

    @property
    def handler_errors(self) -> int:
        """The number of exceptions that left handlers."""
        return self._past_errors + sum(registration.errors for registration in list(self._registrations))

    # ---- reading ----

    def __getitem__(self, key: str) -> Object:
        obj = self._get(text("key", key))
        if obj is None:
            raise KeyError(key)
        return obj

    @overload
    def get(self, key: str, /) -> Object | None: ...

    @overload
    def get(self, key: str, /, default: Object | Default) -> Object | Default: ...

    def get(self, key: str, /, default: Any = None) -> Any:
        """Returns the object under the key, or `default`."""
        obj = self._get(text("key", key))
        return default if obj is None else obj

    def get_or_deleted(self, key: str) -> tuple[Object | None, bool]:
        """Returns the object under the key and False, or its last state before its deletion and True; None and False
        if there is neither. For informers with `keep_deleted`, of which at most 10,000 deleted objects are kept."""
        self._factory._check()
        is_deleted = ffi.new("bool *")
        obj = lib.ki_informer_get_or_deleted(self._pointer, text("key", key), is_deleted)
        return (self._object_class(obj) if obj else None), bool(is_deleted[0])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._get(text("key", key)) is not None

    def __len__(self) -> int:
        return len(self.snapshot())

    def __iter__(self) -> Iterator[str]:
        return iter(self.snapshot())

    def keys(self) -> KeysView[str]:
        """Returns the keys, of one snapshot."""
        return self.snapshot().keys()

    def values(self) -> ValuesView[Object]:
        """Returns the objects, of one snapshot."""
        return self.snapshot().values()

    def items(self) -> ItemsView[str, Object]:
        """Returns pairs of key and object, of one snapshot."""
        return self.snapshot().items()

    def snapshot(self) -> Snapshot:
        """Returns the present state of the cache."""
        self._factory._check()
        return Snapshot(lib.ki_informer_snapshot(self._pointer), self._object_class)

    def list(self, *, labels: str = "", fields: str = "", namespace: str = "") -> Objects:
        """Returns the cached objects that match.

        labels: a label selector, "app=web,tier in (a, b),!canary". fields: a field selector of any paths,
        "spec.nodeName=n1,status.phase!=Running". namespace: "": all.
        Errors: ParseError (a selector), Invalid (labels or fields that the cache does not keep).
        """
        arguments = [text("namespace", namespace), text("labels", labels), text("fields", fields)]
        return self._list(lib.ki_lister_list, *arguments)

    def by_index(self, name: str, value: str) -> Objects:
        """Returns the cached objects with this value in the index. Errors: Invalid (there is no such index)."""
        return self._list(lib.ki_lister_list_by_index, text("name", name), text("value", value))

    def add_index(self, name: str, path: str) -> None:
        """Adds an index: the strings, numbers and booleans at the path, such as "status.podIPs[*].ip".

        An index of the same name and path is no error. Blocks until the cached objects are indexed.
        Errors: ParseError (the path), AlreadyExists (another index has the name), Invalid (the cache does not keep the
        field), LimitExceeded (more than 64).
        """
        self._factory._check()
        name_text, path_text = ffi.new("char[]", text("name", name)), ffi.new("char[]", text("path", path))
        if self._indexes.get(name) == path:
            return
        call(lib.ki_informer_add_indexers, self._pointer, [{"name": name_text, "path": path_text}], 1)
        self._indexes[name] = path

    # ---- state ----

    @property
    def resource(self) -> str:
        """The resource's plural, with its group: "pods", "deployments.apps"."""
        return full_name(lib.ki_informer_resource(self._pointer))

    @property
    def has_synced(self) -> bool:
        """True once the whole first list is in the cache."""
        self._factory._check()
        return bool(lib.ki_informer_has_synced(self._pointer))

    @property
    def health(self) -> Health:
        """The state, its cause and the age of the cache."""
        self._factory._check()
        return read_health(self._pointer)

    @property
    def memory(self) -> Memory:
        """Where the informer's memory is. Counts each object."""
        self._factory._check()
        return read_memory(self._pointer)

    def set_namespaces(self, namespaces: Iterable[str]) -> None:
        """Changes the namespaces of an informer that was made with `namespaces`.

        A namespace that is added is listed; the objects of one that is removed are deleted. wait_for_sync() waits for it.
        Errors: Invalid (no name of a namespace; an informer without `namespaces`), LimitExceeded (more than 1,000).
        """
        self._factory._check()
        if isinstance(namespaces, str):
            raise TypeError("namespaces must be several names, not a str: use a list")
        names = [ffi.new("char[]", text("a namespace", name)) for name in namespaces]
        call(lib.ki_informer_set_namespaces, self._pointer, ffi.new("char *[]", names), len(names))

    def __repr__(self) -> str:
        return f"<Informer {self}>"

    def __str__(self) -> str:
        return f"{self.resource} in {self._namespace or 'all namespaces'}"

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def _check_started(self) -> None:
        """Raises why a wait for the cache would never end."""
        if not self._is_started:
            raise StateError(f"the informer of {self} is not started: call start() after informer()")

    def _get(self, key: bytes) -> Object | None:
        self._factory._check()
        obj = lib.ki_informer_get(self._pointer, key)
        return self._object_class(obj) if obj else None

    def _list(self, function: Any, *arguments: Any) -> Objects:
        self._factory._check()
        found = ffi.gc(ffi.new("ki_object_list *"), lib.ki_object_list_free)  # also if Ctrl-C ends the call
        call(function, self._pointer, *arguments, found)
        return [self._object_class(lib.ki_object_ref(found.objects[i])) for i in range(found.count)]

    def _set_transform(self, transform: Transform) -> None:
        if self._transform:
            if self._transform.transform is not transform:
                raise Invalid(f"the informer of {self} has another transform; all its users share one")
            return
        transform_call = TransformCall(self, transform)
        call(lib.ki_informer_set_transform, self._pointer, lib.kpy_on_transform, transform_call.handle)
        self._transform = transform_call


class Informer(BaseInformer):
    """An informer of a Factory. Its waits block the calling thread; Ctrl-C ends them at once.

    Further errors of the waits: Cancelled (the factory was closed), Deadlock (called in a handler), StateError (the
    factory or the informer is not started).
    """

    def wait_for_sync(self, timeout: float | None = None) -> None:
        """Waits until the whole first list is in the cache; after set_namespaces() until that set's objects are, and
        no others.

        timeout: seconds; None: no limit. Errors: Timeout (the message says why it has not synced).
        """
        self._wait(Sync(self, timeout))

    def wait_for_version(
        self, resource_version: str | None, key: str | None = None, timeout: float | None = None
    ) -> None:
        """Waits until the cache contains a write.

        resource_version: the version that the write returned; None with a key: any. key: ends the wait earlier, once
        the object under the key is at that version. timeout: seconds; None: no limit.
        Errors: Timeout, Invalid (neither a version nor a key; a key that no object of the informer can have).
        """
        self._wait(Version(self, resource_version, key, timeout))

    def wait_for_deletion(self, key: str, uid: str | None = None, timeout: float | None = None) -> None:
        """Waits until the cache has no object under the key, or one with another uid.

        timeout: seconds; None: no limit. Errors: Timeout, Invalid (a key that no object of the informer can have).
        """
        self._wait(Deletion(self, key, uid, timeout))

    def get_or_fetch(self, key: str, timeout: float | None = None) -> Object | None:
        """Returns the object from the cache, or else from the server; None if there is none.

        For a program that cannot wait for the cache, or whose role may get objects but not list them. Results are
        remembered for seconds. The object is not added to the cache.
        timeout: seconds; None: no limit.
        Errors: Forbidden and the like (the response), Timeout (unknown: the server is away).
        """
        found: Object | None = self._wait(Fetch(self, key, timeout))
        return found

    def _wait(self, operation: Operation) -> Any:
        return self._factory._wait(operation)
