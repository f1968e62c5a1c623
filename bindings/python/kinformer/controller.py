"""Controllers: a reconcile function that is called for the key of each object that changed."""

from __future__ import annotations

import inspect
import queue
import threading
import traceback
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from .arguments import Struct, callback, integer, milliseconds, string, text
from .change import set_controller
from .client import Client, Content, to_dict
from .elector import Elector
from .errors import Conflict, Invalid, NotFound, call, error_of_status, filled_error
from .informer import Informer
from .log import logger
from .object import Object
from .recorder import EventRecorder
from .resource import full_name
from .request import reconcile_of_thread, set_reconcile
from ._native import ffi, lib

if TYPE_CHECKING:
    from .factory import Factory

Watched = Union[str, Informer]
Reconcile = Callable[["Context", str], Union[float, None]]
KeysOf = Callable[[Object], Iterable[str]]


class Context:
    """One call of a reconcile function.

    key: "namespace/name" or "name". obj: the object under the key in the cache when the reconcile began; None if there
    is none any more. controller: the controller. client: the factory's client.

    The functions wait for the server; their errors are those of Client. Let an error leave the function: the key is
    processed again.
    """

    def __init__(self, controller: Controller, key: str, reconcile: Any) -> None:
        self.controller = controller
        self.key = key
        self.obj: Object | None = controller.informer.get(key)
        self.client: Client = controller._factory.client
        self._reconcile = reconcile

    @property
    def is_cancelled(self) -> bool:
        """True if the controller is stopping, or this process does not lead any more: a long reconcile ends early."""
        return self._reconcile is None or bool(lib.ki_reconcile_is_cancelled(self._reconcile))

    def event(self, reason: str, message: str = "", type: Any = "Normal") -> None:
        """Records a Kubernetes Event about `obj` (EventRecorder.record)."""
        self.controller.recorder.record(self._obj(), reason, message, type)

    def apply_child(self, child: Content) -> Object:
        """Applies a child of `obj` (server-side apply with force), with `obj` as its controller, and returns it.

        child: without a namespace it gets that of `obj`. Force takes over the fields that it has: leave out
        spec.replicas for a HorizontalPodAutoscaler. A role needs the verbs create and patch.
        """
        owner, content = self._obj(), to_dict(child)
        metadata = {**content.get("metadata", {})}
        if owner.namespace:
            metadata.setdefault("namespace", owner.namespace)
        content["metadata"] = metadata
        set_controller(content, owner)
        return self.client.apply(content, field_manager=self.controller.name, force=True)

    def update_status(self, obj: dict[str, Any]) -> bool:
        """Replaces the status of an object, a changed copy of `obj` (obj.to_dict()). Returns false if the copy has not
        changed: then nothing is written.

        Errors: Conflict (the object has changed since).
        """
        if obj == self._obj().to_dict():
            return False
        self.client.update_status(obj, field_manager=self.controller.name)
        return True

    def add_finalizer(self, finalizer: str) -> bool:
        """Adds a finalizer to `obj`. Returns true if `obj` did not have it: then return, and let the event of this
        change continue. A role needs the verb patch."""
        present = self._finalizers()
        if text("finalizer", finalizer).decode() in present:
            return False
        self._write_finalizers([*present, finalizer])
        return True

    def remove_finalizer(self, finalizer: str) -> bool:
        """Removes a finalizer from `obj`. Returns false if `obj` did not have it. It is no error if the object is gone
        by now. A role needs the verbs patch and get."""
        present = self._finalizers()
        if text("finalizer", finalizer).decode() not in present:
            return False
        try:
            self._write_finalizers([other for other in present if other != finalizer])
        except NotFound:
            pass
        except Conflict:
            if not self._is_gone():
                raise
        return True

    def _obj(self) -> Object:
        if self.obj is None:
            raise NotFound(f"{self.controller.informer} has no object {self.key} any more")
        return self.obj

    def _finalizers(self) -> list[str]:
        return list(self._obj().field("metadata.finalizers") or [])

    def _write_finalizers(self, finalizers: list[str]) -> None:
        """The version is that of the cache, so that no finalizer of another program is lost."""
        obj = self._obj()
        metadata = {"uid": obj.uid, "resourceVersion": obj.resource_version, "finalizers": finalizers}
        self.client.patch(self.controller.informer.resource, self.key, {"metadata": metadata})

    def _is_gone(self) -> bool:
        try:
            return self.client.get(self.controller.informer.resource, self.key).uid != self._obj().uid
        except NotFound:
            return True


