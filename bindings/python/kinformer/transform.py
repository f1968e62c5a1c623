"""Transforms: a function of Python that changes each object before it is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .arguments import string
from .errors import describe, error_of, filled_error, new_error
from .log import logger
from .object import Object
from ._native import ffi, lib

if TYPE_CHECKING:
    from .informer import BaseInformer

Transform = Callable[[dict[str, Any]], "dict[str, Any]"]


class TransformCall:
    """The transform of an informer, as the library calls it. Exists as long as the informer."""

    def __init__(self, informer: BaseInformer, transform: Transform) -> None:
        if not callable(transform):
            raise TypeError(f"transform must be callable, not {type(transform).__name__}")
        self.transform = transform
        self.informer = informer
        self.handle = ffi.new_handle(self)


@ffi.def_extern(error=lib.KI_ERR_INVALID)  # type: ignore[untyped-decorator]
def kpy_on_transform(pointer: Any, ret_obj: Any, user: Any, ret_err: Any) -> int:
    call: TransformCall = ffi.from_handle(user)
    call.informer._factory._running = ("the transform", call.informer)
    try:
        changed = call.transform(Object(lib.ki_object_ref(pointer))._parsed())
        if not isinstance(changed, dict):
            raise TypeError(f"a transform returns the object as a dict, not {type(changed).__name__}")
        content = json.dumps(changed, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogateescape")
        err = new_error()
        if lib.ki_object_with_json(pointer, content, len(content), ret_obj, err):
            raise error_of(err)
        return int(lib.KI_OK)
    except BaseException as error:
        call.informer.transform_errors += 1
        if not call.informer._factory._leave(error):
            ret_err[0] = filled_error(error)[0]
            key = string(lib.ki_object_key(pointer))
            logger.exception("the transform of %s failed for %s: %s", call.informer, key, describe(error))
        return int(lib.KI_ERR_INVALID)
    finally:
        call.informer._factory._running = None
