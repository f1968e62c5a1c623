"""Changes of an object that a program is about to write, a dict: conditions, and owner references.

They are the library's, so that their rules are those of Kubernetes' own controllers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

from .arguments import text
from .client import read_unstructured, to_json
from .object import Object
from ._native import ffi, lib

ConditionStatus = Literal["True", "False", "Unknown"]


def set_condition(obj: dict[str, Any], type: str, status: ConditionStatus, reason: str, message: str = "") -> bool:
    """Sets a condition in status.conditions of an object, and returns whether that changed it.

    reason: a CamelCase word. lastTransitionTime becomes now if the condition is new or has another status;
    observedGeneration is the object's metadata.generation.
    Errors: Invalid (no type, another status), TypeError.
    """
    arguments = [
        text(name, value)
        for name, value in (("type", type), ("status", status), ("reason", reason), ("message", message))
    ]
    return _change_conditions(obj, lambda made: lib.ki_unstructured_set_condition(made, *arguments, time.time_ns()))


def remove_condition(obj: dict[str, Any], type: str) -> bool:
    """Removes the conditions of this type, and returns whether there was one. Errors: Invalid (no type), TypeError."""
    name = text("type", type)
    return _change_conditions(obj, lambda made: lib.ki_unstructured_remove_condition(made, name))


def set_controller(obj: dict[str, Any], owner: Object) -> None:
    """Makes `owner` the controller of an object: its events reach the owner, and the garbage collector deletes it after
    the owner. The owner is in the namespace of the object, or cluster-scoped.

    Errors: AlreadyExists (another object is the controller), Invalid (another namespace), TypeError.
    """
    _change_owners(obj, owner, lib.ki_unstructured_set_controller)


def add_owner(obj: dict[str, Any], owner: Object) -> None:
    """Adds an owner reference, as set_controller(), without making the owner the controller."""
    _change_owners(obj, owner, lib.ki_unstructured_add_owner)


def remove_owner(obj: dict[str, Any], owner: Object) -> None:
    """Removes the owner references with the owner's uid."""
    _change_owners(obj, owner, lib.ki_unstructured_remove_owner)


def is_controlled_by(obj: Object, owner: Object) -> bool:
    """True if `owner` is the controller of `obj`, by uid. Errors: TypeError."""
    for name, value in (("obj", obj), ("owner", owner)):
        if not isinstance(value, Object):
            raise TypeError(f"{name} must be an Object, as informers and the client return them, not {value!r}")
    return bool(lib.ki_object_is_controlled_by(obj._pointer, owner._pointer))


def _change_conditions(obj: dict[str, Any], change: Callable[[Any], bool]) -> bool:
    status = _member(obj, "status")
    conditions = {"conditions": status["conditions"]} if "conditions" in status else {}
    made = _unstructured({"metadata": obj.get("metadata", {}), "status": conditions})
    has_changed = bool(change(made))
    changed = read_unstructured(made)["status"]
    if has_changed:
        status["conditions"] = changed["conditions"]
    return has_changed


def _change_owners(obj: dict[str, Any], owner: Object, change: Callable[[Any, Any], None]) -> None:
    if not isinstance(owner, Object):
        raise TypeError(f"an owner must be an Object, as informers and the client return them, not {owner!r}")
    metadata = _member(obj, "metadata")
    made = _unstructured({"metadata": metadata})
    change(made, owner._pointer)
    references = read_unstructured(made)["metadata"].get("ownerReferences", [])
    if references or "ownerReferences" in metadata:
        metadata["ownerReferences"] = references


def _member(obj: dict[str, Any], name: str) -> dict[str, Any]:
    if not isinstance(obj, dict):
        raise TypeError(f"an object that is changed must be a dict (to_dict()), not {type(obj).__name__}")
    member = obj.setdefault(name, {})
    if not isinstance(member, dict):
        raise TypeError(f"{name} of an object must be a dict, not {type(member).__name__}")
    return member


def _unstructured(content: dict[str, Any]) -> Any:
    return ffi.gc(lib.ki_unstructured_new(to_json(content)), lib.ki_unstructured_free)
