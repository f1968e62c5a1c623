"""An embedded Kubernetes API server: objects, users, faults, and what clients requested."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import secrets
import shutil
import tempfile
import threading
import time
import urllib.parse
import weakref
from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from .._native import lib as library
from ..arguments import flag, integer, milliseconds, string, text
from ..errors import Error, Invalid, StateError, Timeout, call, error_of, new_error
from .fault import Fault
from .request import Request, read_request, select_requests
from .user import User, read_allowed
from ._native import ffi, lib

Objects = list[dict[str, Any]]
Requests = list[Request]

_LOOK_SECONDS = 0.1  # how long a wait is deaf to Ctrl-C and close()
_DEFINITIONS = library.ki_resource_find(b"customresourcedefinitions")


class Server:
    """A Kubernetes API server on the loopback interface, in this process. It keeps all objects in memory.

    kubectl and every client work with it unchanged: they get `kubeconfig`, whose user is the administrator. The
    server's threads are its own, and hold no lock of Python.

    A resource is named "pods", "deploy" or "deployments.apps"; a custom one as its CustomResourceDefinition,
    "widgets.example.com". Objects are dicts. `namespace` is ignored for resources without namespaces.

    Any thread may call any function. A process that is forked may use the server's URL, and none of its functions.
    Errors of all: StateError (the server is closed, or the process was forked), TypeError and ValueError (arguments).

    url: "https://127.0.0.1:41873". kubeconfig: the path of a file with a context for the administrator, which is the
    current one, and one for each user. token: the administrator's. ca: the path of the PEM file with the certificate
    that clients must trust. token and ca are None without `tls`. folder: where load() looks for relative paths.
    """

    def __init__(
        self,
        *,
        tls: bool = True,
        rbac: bool = False,
        pods: int = 0,
        nodes: int = 0,
        churn: int = 0,
        garbage_collection: bool = False,
        folder: str | os.PathLike[str] = "",
    ) -> None:
        """Starts a server.

        tls: HTTPS with a certificate and users with tokens, as a cluster has them. Without, a server for programs that
            get only a URL: everybody may do everything, and there are no users.
        rbac: roles and their bindings authorize users, too. Needs tls.
        pods, nodes: the approximate number of pods and nodes, as a cluster has them. churn: their changes a second.
        garbage_collection: objects whose owners are deleted are deleted, too.
        folder: where load() looks for relative paths; "": the working directory.
        Errors: SystemFailure, OutOfMemory.
        """
        options = ffi.new(
            "ki_testing_server_options *",
            {
                "size": ffi.sizeof("ki_testing_server_options"),
                "tls": flag("tls", tls),
                "rbac": flag("rbac", rbac),
                "pods": integer("pods", pods),
                "nodes": integer("nodes", nodes),
                "churn": churn,
                "collects_garbage": flag("garbage_collection", garbage_collection),
            },
        )
        if rbac and not tls:
            raise ValueError("rbac needs tls: clients send no token to a server that is not HTTPS")
        self.folder = folder
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._callers = 0  # threads inside a function of the library
        self._is_closed = False
        self._own_folder = tempfile.mkdtemp(prefix="kinformer-")
        made = ffi.new("ki_testing_server **")
        try:
            call(lib.ki_testing_server_new, options, made)
        except BaseException:
            shutil.rmtree(self._own_folder)
            raise
        self._pointer = made[0]
        self._free = weakref.finalize(self, _free, self._pointer, self._own_folder, self._pid)
        self.url: str = string(lib.ki_testing_server_url(self._pointer))
        self.kubeconfig: str = os.path.join(self._own_folder, "kubeconfig")
        self._has_new_users = False  # since the start
        self.token: str | None = None
        self.ca: str | None = None
        if tls:
            self.token = string(lib.ki_testing_server_token(self._pointer))
            self.ca = os.path.join(self._own_folder, "ca.pem")
            with open(self.ca, "w") as file:
                file.write(self._read_text(lib.ki_testing_server_ca))
            # With one rule a user may do what rules allow, and not everything. The administrator may do all anyway.
            self._call(lib.ki_testing_server_allow, b"user=kinformer-admin")
            self.keep_start()
        self._write_kubeconfig()

    # ---- objects ----

    def load(self, *patterns: str | os.PathLike[str]) -> int:
        """Stores all objects of YAML and JSON files as they are, with their status. Returns the number of objects.

        patterns: paths, with * and ** for any name; files come in the order of their names. A custom resource comes
        after its definition. Namespaces are created as needed; without a namespace an object is in "default".
        Errors: FileNotFoundError (no file has such a name), ParseError, Invalid; objects before stay stored.
        """
        count = 0
        for pattern in patterns:
            path = os.path.join(self.folder, os.fspath(pattern))
            names = sorted(glob.glob(path, recursive=True))
            if not names:
                raise FileNotFoundError(f"no file to load is named {path}")
            for name in names:
                with open(name, "rb") as file:
                    count += self._put(file.read(), f"{name}: ")
        return count

    def put(self, *objects: Mapping[str, Any] | str) -> int:
        """Stores objects as load() does: dicts, or texts of YAML or JSON. Returns the number of objects.

        Errors: ParseError, Invalid; objects before stay stored.
        """
        return sum(self._put(text("an object", obj) if isinstance(obj, str) else _dump(obj), "") for obj in objects)

    def create(self, resource: str, obj: Mapping[str, Any], namespace: str = "default") -> dict[str, Any]:
        """Creates an object as a client does, with defaults and validation. Returns it as stored.

        Errors: AlreadyExists, Invalid, NotFound (the resource, or the namespace), BadRequest.
        """
        made: dict[str, Any] = self._request("POST", self._path(resource, namespace), _dump(obj))
        return made

    def get(self, resource: str, name: str, namespace: str = "default") -> dict[str, Any]:
        """Returns an object. Errors: NotFound."""
        found: dict[str, Any] = self._request("GET", self._object_path(resource, namespace, name))
        return found

    def list(self, resource: str, namespace: str = "", labels: str = "", fields: str = "") -> Objects:
        """Returns objects, by namespace and name. namespace: "": all. labels, fields: selectors. Errors: BadRequest."""
        query = urllib.parse.urlencode({"labelSelector": labels, "fieldSelector": fields})
        items: Objects = self._request("GET", f"{self._path(resource, namespace)}?{query}")["items"]
        return items

    def patch(
        self, resource: str, name: str, patch: Mapping[str, Any], namespace: str = "default"
    ) -> dict[str, Any]:
        """Applies a merge patch to an object, and to its status. Returns the object.

        Errors: NotFound, Invalid, Conflict; an error changes nothing.
        """
        found = self._resource(resource)
        content = _dump(patch)
        self._call(lib.ki_testing_server_patch, *found.key(namespace, name), content, len(content))
        return self.get(resource, name, namespace)

    def delete(self, resource: str, name: str, namespace: str = "default") -> None:
        """Deletes an object. Errors: NotFound."""
        self._request("DELETE", self._object_path(resource, namespace, name))

    # ---- users ----

    def user(
        self,
        name: str,
        allow: str | Iterable[str] = (),
        *,
        namespace: str = "",
        groups: Iterable[str] = (),
    ) -> User:
        """Adds a user with a token, who may do what `allow` says and nothing else.

        allow: "pods:get,list"; several as a list: ["pods,services:get", "deployments.apps:*", "*:get"].
        namespace: where; "": everywhere. groups: the user's groups, for role bindings.
        The contexts of the server's kubeconfig get one with the user's name; the user's own has it as the current one.
        Errors: Invalid (a rule that can match no request; the message has the right word), StateError (without tls).
        """
        if self.token is None:
            raise StateError("a user needs a server with tls: clients send no token to a server that is not HTTPS")
        names = [name, *groups]
        for part in names:
            if not re.fullmatch(r"[^,+=\s]+", _text("a name", part)):
                raise ValueError(f"a name of a user or a group has no comma, +, = or space: {part!r}")
        rules = [
            ",".join(
                [f"user={name}"]
                + ([f"verb={verbs}"] if verbs else [])
                + ([f"resource={resources}"] if resources else [])
                + ([f"namespace={namespace}"] if namespace else [])
            )
            for resources, verbs in read_allowed(allow)
        ]
        for rule in rules:
            self._call(lib.ki_testing_server_allow, text("allow", rule))
        token = secrets.token_hex(16)
        line = f"token={token},user={name}" + (f",groups={'+'.join(names[1:])}" if names[1:] else "")
        self._call(lib.ki_testing_server_add_token, text("a user", line))
        self._has_new_users = True
        self._write_kubeconfig()
        path = os.path.join(self._own_folder, f"kubeconfig-{token[:8]}")
        with open(self.kubeconfig) as file:
            content = file.read()
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(
                re.sub("^current-context: .*$", lambda _: f"current-context: {json.dumps(name)}", content, flags=re.M)
            )
        return User(self, name, token, path)

    # ---- faults ----

    def fault(self, line: str) -> Fault:
        """Adds a fault, such as "status,code=500,verb=list,count=2": docs/testing-your-client.md lists all.

        It applies to requests that begin later. A watch that is open goes on without it: close_watches() ends it.
        Errors: Invalid (an unknown fault or argument; one that can match no request: the message has the right word).
        """
        number = ffi.new("uint64_t *")
        self._call(lib.ki_testing_server_add_fault, text("a fault", line), number)
        return Fault(self, line, number[0])

    # ---- what clients do ----

    def requests(
        self,
        *,
        verb: str | None = None,
        resource: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
        path: str | None = None,
        user_agent: str | None = None,
    ) -> Requests:
        """Returns the requests of clients since the start or the last reset, the oldest first. At most 10,000 are kept.

        The arguments select: verb="create+update", resource="pods+deployments.apps/status", name="web*".
        Errors: Invalid (a field that can match no request; the message has the right word).
        """
        return self._requests(
            select_requests(
                verb=verb, resource=resource, namespace=namespace, name=name, path=path, user_agent=user_agent
            )
        )

    def forget_requests(self) -> None:
        """Forgets the requests so far."""
        with self._use() as server:
            lib.ki_testing_server_forget_requests(server)

    def wait_for_requests(
        self,
        count: int = 1,
        timeout: float | None = 10,
        *,
        verb: str | None = None,
        resource: str | None = None,
        namespace: str | None = None,
        name: str | None = None,
        path: str | None = None,
        user_agent: str | None = None,
    ) -> Requests:
        """Waits until at least `count` requests match, and returns them.

        timeout: seconds; None: no limit. The other arguments: as of requests().
        Errors: Timeout (the message says how many there are), Invalid.
        """
        line = select_requests(
            verb=verb, resource=resource, namespace=namespace, name=name, path=path, user_agent=user_agent
        )
        self._wait(lib.ki_testing_server_wait_for_requests, line.encode(), integer("count", count), timeout=timeout)
        return self._requests(line)

    def wait_for_watches(self, resource: str | None = None, count: int = 1, timeout: float | None = 10) -> None:
        """Waits until exactly `count` watches of the resource are open: the program follows its changes.

        resource: None: all. timeout: seconds; None: no limit. Errors: Timeout (the message says how many there are).
        """
        found = self._resource(resource) if resource is not None else None
        pointer = found.pointer if found else ffi.NULL
        self._wait(lib.ki_testing_server_wait_for_watches, pointer, integer("count", count), timeout=timeout)

    def wait_for_object(
        self,
        resource: str,
        name: str,
        namespace: str = "default",
        fields: str = "",
        timeout: float | None = 10,
    ) -> dict[str, Any]:
        """Waits until an object exists and has the fields, and returns it.

        fields: a selector of any fields: "spec.replicas=3,status.phase!=Failed". timeout: seconds; None: no limit.
        Errors: Timeout (the message says what there is), ParseError (fields).
        """
        found = self._resource(resource)
        key = found.key(namespace, name)
        self._wait(lib.ki_testing_server_wait_for_object, *key, text("fields", fields), timeout=timeout)
        return self.get(resource, name, namespace)

    def wait_for_deletion(
        self, resource: str, name: str, namespace: str = "default", timeout: float | None = 10
    ) -> None:
        """Waits until there is no object of this name. timeout: seconds; None: no limit. Errors: Timeout."""
        found = self._resource(resource)
        self._wait(lib.ki_testing_server_wait_for_deletion, *found.key(namespace, name), timeout=timeout)

    # ---- the server as a whole ----

    def keep_start(self) -> None:
        """Keeps the present objects, users and faults as the start, to which reset() returns."""
        self._call(lib.ki_testing_server_keep_start)
        self._has_new_users = False

    def reset(self) -> None:
        """Returns to the start, for the next test. Programs may go on: they get what changes as events.

        Objects that are new or have changed are deleted, missing ones are added again. Users and faults of later than
        the start are removed, and requests are forgotten.
        """
        self._call(lib.ki_testing_server_return_to_start)
        if self._has_new_users:
            self._write_kubeconfig()
            self._has_new_users = False

    def restore(self, events: int | None = None) -> None:
        """Does what a restore from a backup does: resource versions go back, and all watches end.

        events: back to before the last so many changes; None: from an empty backup, without any object.
        """
        self._request("POST", "/_restore" if events is None else f"/_restore?events={integer('events', events)}")

    def restart(self, down: float = 0) -> None:
        """Closes all connections, and accepts none for `down` seconds. Objects stay. Blocks for `down` seconds."""
        self._call(lib.ki_testing_server_restart, milliseconds("down", down))

    def compact(self) -> None:
        """Deletes the history: watches from older resource versions and older continue tokens get 410 Gone."""
        with self._use() as server:
            lib.ki_testing_server_compact(server)

    def close_watches(self) -> None:
        """Ends all watches cleanly, as a restarting server does."""
        with self._use() as server:
            lib.ki_testing_server_close_watches(server)

    def cut_watches(self) -> None:
        """Cuts the connections of the open watches, as a broken network does: their clients see no end."""
        with self._use() as server:
            lib.ki_testing_server_cut_watches(server)

    def close(self) -> None:
        """Stops the server. Open watches end cleanly; waits on other threads raise StateError. Repeatable."""
        if os.getpid() != self._pid:
            return
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: self._callers == 0)
        self._free()

    def __enter__(self) -> Server:
        with self._use():
            return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server {self.url}>"

    # ---- calls of the library ----

    @contextlib.contextmanager
    def _use(self) -> Iterator[Any]:
        """Keeps the server from being freed. Gives its pointer."""
        if os.getpid() != self._pid:
            raise StateError("this process was forked, and the server is in its parent: only the URL can be used here")
        with self._changed:
            if self._is_closed:
                raise StateError("the server is closed: make a new one")
            self._callers += 1
        try:
            yield self._pointer
        finally:
            with self._changed:
                self._callers -= 1
                self._changed.notify_all()

    def _call(self, function: Any, *arguments: Any) -> None:
        with self._use() as server:
            call(function, server, *arguments)

    def _wait(self, function: Any, *arguments: Any, timeout: float | None) -> None:
        """Calls a function that waits, again and again for a short time, so that Ctrl-C and close() end it."""
        milliseconds("timeout", timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = _LOOK_SECONDS if deadline is None else max(0.0, min(deadline - time.monotonic(), _LOOK_SECONDS))
            err = new_error()
            with self._use() as server:
                status = function(server, *arguments, milliseconds("timeout", left), err)
            if not status:
                return
            error = error_of(err)
            if not isinstance(error, Timeout) or (deadline is not None and time.monotonic() >= deadline):
                raise error

    def _read_text(self, function: Any, *arguments: Any) -> str:
        """Returns what a function gives away as a ki_testing_text, its last parameter but one."""
        given = ffi.new("ki_testing_text *")
        with self._use() as server:
            try:
                call(function, server, *arguments, given)
                return str(ffi.unpack(given.data, given.size).decode("utf-8", "replace")) if given.size else ""
            finally:
                lib.ki_testing_text_clear(given)

    def _read_json(self, function: Any, *arguments: Any) -> Any:
        return json.loads(self._read_text(function, *arguments))

    def _request(self, method: str, target: str, content: bytes | None = None) -> Any:
        return self._read_json(
            lib.ki_testing_server_request,
            method.encode(),
            text("a request", target),
            ffi.NULL,
            ffi.NULL if content is None else content,
            0 if content is None else len(content),
        )

    def _put(self, content: bytes, where: str) -> int:
        count = ffi.new("size_t *")
        try:
            if content:  # a size of 0 would mean up to a zero
                self._call(lib.ki_testing_server_put_all, content, len(content), count)
        except Error as error:
            error.args = (f"{where}{error}",)
            raise
        return int(count[0])

    def _requests(self, line: str) -> Requests:
        found = ffi.new("ki_testing_requests *")
        with self._use() as server:
            try:
                call(lib.ki_testing_server_requests, server, text("a filter", line), found)
                return [read_request(found.requests[i]) for i in range(found.count)]
            finally:
                lib.ki_testing_requests_clear(found)

    def _resource(self, name: str) -> _Found:
        """Returns the resource. Errors: Invalid."""
        built_in = library.ki_resource_find(text("resource", name))
        if built_in:
            return _Found(built_in, [])
        try:
            definition = self._read_json(lib.ki_testing_server_get, _DEFINITIONS, ffi.NULL, name.encode())
        except Error:
            nearest = string(library.ki_resource_nearest(name.encode()))
            hint = f"did you mean {nearest}?" if nearest else "a custom one is named as its definition, PLURAL.GROUP"
            raise Invalid(f'the server has no resource "{name}"; {hint}') from None
        return _custom(definition["spec"])

    def _path(self, resource: str, namespace: str) -> str:
        """Returns the path of a resource's objects. namespace: "": all."""
        found = self._resource(resource)
        group, version = string(found.pointer.group), string(found.pointer.version)
        parts = ["apis", group, version] if group else ["api", version]
        if found.is_namespaced and namespace:
            parts += ["namespaces", _text("namespace", namespace)]
        parts.append(string(found.pointer.plural))
        return "".join("/" + urllib.parse.quote(part, safe="") for part in parts)

    def _object_path(self, resource: str, namespace: str, name: str) -> str:
        return f"{self._path(resource, namespace)}/{urllib.parse.quote(_name(name), safe='')}"

    def _write_kubeconfig(self) -> None:
        with self._use() as server:
            call(lib.ki_testing_server_write_kubeconfig, server, os.fsencode(self.kubeconfig))


