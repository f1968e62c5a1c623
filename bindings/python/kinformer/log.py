"""The library's log, as Python's: logger "kinformer", with a child for each component, such as "kinformer.reflector"."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

from .arguments import string
from ._native import ffi, lib

logger = logging.getLogger("kinformer")

_LEVELS = {
    lib.KI_LOG_ERROR: logging.ERROR,
    lib.KI_LOG_WARNING: logging.WARNING,
    lib.KI_LOG_INFO: logging.INFO,
    lib.KI_LOG_DEBUG: logging.DEBUG,
}


def new_log(loop: Any) -> Any:
    """Returns a ki_log that keeps messages in the kpy_loop. Debug messages are made if the logger takes them now."""
    level = lib.KI_LOG_DEBUG if logger.isEnabledFor(logging.DEBUG) else lib.KI_LOG_INFO
    return ffi.new("ki_log *", {"write": ffi.addressof(lib, "kpy_loop_log"), "user": loop, "max_level": level})


def write_messages(loop: Any, leave: Callable[[BaseException], bool]) -> None:
    """Passes the messages in the kpy_loop on to Python's loggers. leave: of the factory."""
    dropped = ffi.new("size_t *")
    while message := lib.kpy_loop_take_message(loop, dropped):
        component = string(lib.kpy_message_component(message))
        level, text = lib.kpy_message_level(message), string(lib.kpy_message_text(message))
        lib.kpy_message_free(message)
        try:
            logger.getChild(component).log(_LEVELS.get(level, logging.ERROR), "%s", text)
            if dropped[0]:
                logger.warning("%d messages of the log were dropped", dropped[0])
        except BaseException as error:  # of a handler or filter of logging: the factory goes on
            if not leave(error):
                traceback.print_exc()


def interrupted(_kind: Any, error: BaseException, trace: Any) -> None:
    """Takes an exception that ended a function which the library calls with the handle `user`: of a signal, in asyncio."""
    user = trace.tb_frame.f_locals.get("user") if trace else None
    if not user or not ffi.from_handle(user)._leave(error):
        traceback.print_exception(error)
