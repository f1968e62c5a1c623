"""The resources of a server by name, or by apiVersion and kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .arguments import string, text
from .errors import Error, NotFound, call
from ._native import ffi, lib


class ResourceNames:
    """Finds resources: the built-in ones, and those that the server's discovery named last.

    A name is one of "pods", "po", "Deployment", "deployments.apps", "widgets.example.com"; with a version "Kind.v1" (of
    the core group) or "Widget.v1.example.com".
    """

    def __init__(self) -> None:
        self._discovery = ffi.NULL
        self._map: Any = None
        self._asked_at = 0.0

    def find(self, name: str) -> tuple[Any, Any] | None:
        """Returns the ki_resource and what keeps it; None if it is unknown. Errors: as of text()."""
        found = lib.ki_resource_find(text("resource", name))
        if found:
            return found, None
        group_version = name.split(".", 1)
        if len(group_version) == 2 and "." not in group_version[1]:  # a kind of the core group with its version
            found = lib.ki_resource_find(text("resource", group_version[0]))
            if found and not string(found.group) and string(found.version) == group_version[1]:
                return found, None
        resources = self._map
        if resources is None or self._age() > lib.KI_DISCOVERY_TTL_MS:
            return None
        discovered = lib.ki_resource_map_find(resources, text("resource", name))
        return (ffi.addressof(discovered, "resource"), resources) if discovered else None

    def can_refresh(self) -> bool:
        """False if the server was asked a moment ago."""
        return self._map is None or self._age() > lib.KI_DISCOVERY_REFRESH_MS

    def refresh(self, begin: Callable[..., None], client: Any, handle: Any) -> None:
        """Asks the server of a ki_client. kpy_on_resources is called with the handle, once, on the loop.

        begin: calls the library's function (Operation._call).
        """
        if not self._discovery:
            made = ffi.new("ki_discovery **")
            call(lib.ki_discovery_new, client, ffi.NULL, made)
            self._discovery = made[0]
        begin(lib.ki_discovery_refresh, self._discovery, lib.kpy_on_resources, handle)

    def take(self, resources: Any) -> None:
        """Takes a ki_resource_map that the server has just sent."""
        self._map = ffi.gc(lib.ki_resource_map_ref(resources), lib.ki_resource_map_unref)
        self._asked_at = time.monotonic()

    def unknown(self, name: str) -> Error:
        """Returns the exception for a name that the server does not have."""
        failed = string(lib.ki_resource_map_failed_for(self._map, text("resource", name)))
        if failed:
            return NotFound(f"the server could not say whether it has a resource {name!r}: {failed} is not available")
        nearest = string(lib.ki_resource_map_nearest(self._map, text("resource", name)))
        return NotFound(f"the server has no resource {name!r}" + (f": did you mean {nearest}?" if nearest else ""))

    def free(self) -> None:
        """Called before the factory is freed."""
        lib.ki_discovery_free(self._discovery)
        self._discovery = ffi.NULL

    def _age(self) -> float:
        return (time.monotonic() - self._asked_at) * 1000


def full_name(resource: Any) -> str:
    """Returns the name of a ki_resource: its plural, with its group: "pods", "deployments.apps"."""
    group = string(resource.group)
    return string(resource.plural) + (f".{group}" if group else "")


def resource_of(obj: dict[str, Any]) -> str:
    """Returns the name of an object's resource. Errors: ValueError (no apiVersion or kind)."""
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(version, str) or not kind or not version:
        raise ValueError("the object needs apiVersion and kind, such as apiVersion: apps/v1, kind: Deployment")
    group, _, version = version.rpartition("/")
    return f"{kind}.{version}.{group}" if group else f"{kind}.{version}"