class Failure(NamedTuple):
    """The worst failure of a controller: key, failures in a row, and the message of the last one."""

    key: str
    failures: int
    message: str


class Controller:
    """A controller. One worker at a time processes a key; a key that changes meanwhile is processed again afterwards.

    name: of its metrics, its log, its events, and the field manager of its writes. informer: of its objects.
    recorder: of its events. errors: exceptions that left the reconcile function.

    After a reconcile, the next one of its key waits until the informers' caches have what it wrote.
    """

    def __init__(
        self,
        factory: Factory,
        function: Reconcile,
        *,
        for_: Watched,
        owns: Iterable[Watched] = (),
        name: str | None = None,
        workers: int = 1,
        elector: Elector | None = None,
    ) -> None:
        """Made by factory.controller()."""
        if not callable(function):
            raise TypeError(f"a controller takes a function, not {type(function).__name__}")
        if inspect.iscoroutinefunction(function):
            raise TypeError("a reconcile function is no coroutine function: it may wait, on a thread of its own")
        callback("a reconcile function", function, "ctx", "key")
        if isinstance(owns, str):
            raise TypeError("owns must be several resources, not a str: use a list")
        if elector is not None and not isinstance(elector, Elector):
            raise TypeError(f"elector must be one of factory.elector(), not {type(elector).__name__}")
        integer("workers", workers, 1)
        self._factory = factory
        self._function = function
        self.informer = self._informer_of("for_", for_)
        self._owned = [self._informer_of("owns", owned) for owned in owns]
        self.name = self.informer.resource.partition(".")[0] if name is None else name
        self.errors = 0
        self._workers = workers
        self._threads: list[threading.Thread] = []
        self._jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._maps: list[_Map] = []
        self._handle = ffi.new_handle(self)
        self.recorder = EventRecorder(factory, self.name)
        options = Struct(
            "ki_controller_options",
            name=self.name,
            reconcile=lib.kpy_on_reconcile,
            user=self._handle,
            workers=min(workers, 2**31 - 1),
            elector=elector._pointer if elector else None,
        )
        made = ffi.new("ki_controller **")
        call(lib.ki_controller_new, factory._pointer, options.struct, made)
        self._pointer = made[0]
        factory._parts.append(self)
        self._watch(self.informer, None)
        for informer in self._owned:
            owner = Struct("ki_controller_watch_options", user=self.informer._pointer)
            owner.struct.map = ffi.addressof(lib, "kpy_map_controller")
            self._watch(informer, owner)

    def __call__(self, ctx: Context, key: str) -> float | None:
        """Calls the reconcile function."""
        return self._function(ctx, key)

    def owned(self, resource: str) -> Informer:
        """Returns the informer of a resource in `owns`. Errors: NotFound."""
        found = lib.ki_resource_find(text("resource", resource))
        asked = full_name(found) if found else resource
        for informer in self._owned:
            if informer.resource == asked:
                return informer
        raise NotFound(f"the controller {self.name} does not own {resource}")

    def watch(self, resource: Watched) -> Callable[[KeysOf], KeysOf]:
        """Decorator: queues the keys that the function returns for each object of the resource that changed.

        For an update the function is called with the old and with the new object. It is called on the factory's thread.
        """
        informer = self._informer_of("resource", resource)

        def add(function: KeysOf) -> KeysOf:
            if not callable(function):
                raise TypeError(f"watch takes a function, not {type(function).__name__}")
            mapping = _Map(self, informer, function)
            self._maps.append(mapping)
            self._watch(informer, mapping.options)
            return function

        return add

    def queue(self, key: str, after: float = 0.0) -> None:
        """Queues a key, at once or after a number of seconds: for what no informer sees.

        Errors: Invalid (an empty key), LimitExceeded (a long one), StateError (the controller is stopped).
        """
        self._factory._check()
        key_text = text("key", key)
        status = lib.ki_workqueue_add_after(
            lib.ki_controller_queue(self._pointer), key_text, milliseconds("after", after)
        )
        if status:
            raise error_of_status(status, f"the controller {self.name} cannot queue the key {key!r}")

    @property
    def failure(self) -> Failure | None:
        """The worst of the keys that failed and have not succeeded since; None if there is none."""
        self._factory._check()
        failure = ffi.new("ki_controller_failure *")
        lib.ki_controller_get_failure(self._pointer, failure)
        key = ffi.string(failure.key).decode("utf-8", "replace")
        message = string(lib.ki_error_message(ffi.addressof(failure, "cause")))
        return Failure(key, failure.failures, message) if key else None

    def stop(self) -> None:
        """Drops the queued keys, and starts no further reconcile. Repeatable."""
        self._factory._check()
        lib.ki_controller_stop(self._pointer)

    def __repr__(self) -> str:
        return f"<Controller {self.name} for {self.informer}>"

    def _informer_of(self, name: str, watched: Watched) -> Informer:
        if isinstance(watched, Informer):
            if watched._factory is not self._factory:
                raise Invalid(f"{name}: the informer of {watched} is of another factory")
            return watched
        text(name, watched)
        return self._factory.informer(watched)

    def _watch(self, informer: Informer, options: Struct | None) -> None:
        self._factory._check()
        call(lib.ki_controller_watch, self._pointer, informer._pointer, options.struct if options else ffi.NULL)

    # ---- the workers: threads of Python's own ----

    def _begin(self, reconcile: Any, key: str) -> None:
        """Hands a reconcile to the workers. On the factory's thread."""
        if len(self._threads) < self._workers:
            thread = threading.Thread(target=self._work, name=f"kinformer {self.name}", daemon=True)
            thread.start()
            self._threads.append(thread)
        self._jobs.put((reconcile, key))

    def _work(self) -> None:
        while job := self._jobs.get():
            try:
                self._reconcile(*job)
            except BaseException:  # of logging: the worker goes on
                traceback.print_exc()

    def _reconcile(self, reconcile: Any, key: str) -> None:
        cause = ffi.NULL
        ctx = None
        set_reconcile(reconcile)
        try:
            ctx = Context(self, key, reconcile)
            delay = self(ctx, key)
            if delay is not None:
                lib.ki_reconcile_requeue_after(reconcile, milliseconds("the result of a reconcile function", delay))
        except BaseException as error:  # also SystemExit: the thread is the controller's
            cause = filled_error(error)
            self._failed(reconcile, key, error)
        finally:
            set_reconcile(None)
            if ctx:
                ctx._reconcile = None
            lib.ki_reconcile_finish(reconcile, cause)

    def _failed(self, reconcile: Any, key: str, error: BaseException) -> None:
        """Counts and logs an exception."""
        self.errors += 1
        lib.ki_reconcile_set_logged(reconcile)
        next_step = "not retried" if lib.ki_reconcile_is_cancelled(reconcile) else "retried later"
        if isinstance(error, Conflict):
            logger.warning("reconcile %s of %s met a conflict, %s: %s", key, self.name, next_step, error)
        else:
            logger.error("reconcile %s of %s failed, %s", key, self.name, next_step, exc_info=error)

    def _end(self) -> None:
        """No reconcile starts any more."""
        for _ in self._threads:
            self._jobs.put(None)

    def _free(self) -> None:
        lib.ki_controller_free(self._pointer)


