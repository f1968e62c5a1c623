"""A user of a server: who has a token, and may do what was allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..arguments import text
from ._native import lib

if TYPE_CHECKING:
    from .server import Server


class User:
    """A user of a server.

    name. token: the bearer token. kubeconfig: the path of a kubeconfig in which the user is the current one.
    """

    def __init__(self, server: Server, name: str, token: str, kubeconfig: str) -> None:
        """Made by server.user()."""
        self._server = server
        self.name = name
        self.token = token
        self.kubeconfig = kubeconfig

    def revoke(self) -> None:
        """Removes the token: later requests with it get 401. Errors: NotFound (removed before)."""
        self._server._call(lib.ki_testing_server_remove_token, text("token", self.token))

    def __repr__(self) -> str:
        return f"<User {self.name}>"


def read_allowed(allow: str | Iterable[str]) -> list[tuple[str, str]]:
    """Returns pairs of resources and verbs, each "" for all. Errors: TypeError, ValueError."""
    pairs = []
    for rule in [allow] if isinstance(allow, str) else allow:
        if not isinstance(rule, str):
            raise TypeError(f"a rule must be a str such as 'pods:get,list', not {type(rule).__name__}")
        resources, colon, verbs = rule.partition(":")
        if not (resources and colon and verbs) or "=" in rule:
            raise ValueError(f"a rule is RESOURCE:VERB,VERB, as in 'pods:get,list' or 'deployments.apps:*', not {rule!r}")
        pairs.append((_alternatives(resources), _alternatives(verbs)))
    return pairs


def _alternatives(names: str) -> str:
    return "" if names == "*" else "+".join(name.strip() for name in names.split(","))
