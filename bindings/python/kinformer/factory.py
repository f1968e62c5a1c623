"""A factory: the informers of a program for one cluster, started and stopped together."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

from .arguments import Struct, flag, integer, milliseconds, optional_text, string, text
from .client import Client
from .controller import Controller, Reconcile, Watched, is_in_reconcile
from .elector import Elector
from .errors import Cancelled, Deadlock, Error, Invalid, StateError, SystemFailure, call, error_of, new_error
from .informer import BaseInformer, Informer
from .log import logger, new_log, write_messages
from .object import Object, object_class
from .operation import Operation, Sync
from .recorder import EventRecorder
from .resource import ResourceNames
from .transform import Transform
from ._native import ffi, lib

AnyInformer = TypeVar("AnyInformer", bound=BaseInformer)
AnyFactory = TypeVar("AnyFactory", bound="BaseFactory[Any]")
Keep = Literal["object", "metadata", "view", "keys"]

_KEEP = {
    "object": lib.KI_KEEP_OBJECT,
    "metadata": lib.KI_KEEP_METADATA,
    "view": lib.KI_KEEP_VIEW,
    "keys": lib.KI_KEEP_KEYS,
}
_CLOSED = "the factory is closed: make a new one"
_FORKED = "this process was forked after the factory was started, and has neither its thread nor its connections: make a new factory here"
_END_SECONDS = 5.0  # how long the interpreter's end waits for a running handler

_live: weakref.WeakSet[BaseFactory[Any]] = weakref.WeakSet()


class BaseFactory(Generic[AnyInformer]):
    """What factories have in common: everything that does not wait. Subclasses drive the engine.

    server: the URL of the API server. default_namespace: of the configuration; "default" if it names none.
    """

    _informer_class: type[AnyInformer]

    def __init__(
        self,
        *,
        namespace: str | None = None,
        resync: float | None = None,
        name: str | None = None,
        _config: Any = None,
    ) -> None:
        """Makes a factory for the cluster that the program runs in, else for that of the kubeconfig.

        namespace: of informers that name none; None: all namespaces. resync: seconds between resyncs of informers that
        name none (below 1: 1); None: no resync. name: label `name` of the metrics, for a program with several factories.
        Errors: ConfigError, NotFound (no configuration at all).
        """
        self._loop = self._engine = self._pointer = ffi.NULL
        self._unusable = ""  # why no function works any more
        self._failure: Error | None = None  # why the loop ended by itself
        self._is_started = self._is_closing = False
        self._operations: set[Operation] = set()
        self._running: tuple[str, BaseInformer] | None = None  # the function of the program that is called now
        self._parts: list[Any] = []  # controllers and what they use, in the order in which they were made
        self._informers: dict[Any, AnyInformer] = {}  # by ki_informer; kept to the end, with their handles
        self._set_count = 0
        self._lock = threading.Lock()
        options = Struct(
            "ki_factory_options",
            namespace_name=optional_text("namespace", namespace),
            name=optional_text("name", name),
            resync_ms=_resync(resync),
        )
        config = _config if _config is not None else _new_config(lib.ki_config_new_default)
        self.server: str = string(lib.ki_config_server(config))
        self.default_namespace: str = string(lib.ki_config_namespace(config))
        self._namespace = namespace or ""
        self._resource_names = ResourceNames()
        self._loop = lib.kpy_loop_new()
        if not self._loop:
            raise MemoryError("kinformer: a factory")
        self._log = new_log(self._loop)
        made = ffi.new("ki_engine **")
        call(lib.ki_engine_new, Struct("ki_engine_options", log=self._log).struct, made)
        self._engine = made[0]
        options.struct.engine = self._engine
        made = ffi.new("ki_factory **")
        call(lib.ki_factory_new, config, options.struct, made)
        self._pointer = made[0]
        _live.add(self)

    @classmethod
    def from_kubeconfig(
        cls: type[AnyFactory], path: str | os.PathLike[str] | None = None, *, context: str | None = None, **options: Any
    ) -> AnyFactory:
        """Makes a factory for a kubeconfig's cluster.

        path: None: the files of KUBECONFIG, else ~/.kube/config. context: None: its current-context.
        options: those of the constructor.
        Errors: NotFound (the file or the context), ConfigError, ParseError.
        """
        config = _new_config(
            lib.ki_config_new,
            kubeconfig=None if path is None else text("path", os.fspath(path)),
            context=optional_text("context", context),
        )
        return cls(**options, _config=config)

    @classmethod
    def from_server(
        cls: type[AnyFactory],
        url: str,
        *,
        token: str | None = None,
        token_file: str | None = None,
        certificate_authority: str | None = None,
        client_certificate: str | None = None,
        client_key: str | None = None,
        insecure_skip_tls_verify: bool = False,
        **options: Any,
    ) -> AnyFactory:
        """Makes a factory for an API server by its URL. Reads no kubeconfig.

        token: a bearer token. token_file, certificate_authority, client_certificate, client_key: paths.
        options: those of the constructor.
        Errors: ConfigError, Invalid, NotFound (a file).
        """
        config = _new_config(
            lib.ki_config_new,
            server=text("url", url),
            token=optional_text("token", token),
            token_file=optional_text("token_file", token_file),
            certificate_authority=optional_text("certificate_authority", certificate_authority),
            client_certificate=optional_text("client_certificate", client_certificate),
            client_key=optional_text("client_key", client_key),
            insecure_skip_tls_verify=flag("insecure_skip_tls_verify", insecure_skip_tls_verify),
            no_kubeconfig=True,
        )
        return cls(**options, _config=config)

    def informer(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        namespaces: Iterable[str] | None = None,
        labels: str | None = None,
        fields: str | None = None,
        view: Mapping[str, Any] | None = None,
        indexes: Mapping[str, str] | None = None,
        keep: Keep = "object",
        transform: Transform | None = None,
        resync: float | None = None,
        keep_deleted: float | None = None,
        memory_limit: int = 0,
    ) -> AnyInformer:
        """Returns the informer of a resource, and makes it at the first call with this resource, namespace, selectors
        and `keep`. start() starts it.

        resource: a built-in resource by any name ("pods", "deploy", "deployments.apps"); any other by plural and group,
            as its CustomResourceDefinition is named ("widgets.example.com").
        namespace: None: the factory's; "": all. namespaces: a set of namespaces, which set_namespaces() changes; each
            call with `namespaces` makes an informer of its own.
        labels, fields: selectors that the server applies: "app=web,tier!=db", "spec.nodeName=n1".
        view: attributes of the objects: {"phase": "status.phase", "replicas": ("spec.replicas", int)}. Types are str,
            int, float, bool, datetime.datetime, decimal.Decimal (a quantity), list (of strings), dict (of strings), or
            a view of its own for the objects in an array. Of several values a type other than list has the first.
        indexes: indexes by path: {"node": "spec.nodeName"}.
        keep: what the cache keeps of each object: "object" (all of it), "metadata", "view" or "keys".
        transform: changes each object, a dict, before it is stored, and returns it. The factory's thread calls it. An
            object whose transform raises keeps its last state (health.unreadable).
        resync: seconds between updates of all objects for handlers (below 1: 1); None: the factory's; 0: none.
        keep_deleted: seconds for which get_or_deleted() finds an object after its deletion; None: not at all.
        memory_limit: bytes of the objects above which health and the log say so, and nothing else; 0: none.
            The last three are those of the first call.
        Errors: Invalid (the resource: the message names a similar one; a namespace; another view), ParseError (a
        selector or a path), Unsupported (a resource that cannot be listed), TypeError and ValueError (a view).
        """
        self._check()
        if not isinstance(keep, str) or keep not in _KEEP:
            raise ValueError(f"keep must be one of {', '.join(_KEEP)}, not {keep!r}")
        if indexes is not None and not isinstance(indexes, Mapping):
            raise TypeError(f"indexes must be a mapping of names to paths, not {type(indexes).__name__}")
        if namespaces is not None and namespace is not None:
            raise ValueError("an informer has a namespace or a set of namespaces, not both")
        if namespaces is not None:
            self._set_count += 1
        set_name = f"set-{self._set_count}" if namespaces is not None else None
        make = object_class(view)
        options = Struct(
            "ki_informer_options",
            namespace_name=optional_text("namespace", namespace),
            namespace_set=optional_text("namespaces", set_name),
            label_selector=optional_text("labels", labels),
            field_selector=optional_text("fields", fields),
            view=make._view.fields if make._view else None,
            resync_ms=_resync(resync),
            keep=_KEEP[keep],
            keep_deleted_ms=None if keep_deleted is None else milliseconds("keep_deleted", keep_deleted),
            memory_limit=integer("memory_limit", memory_limit),
        )
        made = ffi.new("ki_informer **")
        name = text("resource", resource)
        with self._lock:
            call(lib.ki_factory_informer_by_name, self._pointer, name, options.struct, made)
            informer = self._informers.get(made[0])
            if is_new := informer is None:
                where = f"({set_name})" if set_name else self._namespace if namespace is None else namespace
                informer = self._informer_class(self, made[0], make, where)
                self._informers[made[0]] = informer
            else:
                _check_same_names(informer, make)
        try:
            for index, path in (indexes or {}).items():
                informer.add_index(index, path)
            if transform is not None:
                informer._set_transform(transform)
            if namespaces is not None:
                informer.set_namespaces(namespaces)
        except BaseException:
            if is_new:
                self._remove(informer)
            raise
        return informer

    @property
    def client(self) -> Client:
        """The client, which sends requests once the factory is started."""
        self._check()
        return Client(self)

    def event_recorder(self, component: str) -> EventRecorder:
        """Makes a recorder of Kubernetes Events. component: who reports them, such as "sample-controller"."""
        self._check()
        return EventRecorder(self, component)

    def elector(
        self, name: str, *, namespace: str | None = None, identity: str | None = None, **durations: float
    ) -> Elector:
        """Makes an elector, before start().

        name, namespace: of the Lease; None: default_namespace. identity: a unique name of this process; None: the
        host's name and a random number. durations: lease_duration, renew_deadline and retry_period in seconds: by default 15,
        10 and 2, as client-go's.
        Errors: Invalid and LimitExceeded (the message names the option), TypeError.
        """
        self._check()
        return Elector(self, name, namespace, identity, **durations)

    @property
    def is_ready(self) -> bool:
        """True if all informers have synced, and none is stopped: for a readiness probe."""
        return self._readiness()[0]

    @property
    def readiness(self) -> str:
        """A line for each informer: whether it has synced, and why not."""
        return self._readiness()[1]

    @property
    def metrics(self) -> str:
        """The metrics of informers and requests as OpenMetrics text, for Prometheus."""
        self._check()
        made = ffi.new("char **")
        call(lib.ki_factory_metrics_text, self._pointer, made)
        return _take_text(made[0])

    def _readiness(self) -> tuple[bool, str]:
        self._check()
        is_ready, made = ffi.new("bool *"), ffi.new("char **")
        call(lib.ki_factory_readiness_text, self._pointer, is_ready, made)
        return bool(is_ready[0]), _take_text(made[0])

    def _remove(self, informer: AnyInformer) -> None:
        self._informers.pop(informer._pointer, None)
        lib.ki_factory_remove_informer(self._pointer, informer._pointer, ffi.NULL)

    def _check(self) -> None:
        """Raises why the factory cannot be used any more."""
        if self._unusable:
            raise StateError(self._unusable)

    def _leave(self, error: BaseException) -> bool:
        """Takes an exception that left a function of the program, if it is a KeyboardInterrupt or SystemExit that ends
        more than the function. Returns false if it is none, and always where the factory has a thread of its own."""
        return False

    def _wait(self, operation: Operation) -> Any:
        """Waits for an operation, and returns its result. Of Factory."""
        raise NotImplementedError

    # ---- for who drives the engine ----

    def _start(self, drive: Callable[[], None]) -> None:
        """Starts the informers. At the first time calls `drive`, which begins to drive the engine."""
        with self._lock:
            self._check()
            if self._is_closing:
                raise StateError(_CLOSED)
            call(lib.ki_factory_start, self._pointer)
            for informer in self._informers.values():
                informer._is_started = True
            if self._is_started:
                return
            if errno := lib.kpy_loop_open(self._loop):
                raise SystemFailure(f"a descriptor for the factory: {os.strerror(errno)}")
            self._is_started = True
            try:
                drive()
            except BaseException:
                self._is_started = False
                raise

    def _begin_close(self) -> bool:
        """No start comes after this. Returns true if the engine is driven, and who drives it has to end the factory."""
        with self._lock:
            self._is_closing = True
            return self._is_started

    def _any_informer(self) -> Any:
        """Returns the ki_informer that tells when all have stopped; NULL without informers."""
        return next(iter(list(self._informers)), ffi.NULL)

    def _finish(self, failure: Error | None = None) -> None:
        """Ends the factory where the engine was driven, or has never been: no callback comes afterwards."""
        self._failure = failure
        if failure:
            self._end_operations(failure)
        lib.ki_factory_shutdown(self._pointer, ffi.NULL)
        lib.ki_engine_stop(self._engine)  # nobody steps from now on: what is freed later does not wait for the loop
        self._unusable = f"the factory has ended: {failure}" if failure else _CLOSED
        self._end_operations(failure or Cancelled("the factory was closed"))
        for part in self._parts:
            part._end()
        write_messages(self._loop, self._leave)

    def _end_operations(self, error: Error) -> None:
        for operation in list(self._operations):
            operation.end(error)

    def _end_with_interpreter(self) -> None:
        """Called before the interpreter ends."""

    def __reduce__(self) -> Any:
        raise TypeError("a factory cannot be pickled or copied: make another one")

    def __del__(self) -> None:
        if getattr(self, "_pointer", None):
            for part in reversed(self._parts):
                part._free()
            self._resource_names.free()
            lib.ki_factory_free(self._pointer)
        if getattr(self, "_engine", None):
            lib.ki_engine_free(self._engine)
        if getattr(self, "_loop", None):
            lib.kpy_loop_free(self._loop)


class Factory(BaseFactory[Informer]):
    """A factory with a thread of its own, on which all handlers are called.

        with kinformer.Factory() as factory:
            pods = factory.informer("pods", view={"phase": "status.phase"})
            factory.start()
            pods.wait_for_sync(timeout=10)

    A program that ends without close() is closed then. A process that is forked after start() makes a factory of its
    own: this one raises StateError there.

    server: the URL of the API server. default_namespace: of the configuration; "default" if it names none.
    """

    _informer_class = Informer
    _thread: threading.Thread | None = None
    _has_ended = False
    _at_end: list[Callable[[], None]]  # called by the thread, after it has set _has_ended

    def start(self) -> None:
        """Starts every informer that is not started yet. Repeatable. Errors: StateError (the factory is closed)."""
        self._start(self._start_thread)

    def _start_thread(self) -> None:
        self._at_end = []
        self._thread = threading.Thread(target=self._drive, name="kinformer", daemon=True)
        try:
            self._thread.start()
        except BaseException:  # also Ctrl-C, with which the thread may have begun: it does not drive then
            self._thread = None
            raise

    def wait_for_sync(self, timeout: float | None = None) -> None:
        """Waits until all informers have synced.

        timeout: seconds; None: no limit.
        Errors: Timeout (the message says which has not, and why), Cancelled, Deadlock, StateError (not started).
        """
        self._check_may_wait()
        milliseconds("timeout", timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        for informer in list(self._informers.values()):
            self._wait(Sync(informer, None if deadline is None else max(0.0, deadline - time.monotonic())))

    def controller(
        self,
        *,
        for_: Watched,
        owns: Iterable[Watched] = (),
        name: str | None = None,
        workers: int = 1,
        elector: Elector | None = None,
    ) -> Callable[[Reconcile], Controller]:
        """Decorator: makes a controller of a function reconcile(ctx, key), before start().

            @factory.controller(for_="websites.example.com", owns=["deployments"], workers=4)
            def reconcile(ctx, key):
                if ctx.obj:
                    ctx.apply_child(deployment_of(ctx.obj))

        The function is called with the key of each object that has changed, or whose child has, on threads of the
        controller; the object may be deleted. It brings the cluster to the state that the object specifies. If it
        returns None, the key is done; if it returns a number, the key is processed again after that many seconds. An
        exception is logged with its traceback, and the key is processed again after a delay that grows from 5 ms.

        for_: the objects: the name of a resource, or an informer. owns: what they control: names or informers.
        name: None: the resource's plural. workers: reconciles at the same time, of different keys; at most 1,024.
        elector: reconciles only while this process leads.
        Errors: as informer(); AlreadyExists (the name), LimitExceeded (workers), StateError (closed), TypeError.
        """
        self._check()
        options: dict[str, Any] = {"for_": for_, "owns": owns, "name": name, "workers": workers, "elector": elector}
        return lambda function: Controller(self, function, **options)

    def run(self) -> None:
        """Starts the factory, and waits until close() is called in a handler or on another thread, or for Ctrl-C.

        Errors: StateError (the factory is closed), SystemFailure (its descriptors were closed).
        """
        self.start()
        self._check_may_wait()
        self._wait_for_end(None)
        if self._failure:
            raise self._failure

    def close(self) -> None:
        """Stops the informers, and waits until the running handler has returned. No handler is called afterwards.
        Repeatable. In a handler and in a reconcile it does not wait: the factory closes once they have returned."""
        self._close(None)

    def __enter__(self) -> Factory:
        self._check()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def _close(self, timeout: float | None) -> None:
        if self._unusable:
            return
        if not self._begin_close():
            self._finish()
            return
        if is_in_reconcile():
            timeout = 0.0
        lib.kpy_loop_wake(self._loop)
        if self._thread and self._thread is not threading.current_thread():
            if self._wait_for_end(timeout):
                self._thread.join()

    def _wait_for_end(self, timeout: float | None) -> bool:
        """Waits until the thread has ended the factory. Returns false if it has not within the timeout. A join would
        take the thread for ended if a signal's exception interrupts it."""
        running, release = _taken_lock()
        self._at_end.append(release)
        return self._has_ended or _take(running, timeout)

    def _drive(self) -> None:
        """The thread: steps the engine until close()."""
        with self._lock:  # until start() returns or raises
            if self._thread is not threading.current_thread():
                return
        failure = self._step()
        try:
            if failure:
                logger.error("the factory has ended: %s", failure)
        finally:
            self._finish(failure)
            self._has_ended = True
            for release in self._at_end:
                release()

    def _step(self) -> Error | None:
        """Steps the engine until close(). Returns why it ended before."""
        err = new_error()
        stopping = ffi.NULL
        while True:
            status = lib.kpy_loop_drive(self._loop, self._engine, stopping, err)
            write_messages(self._loop, self._leave)
            if status:
                return error_of(err)
            if stopping and lib.kpy_has_stopped(stopping):
                return None
            if self._is_closing and not stopping:
                lib.ki_factory_stop(self._pointer)
                stopping = self._any_informer()
                if not stopping:
                    return None

    def _wait(self, operation: Operation) -> Any:
        self._check_may_wait()
        running, release = _taken_lock()
        operation.begin(release)
        try:
            if not _take(running, operation.limit):
                operation.expire()
        except BaseException:  # Ctrl-C
            operation.cancel()
            raise
        return operation.result()

    def _check_may_wait(self) -> None:
        self._check()
        if self._thread is threading.current_thread():
            raise Deadlock("a handler cannot wait: its thread is the one that would end the wait")
        if not self._is_started:
            raise StateError("the factory is not started: call start() first")

    def _end_with_interpreter(self) -> None:
        if self._is_started:
            self._close(_END_SECONDS)


