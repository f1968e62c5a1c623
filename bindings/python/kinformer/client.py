"""The client: requests to the API server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

from .arguments import flag, integer, milliseconds, optional_text, string, text
from .errors import Invalid, Unsupported, call
from .informer import BaseInformer
from .object import Object
from .request import Request
from .resource import resource_of
from ._native import ffi, lib

if TYPE_CHECKING:
    from .factory import BaseFactory

Content = Union[Mapping[str, Any], str]
Changes = Union[Content, list[dict[str, Any]]]
PatchType = Literal["merge", "json", "strategic"]
Propagation = Literal["orphan", "background", "foreground"]
Result = TypeVar("Result")

_PATCHES = {"merge": lib.KI_PATCH_MERGE, "json": lib.KI_PATCH_JSON, "strategic": lib.KI_PATCH_STRATEGIC}
_PROPAGATIONS = {
    None: lib.KI_PROPAGATION_DEFAULT,
    "orphan": lib.KI_PROPAGATION_ORPHAN,
    "background": lib.KI_PROPAGATION_BACKGROUND,
    "foreground": lib.KI_PROPAGATION_FOREGROUND,
}
_TIMEOUT = lib.KI_CLIENT_TIMEOUT_MS / 1000


class Listing(list[Object]):
    """The objects of a list, or of one page.

    resource_version: of the list. continue_token: of the next page; "" after the last. remaining: the number of objects
    after this page; None if the server does not say.
    """

    resource_version: str = ""
    continue_token: str = ""
    remaining: int | None = None


class Deleted:
    """What a deletion did.

    uid: of the deleted object. resource_version: at which the object was marked, if it stays until its finalizers or
    its grace period end; "" if it is gone.
    """

    def __init__(self, uid: str, resource_version: str) -> None:
        self.uid = uid
        self.resource_version = resource_version

    def __repr__(self) -> str:
        return f"<Deleted uid={self.uid} resource_version={self.resource_version!r}>"


class Client:
    """The client of a factory, which shares connections, credentials and rate limit with the informers.

        factory.client.apply({"apiVersion": "v1", "kind": "ConfigMap", ...}, field_manager="greeter")

    Arguments that several functions have:

    resource: any name of a built-in resource ("pods", "deploy"), or of a custom one ("widgets.example.com").
    key: "namespace/name", or "name" of a cluster-scoped object.
    obj: a dict, an Object, or a text of YAML or JSON, with apiVersion, kind and metadata.name.
    subresource: such as "status" or "scale".
    field_manager: who owns the fields that are written.
    dry_run: the server checks the request, and stores nothing.
    seen_by: an informer of the resource; the function returns once its cache has the write.
    timeout: seconds for the request with its retries, and again for `seen_by`; None: no limit.

    Requests in a reconcile belong to it (controller.py). Any thread may call any function, but no handler.

    Errors of all: NotFound, Conflict, Forbidden and the like (the response, with the server's message); NotFound (the
    server has no such resource); Timeout; ConnectionFailed; Invalid (the message names what is missing; `seen_by` is of
    another resource), TypeError and ValueError (an argument); Deadlock (called in a handler); Cancelled (the factory
    was closed, or this process does not lead any more); StateError (the factory is closed, or it or `seen_by` is not
    started).
    """

    def __init__(self, factory: BaseFactory[Any]) -> None:
        """Made by a factory: factory.client."""
        self._factory = factory

    def get(
        self, resource: str, key: str, *, subresource: str | None = None, timeout: float | None = _TIMEOUT
    ) -> Object:
        """Returns the server's state of an object."""
        fields = {"verb": lib.KI_CLIENT_GET, **_place(key)}
        options = {"subresource": subresource}
        return self._do(resource, fields, options, timeout, _take_object)

    def list(
        self,
        resource: str,
        *,
        namespace: str | None = None,
        labels: str | None = None,
        fields: str | None = None,
        limit: int = 0,
        continue_token: str | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> Listing:
        """Returns the objects on the server.

        namespace: None: the factory's; "": all. labels, fields: selectors. limit: objects of a page; 0: all of them in
        one response. continue_token: of the page before.
        Errors: Expired (the page before is too old: begin again).
        """
        options = {
            "label_selector": labels,
            "field_selector": fields,
            "limit": integer("limit", limit),
            "continue_token": continue_token,
        }
        where = self._factory._namespace if namespace is None else namespace
        request = {"verb": lib.KI_CLIENT_LIST, "namespace_name": where}
        return self._do(resource, request, options, timeout, _take_list)

    def create(
        self,
        obj: Content,
        *,
        resource: str | None = None,
        subresource: str | None = None,
        field_manager: str | None = None,
        dry_run: bool = False,
        seen_by: BaseInformer | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> Object:
        """Creates an object, and returns it.

        resource, subresource: for what is created at an object of another kind: an Eviction with resource="pods",
        subresource="eviction". Errors: AlreadyExists.
        """
        content = to_dict(obj)
        fields = _write_of(lib.KI_CLIENT_CREATE, content)
        if subresource is None:
            fields["name"] = None
        options = {"subresource": subresource, "field_manager": field_manager}
        return self._write(resource or resource_of(content), fields, options, dry_run, seen_by, timeout)

    def update(
        self,
        obj: Content,
        *,
        subresource: str | None = None,
        field_manager: str | None = None,
        dry_run: bool = False,
        seen_by: BaseInformer | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> Object:
        """Replaces an object, and returns its new state. With a metadata.resourceVersion, only that version.

        Errors: Conflict (the object has changed since: get it again, and try again).
        """
        content = to_dict(obj)
        fields = _write_of(lib.KI_CLIENT_UPDATE, content)
        options = {"subresource": subresource, "field_manager": field_manager}
        return self._write(resource_of(content), fields, options, dry_run, seen_by, timeout)

    def update_status(self, obj: Content, **options: Any) -> Object:
        """Replaces the status of an object: update() with subresource="status"."""
        return self.update(obj, subresource="status", **options)

    def patch(
        self,
        resource: str,
        key: str,
        changes: Changes,
        *,
        type: PatchType = "merge",
        subresource: str | None = None,
        field_manager: str | None = None,
        dry_run: bool = False,
        seen_by: BaseInformer | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> Object:
        """Changes an object, and returns its new state.

        changes: of type "merge" the fields to be set, None for those to be removed (RFC 7396); of type "json" a list of
        changes (RFC 6902); of type "strategic" as "merge", with lists merged by their keys, of built-in resources only.
        """
        if type not in _PATCHES:
            raise ValueError(f"type must be one of {', '.join(_PATCHES)}, not {type!r}")
        if type == "json":
            if not isinstance(changes, list):
                raise TypeError(f"the changes of a JSON patch are a list, not {changes.__class__.__name__}")
            body = to_json(changes)
        elif isinstance(changes, list):
            raise TypeError(f"the changes of a {type} patch are a dict or a text, not a list")
        else:
            body = to_json(to_dict(changes))
        fields = {"verb": lib.KI_CLIENT_PATCH, **_place(key), "patch": _PATCHES[type], "body": body}
        options = {"subresource": subresource, "field_manager": field_manager}
        return self._write(resource, fields, options, dry_run, seen_by, timeout)

    def apply(
        self,
        obj: Content,
        *,
        field_manager: str,
        force: bool = False,
        subresource: str | None = None,
        dry_run: bool = False,
        seen_by: BaseInformer | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> Object:
        """Creates an object or sets its fields (server-side apply), and returns its new state.

        force: takes over fields that other managers own. Errors: Conflict (another manager owns a field: error.causes).
        """
        text("field_manager", field_manager)
        content = to_dict(obj)
        fields = {**_write_of(lib.KI_CLIENT_PATCH, content), "patch": lib.KI_PATCH_APPLY}
        options = {"subresource": subresource, "field_manager": field_manager, "force": flag("force", force)}
        return self._write(resource_of(content), fields, options, dry_run, seen_by, timeout)

    def delete(
        self,
        resource: str,
        key: str,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation: Propagation | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
        seen_by: BaseInformer | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> Deleted:
        """Deletes an object.

        uid, resource_version: only the object with this uid, at this version. propagation: what happens to the objects
        that it owns; None: the resource's default. grace_period: seconds; 0: at once; None: the object's own.
        Errors: Conflict (another uid or version).
        """
        if propagation not in _PROPAGATIONS:
            raise ValueError(f"propagation must be orphan, background or foreground, not {propagation!r}")
        options = {
            "precondition_uid": uid,
            "precondition_resource_version": resource_version,
            "propagation": _PROPAGATIONS[propagation],
        }
        if grace_period is not None:
            options["grace_period_s"] = integer("grace_period", grace_period) or lib.KI_GRACE_NOW
        fields = {"verb": lib.KI_CLIENT_DELETE, **_place(key)}
        _check_write(options, dry_run, seen_by)
        return self._do(resource, fields, options, timeout, _take_deleted, seen_by, key)

    def scale(
        self,
        resource: str,
        key: str,
        replicas: int,
        *,
        field_manager: str | None = None,
        dry_run: bool = False,
        timeout: float | None = _TIMEOUT,
    ) -> Object:
        """Sets the number of replicas, and returns the Scale. get(…, subresource="scale") returns the present one."""
        changes = {"spec": {"replicas": integer("replicas", replicas)}}
        options: dict[str, Any] = {"field_manager": field_manager, "dry_run": dry_run, "timeout": timeout}
        return self.patch(resource, key, changes, subresource="scale", **options)

    def request(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | str | bytes | None = None,
        *,
        content_type: str | None = None,
        accept: str | None = None,
        timeout: float | None = _TIMEOUT,
    ) -> bytes:
        """Sends any request, and returns the body of its response.

        path: percent-encoded, with the query: "/version", "/api/v1/namespaces/shop/pods/a/log?tailLines=9".
        body: a mapping is sent as JSON. content_type, accept: None: application/json.
        """
        text("method", method), text("path", path)
        fields: dict[str, Any] = {"verb": lib.KI_CLIENT_RAW, "method": method, "path": path}
        fields["content_type"] = optional_text("content_type", content_type)
        fields["accept"] = optional_text("accept", accept)
        if isinstance(body, Mapping):
            body = to_json(to_dict(body))
        elif isinstance(body, str):
            body = body.encode("utf-8", "surrogateescape")
        elif body is not None and not isinstance(body, bytes):
            raise TypeError(f"body must be a mapping, str or bytes, not {type(body).__name__}")
        fields["body"] = body
        return self._do(None, fields, {}, timeout, _take_body)

    def _write(
        self,
        resource: str,
        fields: dict[str, Any],
        options: dict[str, Any],
        dry_run: bool,
        seen_by: BaseInformer | None,
        timeout: float | None,
    ) -> Object:
        _check_write(options, dry_run, seen_by)
        return self._do(resource, fields, options, timeout, _take_object, seen_by)

    def _do(
        self,
        resource: str | None,
        fields: dict[str, Any],
        options: dict[str, Any],
        timeout: float | None,
        take: Callable[[Any], Result],
        seen_by: BaseInformer | None = None,
        key: str = "",
    ) -> Result:
        """Sends a request, and waits as the factory waits."""
        self._factory._check()
        if resource is not None:
            text("resource", resource)
        for name in ("subresource", "field_manager", "label_selector", "field_selector", "continue_token"):
            optional_text(name, options.get(name))
        body = fields.pop("body", None)
        if body is not None:
            fields.update(body=ffi.from_buffer(body), body_size=len(body))
        limit = milliseconds("timeout", timeout)
        options["timeout_ms"] = limit if limit < 0 else max(limit, 1)
        result: Result = self._factory._wait(Request(self._factory, resource, fields, options, take, seen_by, key))
        return result


def to_dict(obj: Content) -> dict[str, Any]:
    """Returns an object or a text of YAML or JSON as a dict.

    Errors: ParseError (line and column), TypeError, ValueError (an Object that was changed in place: the change would
    be lost).
    """
    if isinstance(obj, Object):
        content = obj.to_dict()
        if obj._content is not None and obj._content != content:
            raise ValueError(f"{obj!r} was changed in place: change a copy, obj.to_dict(), and write that")
        return content
    if isinstance(obj, Mapping):
        return dict(obj)
    if not isinstance(obj, str):
        raise TypeError(f"an object must be a mapping or a text of YAML or JSON, not {type(obj).__name__}")
    made = ffi.gc(lib.ki_unstructured_new(text("an object", obj)), lib.ki_unstructured_free)
    return read_unstructured(made)


def read_unstructured(made: Any) -> dict[str, Any]:
    """Returns a ki_unstructured as a dict, or raises its failure."""
    read: dict[str, Any] = {}

    def take(err: Any) -> Any:
        content = lib.ki_unstructured_json(made, err)
        if not content:
            return err.code
        read.update(json.loads(ffi.string(content)))
        return lib.KI_OK

    call(take)
    return read


def to_json(content: Any) -> bytes:
    """Returns JSON. Errors: TypeError and ValueError (what JSON does not have: a set, NaN, half of a surrogate pair, which
    a server would replace)."""
    written = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=_default)
    return written.encode()


def _default(value: Any) -> Any:
    if isinstance(value, Mapping):
        return to_dict(value)
    raise TypeError(f"an object has a {type(value).__name__}, which JSON does not have")


def _place(key: str) -> dict[str, Any]:
    text("key", key)
    namespace, _, name = key.rpartition("/")
    if not name or "/" in namespace or key.startswith("/"):
        raise Invalid(f"a key is namespace/name, or the name of a cluster-scoped object, not {key!r}")
    return {"namespace_name": namespace, "name": name}


def _write_of(verb: int, content: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a request that writes an object."""
    metadata = content.get("metadata")
    if not isinstance(metadata, Mapping):
        raise ValueError("the object has no metadata")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    optional_text("metadata.name", name)
    optional_text("metadata.namespace", namespace)
    return {"verb": verb, "namespace_name": namespace, "name": name, "body": to_json(content)}


def _check_write(options: dict[str, Any], dry_run: bool, seen_by: BaseInformer | None) -> None:
    options["dry_run"] = flag("dry_run", dry_run)
    if seen_by is None:
        return
    if not isinstance(seen_by, BaseInformer):
        raise TypeError(f"seen_by must be an informer, not {type(seen_by).__name__}")
    if dry_run:
        raise ValueError("a dry run writes nothing that an informer can see")


def _take_object(response: Any) -> Object:
    obj = lib.ki_response_object(response)
    if not obj:
        raise Unsupported("the response is no object with a name: use request(), which returns any response")
    return Object(lib.ki_object_ref(obj))


def _take_list(response: Any) -> Listing:
    count = lib.ki_response_item_count(response)
    listing = Listing(Object(lib.ki_object_ref(lib.ki_response_item(response, i))) for i in range(count))
    listing.resource_version = string(lib.ki_response_resource_version(response))
    listing.continue_token = string(lib.ki_response_continue(response))
    remaining = lib.ki_response_remaining(response)
    listing.remaining = remaining if remaining >= 0 else None
    return listing


def _take_deleted(response: Any) -> Deleted:
    version = string(lib.ki_response_resource_version(response)) if lib.ki_response_object(response) else ""
    return Deleted(string(lib.ki_response_uid(response)), version)


def _take_body(response: Any) -> bytes:
    size = ffi.new("size_t *")
    body = lib.ki_response_body(response, size)
    taken: bytes = ffi.buffer(body, size[0])[:]
    return taken