class _Found:
    """A ki_resource with the memory of its strings."""

    def __init__(self, pointer: Any, kept: list[Any]) -> None:
        self.pointer = pointer
        self.is_namespaced = bool(pointer.namespaced)
        self._kept = kept

    def key(self, namespace: str, name: str) -> tuple[Any, Any, bytes]:
        """Returns resource, namespace and name as the library takes them. The first is valid while this object exists."""
        return self.pointer, text("namespace", namespace) if self.is_namespaced else ffi.NULL, _name(name)


def _custom(spec: Any) -> _Found:
    """Returns the resource of a CustomResourceDefinition's spec, in the version that is stored."""
    version = next(version["name"] for version in spec["versions"] if version["storage"])
    strings = [
        ffi.new("char[]", value.encode())
        for value in (spec["group"], version, spec["names"]["plural"], spec["names"]["kind"])
    ]
    return _Found(ffi.new("ki_resource *", [*strings, spec["scope"] == "Namespaced"]), strings)


def _name(name: str) -> bytes:
    """Returns the name of an object as C takes it. Errors: as of text(); ValueError for "" and for a key."""
    name_text = text("name", name)
    if not name:
        raise ValueError("name must not be empty")
    if "/" in name:
        namespace, _, rest = name.rpartition("/")
        raise ValueError(f"a name has no '/': write {rest!r}, namespace={namespace!r}, not {name!r}")
    return name_text


def _text(name: str, value: str) -> str:
    text(name, value)
    return value


def _dump(obj: Mapping[str, Any]) -> bytes:
    if not isinstance(obj, Mapping):
        raise TypeError(f"an object must be a dict, not {type(obj).__name__}")
    return json.dumps(obj, separators=(",", ":")).encode()


def _free(pointer: Any, folder: str, pid: int) -> None:
    if os.getpid() == pid:
        lib.ki_testing_server_free(pointer)
        shutil.rmtree(folder, ignore_errors=True)
