"""A request that a client made of the server, and the line that selects requests."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from typing import Any

from ..arguments import string
from ._native import ffi


@dataclass(frozen=True)
class Request:
    """A request of a client.

    number: 1 for the server's first request. time: of the response. verb: "get", "list", "watch", "create", "update",
    "patch", "delete", "deletecollection"; for other paths the method, such as "post". resource: "pods",
    "deployments.apps", "deployments.apps/status"; "": the path of no resource. namespace, name: "" if there is none; a
    create has its name in the body. target: path and query. user: who made it; "system:anonymous" without credentials.
    status: the HTTP status of the response; 0: a fault closed the connection without one. text: the body, YAML and
    protobuf as JSON.
    """

    number: int
    time: datetime.datetime
    verb: str
    resource: str
    namespace: str
    name: str
    target: str
    user: str
    user_agent: str
    status: int
    text: str

    @property
    def body(self) -> Any:
        """The body as dict, list, …; None without a body. Errors: ValueError (the client sent no JSON)."""
        return json.loads(self.text) if self.text else None

    def __str__(self) -> str:
        what = f"{self.verb} {self.target}" + (f" by {self.user}" if self.user else "")
        return f"{what}: {self.status}" if self.status else f"{what}: no response"


def read_request(request: Any) -> Request:
    """Returns the Request of a ki_testing_request."""
    return Request(
        number=request.number,
        time=datetime.datetime.fromtimestamp(request.time_ms / 1000, datetime.timezone.utc),
        verb=string(request.verb),
        resource=string(request.resource),
        namespace=string(request.namespace_name),
        name=string(request.name),
        target=string(request.target),
        user=string(request.user),
        user_agent=string(request.user_agent),
        status=request.status,
        text=ffi.unpack(request.body, request.body_size).decode("utf-8", "replace") if request.body_size else "",
    )


def select_requests(**filters: str | None) -> str:
    """Returns the line that selects requests by these fields. Errors: TypeError, ValueError."""
    parts = []
    for field, value in filters.items():
        if value is None:
            continue
        if not isinstance(value, str):
            raise TypeError(f"{field} must be a str, not {type(value).__name__}")
        if "," in value:
            raise ValueError(f"{field} has a comma: several values have + between them, as in {field}=a+b")
        parts.append(f"{field.replace('_', '-')}={value}")
    return ",".join(parts)
