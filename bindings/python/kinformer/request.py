"""A request of the client: an operation that ends with the server's response, or once an informer has seen a write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .arguments import Struct, string
from .errors import Cancelled, Cause, Error, Invalid, error_of
from .log import interrupted
from .operation import Deletion, Operation, Version
from .resource import ResourceNames, full_name
from ._native import ffi, lib

if TYPE_CHECKING:
    from .factory import BaseFactory
    from .informer import BaseInformer

_thread = threading.local()  # reconcile: the ki_reconcile that the thread is inside


def set_reconcile(reconcile: Any) -> None:
    """Puts the calling thread inside a reconcile, whose requests end with its term of leadership; None: into none."""
    _thread.reconcile = reconcile


def reconcile_of_thread() -> Any:
    """Returns the ki_reconcile that the calling thread is inside; None if it is inside none."""
    return getattr(_thread, "reconcile", None)


class Request(Operation):
    """A request.

    resource: the name of its resource; None for a raw request. fields: of the ki_client_request. options: of its
    ki_request_options. take: makes the result of a ki_response. seen_by: whose cache is to have the write. key: of the
    written object; "": the response has it.
    """

    def __init__(
        self,
        factory: BaseFactory[Any],
        resource: str | None,
        fields: dict[str, Any],
        options: dict[str, Any],
        take: Callable[[Any], Any],
        seen_by: BaseInformer | None = None,
        key: str = "",
    ) -> None:
        super().__init__(factory)
        self._names: ResourceNames = factory._resource_names
        self._resource = resource
        self._fields = fields
        self._options = options
        self._take = take
        self._seen_by = seen_by
        self._key = key
        self._reconcile = reconcile_of_thread()
        self._pending = ffi.new("ki_pending_request **")
        self._lock = threading.Lock()  # of what `_pending` points to
        self._is_cancelled = False
        self._wait: Operation | None = None
        self._result: Any = None

    def _begin(self) -> None:
        if self._resource is None:
            self._send(None)
        elif found := self._names.find(self._resource):
            self._send(found)
        elif self._names.can_refresh():
            self._names.refresh(self._call, lib.ki_factory_client(self._factory._pointer), self._handle)
        else:
            raise self._names.unknown(self._resource)

    def result(self) -> Any:
        """Returns what `take` made of the response."""
        super().result()
        return self._result

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            lib.ki_pending_request_cancel(self._pending[0])
        if self._wait:
            self._wait.cancel()

    def _send(self, found: tuple[Any, Any] | None) -> None:
        term = lib.ki_reconcile_term(self._reconcile) if self._reconcile else None
        options = Struct("ki_request_options", term=term, **self._options)
        request = Struct("ki_client_request", options=options.struct, **self._fields)
        if found:
            request.struct.resource = found[0]
            self._check_seen_by(full_name(found[0]))
        client = lib.ki_factory_client(self._factory._pointer)
        with self._lock:
            self._call(lib.ki_client_send, client, request.struct, lib.kpy_on_response, self._handle, self._pending)

    def _check_seen_by(self, resource: str) -> None:
        """Raises, before the request is sent, why the wait for `seen_by` would never end."""
        if self._seen_by is None:
            return
        if self._seen_by.resource != resource:
            raise Invalid(f"seen_by is the informer of {self._seen_by}, not of {resource}")
        self._seen_by._check_started()

    def _has_resources(self, resources: Any, err: Any) -> None:
        """The server has told its resources, or has not."""
        if err:
            self._fail(error_of(err))
            return
        try:
            self._names.take(resources)
            if self._is_cancelled:
                raise Cancelled("the request was cancelled")
            found = self._names.find(self._resource or "")
            if not found:
                raise self._names.unknown(self._resource or "")
            self._send(found)
        except Exception as error:
            self._fail(error)

    def _has_response(self, response: Any, err: Any) -> None:
        with self._lock:
            lib.ki_pending_request_free(self._pending[0])
            self._pending[0] = ffi.NULL
        if err:
            self._fail(_error_of_response(response, err))
            return
        try:
            self._result = self._take(response)
            if self._seen_by is not None:
                self._wait = self._wait_for(self._seen_by, response)
                self._wait.begin(self._has_seen)
                return
        except Exception as error:
            self._fail(error)
            return
        self._release()
        self.end(None)

    def _wait_for(self, informer: BaseInformer, response: Any) -> Operation:
        timeout = None if (limit := self._options["timeout_ms"]) < 0 else limit / 1000
        obj = lib.ki_response_object(response)
        key = string(lib.ki_object_key(obj)) if obj else self._key
        version = string(lib.ki_response_resource_version(response))
        if version:
            return Version(informer, version, key, timeout)
        return Deletion(informer, key, string(lib.ki_response_uid(response)) or None, timeout)

    def _has_seen(self) -> None:
        self._release()
        self.end(self._wait._error if self._wait else None)

    def _fail(self, error: Exception) -> None:
        self._release()
        self.end(error)


def _error_of_response(response: Any, err: Any) -> Error:
    """Returns the exception, with the whole message and the causes of the Status."""
    error = error_of(err)
    status = lib.ki_response_error(response) if response else ffi.NULL
    if status:
        causes = [status.causes[i] for i in range(status.cause_count)]
        error.causes = tuple(Cause(string(c.reason), string(c.message), string(c.field)) for c in causes)
    return error


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_resources(resources: Any, err: Any, user: Any) -> None:
    request: Request = ffi.from_handle(user)
    request._has_resources(resources, err)


@ffi.def_extern(onerror=interrupted)  # type: ignore[untyped-decorator]
def kpy_on_response(response: Any, err: Any, user: Any) -> None:
    request: Request = ffi.from_handle(user)
    request._has_response(response, err)
