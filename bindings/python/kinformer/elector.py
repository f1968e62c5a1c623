"""Leader election: of several processes at most one leads, as long as it renews a Lease."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .arguments import Struct, milliseconds, optional_text, string, text
from .errors import call
from .log import logger
from ._native import ffi, lib

if TYPE_CHECKING:
    from .factory import BaseFactory

Function = TypeVar("Function", bound=Callable[..., Any])


class Elector:
    """Competes for a Lease from the start of the factory until stop(), or until close(), which releases the Lease.

        elector = factory.elector("website-controller", namespace="shop")

        @factory.controller(for_="websites.example.com", elector=elector)
        def reconcile(ctx, key): ...

    A role needs the verbs get, create and update for leases in the namespace.
    """

    def __init__(
        self,
        factory: BaseFactory[Any],
        name: str,
        namespace: str | None = None,
        identity: str | None = None,
        lease_duration: float = lib.KI_LEASE_DURATION_MS / 1000,
        renew_deadline: float = lib.KI_RENEW_DEADLINE_MS / 1000,
        retry_period: float = lib.KI_RETRY_PERIOD_MS / 1000,
    ) -> None:
        """Made by factory.elector()."""
        self._factory = factory
        self._functions: dict[str, list[Callable[..., Any]]] = {}
        self._handle = ffi.new_handle(self)
        options = Struct(
            "ki_elector_options",
            namespace_name=factory.default_namespace if namespace is None else text("namespace", namespace),
            name=text("name", name),
            identity=optional_text("identity", identity),
            lease_duration_ms=milliseconds("lease_duration", lease_duration),
            renew_deadline_ms=milliseconds("renew_deadline", renew_deadline),
            retry_period_ms=milliseconds("retry_period", retry_period),
            release_on_stop=True,
            user=self._handle,
        )
        callbacks = options.struct.callbacks
        callbacks.on_started_leading = lib.kpy_on_started_leading
        callbacks.on_stopped_leading = lib.kpy_on_stopped_leading
        callbacks.on_new_leader = lib.kpy_on_new_leader
        made = ffi.new("ki_elector **")
        call(lib.ki_elector_new, factory._pointer, options.struct, made)
        self._pointer = made[0]
        factory._parts.append(self)

    def on_started_leading(self, function: Function) -> Function:
        """Decorator: calls function() on the factory's thread once this process leads."""
        return self._add("on_started_leading", function)

    def on_stopped_leading(self, function: Function) -> Function:
        """Decorator: calls function() on the factory's thread once this process leads no longer."""
        return self._add("on_stopped_leading", function)

    def on_new_leader(self, function: Function) -> Function:
        """Decorator: calls function(identity) on the factory's thread when the Lease has another holder; "": none."""
        return self._add("on_new_leader", function)

    @property
    def is_leader(self) -> bool:
        """True while this process leads. Reads the clock at each call."""
        self._factory._check()
        return bool(lib.ki_elector_is_leader(self._pointer))

    @property
    def fencing_token(self) -> int:
        """A number that rises with each leader, for writes to other systems; -1 if this process does not lead."""
        self._factory._check()
        return int(lib.ki_elector_fencing_token(self._pointer))

    @property
    def leader(self) -> str:
        """The identity of the Lease's holder, as last seen; "" if there is none."""
        self._factory._check()
        identity = ffi.new("char[]", lib.KI_IDENTITY_MAX + 1)
        lib.ki_elector_leader(self._pointer, identity, len(identity))
        return string(identity)

    def stop(self) -> None:
        """Stops competing, and releases the Lease unless a reconcile runs. Repeatable."""
        self._factory._check()
        lib.ki_elector_stop(self._pointer)

    def _add(self, name: str, function: Function) -> Function:
        if not callable(function):
            raise TypeError(f"{name} takes a function, not {type(function).__name__}")
        self._functions.setdefault(name, []).append(function)
        return function

    def _call(self, name: str, *arguments: Any) -> None:
        for function in self._functions.get(name, []):
            try:
                function(*arguments)
            except BaseException as error:
                if not self._factory._leave(error):
                    logger.exception("%s of an elector failed: %r", name, function)

    def _end(self) -> None:
        pass

    def _free(self) -> None:
        lib.ki_elector_free(self._pointer)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def kpy_on_started_leading(_elector: Any, user: Any) -> None:
    elector: Elector = ffi.from_handle(user)
    elector._call("on_started_leading")


@ffi.def_extern()  # type: ignore[untyped-decorator]
def kpy_on_stopped_leading(_elector: Any, user: Any) -> None:
    elector: Elector = ffi.from_handle(user)
    elector._call("on_stopped_leading")


@ffi.def_extern()  # type: ignore[untyped-decorator]
def kpy_on_new_leader(_elector: Any, identity: Any, user: Any) -> None:
    elector: Elector = ffi.from_handle(user)
    elector._call("on_new_leader", string(identity))
