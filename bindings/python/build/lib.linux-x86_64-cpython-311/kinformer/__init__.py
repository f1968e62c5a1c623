"""Kubernetes informers: a local, indexed, current cache of a cluster's objects, and handlers for each change.

    import kinformer

    with kinformer.Factory() as factory:
        pods = factory.informer("pods", namespace="shop", view={"phase": "status.phase"})

        @pods.on_update
        def changed(event):
            print(event.key, event.old.phase, "→", event.new.phase)

        factory.start()
        pods.wait_for_sync(timeout=10)
        print(pods["shop/cart-1"].phase)
"""

from .interpreter import check_interpreter

check_interpreter()

from .errors import (  # noqa: E402
    AlreadyExists,
    BadRequest,
    Cancelled,
    ConfigError,
    Conflict,
    ConnectionFailed,
    Deadlock,
    Error,
    Expired,
    Forbidden,
    Invalid,
    LimitExceeded,
    NotFound,
    OutOfMemory,
    ParseError,
    ServerError,
    StateError,
    SystemFailure,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unsupported,
)
from .arguments import string as _string  # noqa: E402
from .factory import Factory  # noqa: E402
from .handler import Event, Registration  # noqa: E402
from .health import Health, Memory  # noqa: E402
from .informer import Informer  # noqa: E402
from .object import Object  # noqa: E402
from .snapshot import Snapshot  # noqa: E402
from ._native import lib as _lib  # noqa: E402

__version__: str = _string(_lib.ki_version())

__all__ = [
    "AlreadyExists",
    "BadRequest",
    "Cancelled",
    "ConfigError",
    "Conflict",
    "ConnectionFailed",
    "Deadlock",
    "Error",
    "Event",
    "Expired",
    "Factory",
    "Forbidden",
    "Health",
    "Informer",
    "Invalid",
    "LimitExceeded",
    "Memory",
    "NotFound",
    "Object",
    "OutOfMemory",
    "ParseError",
    "Registration",
    "ServerError",
    "Snapshot",
    "StateError",
    "SystemFailure",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "Unsupported",
]
