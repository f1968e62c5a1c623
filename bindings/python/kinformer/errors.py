"""Exceptions: one class for each reason by which a program acts differently.

Every failure of the library is an `Error`, whose text is the library's message. A failure that Python has a class for
is that, too: `except LookupError` catches NotFound, `except TimeoutError` catches Timeout.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ._native import ffi, lib


class Cause(NamedTuple):
    """One cause of an error response.

    reason: such as "FieldValueInvalid". field: such as "metadata.labels"; "" if the cause names none.
    """

    reason: str
    message: str
    field: str


class Error(Exception):
    """A failure of the library or an error response of the server.

    code: the kind of failure in words, such as "expired" (ki_status_name).
    category: who can fix it: "try again", "fix your credentials", … (ki_category_name).
    http_status: the status of the response; 0 without a response.
    reason: the reason of a Kubernetes Status, such as "Forbidden"; else "".
    retry_after: seconds that the server asks to wait; None if it does not say.
    causes: of an error response to a request of the client: the fields that are wrong, or that another manager owns.
    """

    code: str = ""
    category: str = ""
    http_status: int = 0
    reason: str = ""
    retry_after: float | None = None
    causes: tuple[Cause, ...] = ()


class Invalid(Error, ValueError):
    """An argument, or an object that the server rejects (422)."""


class ParseError(Invalid):
    """Malformed: a path, a selector, YAML or JSON."""


class LimitExceeded(Invalid):
    """A named limit is exceeded."""


class NotFound(Error, LookupError):
    """No such object, resource, index, file or context."""


class AlreadyExists(Error):
    """The name is taken."""


class Conflict(Error):
    """The object was changed meanwhile, or another manager owns a field (409)."""


class Unauthorized(Error):
    """The server does not accept the credentials (401)."""


class Forbidden(Error, PermissionError):
    """The user lacks the permission (403)."""


class BadRequest(Error):
    """A malformed request (400)."""


class Expired(Error):
    """A resource version or a continue token is too old (410)."""


class TooManyRequests(Error):
    """The server limits the rate of requests (429)."""


class ServerError(Error):
    """The server failed or is unavailable (5xx), or broke the protocol."""


class Timeout(Error, TimeoutError):
    """A time limit passed."""


class ConnectionFailed(Error, ConnectionError):
    """No connection: unknown host, no route, refused, a certificate, or a connection that ended."""


class ConfigError(Error):
    """The configuration is contradictory or incomplete; the message names the field."""


class Cancelled(Error):
    """The informer or the factory was stopped."""


class StateError(Error, RuntimeError):
    """Not possible in this state: not started, closed, or in a forked process."""


class Deadlock(StateError):
    """A handler called a function that waits: the handler's thread is the one that would end the wait."""


class Unsupported(Error):
    """Not supported by this library, build or server."""


class OutOfMemory(Error, MemoryError):
    """Memory ran out."""


class SystemFailure(Error, OSError):
    """A system call failed; the message has its errno."""


_BY_RESPONSE = [
    (lib.ki_error_is_not_found, NotFound),
    (lib.ki_error_is_already_exists, AlreadyExists),
    (lib.ki_error_is_conflict, Conflict),
    (lib.ki_error_is_invalid, Invalid),
    (lib.ki_error_is_unauthorized, Unauthorized),
    (lib.ki_error_is_forbidden, Forbidden),
    (lib.ki_error_is_bad_request, BadRequest),
    (lib.ki_error_is_gone, Expired),
    (lib.ki_error_is_expired, Expired),
    (lib.ki_error_is_too_many_requests, TooManyRequests),
    (lib.ki_error_is_timeout, Timeout),
    (lib.ki_error_is_server_timeout, ServerError),
    (lib.ki_error_is_service_unavailable, ServerError),
    (lib.ki_error_is_internal, ServerError),
]

_BY_STATUS = {
    lib.KI_ERR_NO_MEMORY: OutOfMemory,
    lib.KI_ERR_INVALID: Invalid,
    lib.KI_ERR_STATE: StateError,
    lib.KI_ERR_DEADLOCK: Deadlock,
    lib.KI_ERR_LIMIT: LimitExceeded,
    lib.KI_ERR_PARSE: ParseError,
    lib.KI_ERR_NOT_FOUND: NotFound,
    lib.KI_ERR_EXISTS: AlreadyExists,
    lib.KI_ERR_SYSTEM: SystemFailure,
    lib.KI_ERR_CONNECT: ConnectionFailed,
    lib.KI_ERR_TLS: ConnectionFailed,
    lib.KI_ERR_UNEXPECTED_EOF: ConnectionFailed,
    lib.KI_ERR_PROTOCOL: ServerError,
    lib.KI_ERR_TIMEOUT: Timeout,
    lib.KI_ERR_CANCELLED: Cancelled,
    lib.KI_ERR_CLOSED: StateError,
    lib.KI_ERR_EXPIRED: Expired,
    lib.KI_ERR_CONFIG: ConfigError,
    lib.KI_ERR_UNSUPPORTED: Unsupported,
    lib.KI_ERR_END: NotFound,
}


def new_error() -> Any:
    """Returns an empty ki_error for a call."""
    return ffi.new("ki_error *", {"retry_after_ms": -1})


def error_of(err: Any) -> Error:
    """Returns the exception for a filled ki_error."""
    kind = _BY_STATUS.get(err.code, Error)
    if err.code == lib.KI_ERR_HTTP:
        kind = next((kind for is_kind, kind in _BY_RESPONSE if is_kind(err)), Error)
    error: Error = kind(ffi.string(lib.ki_error_message(err)).decode("utf-8", "replace"))
    error.code = ffi.string(lib.ki_status_name(err.code)).decode()
    error.category = ffi.string(lib.ki_category_name(err.category)).decode()
    error.http_status = err.http_status
    error.reason = ffi.string(err.reason).decode("utf-8", "replace")
    error.retry_after = err.retry_after_ms / 1000 if err.retry_after_ms >= 0 else None
    return error


_STATUSES = {
    ffi.string(lib.ki_status_name(status)).decode(): status
    for status in (*_BY_STATUS, lib.KI_ERR_HTTP, lib.KI_ERR_TOO_LARGE_RV)
}


def error_of_status(status: int, message: str) -> Error:
    """Returns the exception for a failure of which the library gives the status alone."""
    return error_of(_filled(status, message))


def describe(error: BaseException) -> str:
    """Returns the kind and the text of an exception of the program, whose __str__ can fail."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def filled_error(error: BaseException) -> Any:
    """Returns the ki_error for an exception."""
    if not isinstance(error, Error):
        return _filled(lib.KI_ERR_INVALID, describe(error))
    err = _filled(_STATUSES.get(error.code, lib.KI_ERR_INVALID), str(error))
    err.http_status = error.http_status
    err.reason = error.reason.encode("utf-8", "replace")[: lib.KI_ERROR_REASON_MAX - 1]
    return err


def _filled(status: int, message: str) -> Any:
    err = new_error()
    lib.ki_error_set(err, status, b"%s", ffi.new("char[]", message.encode("utf-8", "replace")))
    return err


def call(function: Any, *arguments: Any) -> None:
    """Calls a C function whose last parameter is a ki_error, and raises its failure."""
    err = new_error()
    if function(*arguments, err):
        raise error_of(err)