def _taken_lock() -> tuple[Any, Callable[[], None]]:
    """Returns a lock that is taken, for a thread that waits until another one releases it. A threading.Event runs Python
    code with its lock taken: Ctrl-C there would leave it taken, and the thread that sets the event stuck."""
    lock = threading.Lock()
    lock.acquire()
    return lock, lock.release


def _take(lock: Any, timeout: float | None) -> bool:
    """Waits for a lock. Returns false if it was not released within the timeout; None: no limit."""
    return bool(lock.acquire(timeout=-1.0 if timeout is None else min(timeout, threading.TIMEOUT_MAX)))


def _check_same_names(informer: BaseInformer, make: type[Object]) -> None:
    """The library compares the paths and the types of the views, but does not know their names. Errors: Invalid."""
    view, asked = informer._object_class._view, make._view
    if view and asked and view.names != asked.names:
        raise Invalid(
            f"the informer of {informer} has a view with the names {', '.join(view.names)}, not "
            f"{', '.join(asked.names)}: all requests of an informer have one view"
        )


def _new_config(make: Any, **options: Any) -> Any:
    made = ffi.new("ki_config **")
    struct = Struct("ki_config_options", **options)
    call(make, struct.struct, made)
    return ffi.gc(made[0], lib.ki_config_free)


def _resync(seconds: float | None) -> int:
    """Returns resync_ms of C's options, of which 0 is the default, and below 0 is none."""
    return 0 if seconds is None else milliseconds("resync", seconds) or -1


def _take_text(pointer: Any) -> str:
    taken = string(pointer)
    lib.ki_metrics_text_free(pointer)
    return taken


def _end_with_interpreter() -> None:
    for factory in list(_live):
        factory._end_with_interpreter()


def _after_fork() -> None:
    for factory in list(_live):
        if factory._is_started and not factory._unusable:
            factory._unusable = _FORKED


atexit.register(_end_with_interpreter)
os.register_at_fork(after_in_child=_after_fork)