class _Map:
    """The function of Controller.watch(), as the library calls it. Exists as long as the controller."""

    def __init__(self, controller: Controller, informer: Informer, function: KeysOf) -> None:
        self.controller = controller
        self.informer = informer
        self.function = function
        self._handle = ffi.new_handle(self)
        self.options = Struct("ki_controller_watch_options", map=lib.kpy_on_map, user=self._handle)


def is_in_reconcile() -> bool:
    """True in a reconcile function: it must not wait for the end of its factory."""
    return reconcile_of_thread() is not None


@ffi.def_extern(error=lib.KI_ERR_NO_MEMORY)  # type: ignore[untyped-decorator]
def kpy_on_reconcile(reconcile: Any, key: Any, user: Any, _err: Any) -> int:
    controller: Controller = ffi.from_handle(user)
    lib.ki_reconcile_defer(reconcile)
    controller._begin(reconcile, string(key))
    return int(lib.KI_OK)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def kpy_on_map(obj: Any, keys: Any, user: Any) -> None:
    mapping: _Map = ffi.from_handle(user)
    try:
        for key in mapping.function(mapping.informer._object_class(lib.ki_object_ref(obj))):
            lib.ki_reconcile_keys_add(keys, text("a key", key))
    except BaseException:  # also SystemExit: the thread is the factory's
        mapping.controller.errors += 1
        logger.exception("a watch of the controller %s failed: %r", mapping.controller.name, mapping.function)
