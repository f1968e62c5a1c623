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
    Cause,
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
from .authorities import choose_certificates as _choose_certificates  # noqa: E402
from .change import (  # noqa: E402
    add_owner,
    is_controlled_by,
    remove_condition,
    remove_owner,
    set_condition,
    set_controller,
)
from .client import Client, Deleted, Listing  # noqa: E402
from .controller import Context, Controller, Failure  # noqa: E402
from .elector import Elector  # noqa: E402
from .factory import Factory  # noqa: E402
from .handler import Event, Registration  # noqa: E402
from .health import Health, Memory  # noqa: E402
from .informer import Informer  # noqa: E402
from .object import Object  # noqa: E402
from .recorder import EventRecorder, RecorderCounts  # noqa: E402
from .snapshot import Snapshot  # noqa: E402
from ._native import lib as _lib  # noqa: E402

__version__: str = _string(_lib.ki_version())

certificates: str = _choose_certificates()
"""Where the certificates for servers without a certificate authority come from: "system: PATH", "SSL_CERT_FILE: PATH",
"SSL_CERT_DIR: PATHS", "certifi: PATH", or "none"."""

__all__ = [
    "AlreadyExists",
    "BadRequest",
    "Cancelled",
    "Cause",
    "Client",
    "ConfigError",
    "Conflict",
    "ConnectionFailed",
    "Context",
    "Controller",
    "Deadlock",
    "Deleted",
    "Elector",
    "Error",
    "Event",
    "EventRecorder",
    "Expired",
    "Factory",
    "Failure",
    "Forbidden",
    "Health",
    "Informer",
    "Invalid",
    "LimitExceeded",
    "Listing",
    "Memory",
    "NotFound",
    "Object",
    "OutOfMemory",
    "ParseError",
    "RecorderCounts",
    "Registration",
    "ServerError",
    "Snapshot",
    "StateError",
    "SystemFailure",
    "Timeout",
    "TooManyRequests",
    "Unauthorized",
    "Unsupported",
    "add_owner",
    "certificates",
    "is_controlled_by",
    "remove_condition",
    "remove_owner",
    "set_condition",
    "set_controller",
]
