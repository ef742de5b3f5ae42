"""Log messages in MindSpore's form, through Python's `logging`.

The environment variable ``GLOG_v`` says how much is shown when this module is imported: 0 debug,
1 info, 2 warning (the default), 3 error, 4 critical. Messages go to standard error, one line each::

    [WARNING] ME(4711:140,MainProcess):2030-01-31-12:00:00.123.456 [train.py:42] Loss is not finite.
"""

from __future__ import annotations

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

import functools
import logging
import os
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar, TextIO

__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "warning"]

_LEVELS = {"0": logging.DEBUG, "1": logging.INFO, "2": logging.WARNING, "3": logging.ERROR,
           "4": logging.CRITICAL}


class _Stderr(logging.StreamHandler):
    """Writes to whatever `sys.stderr` is when the message comes."""

    def __init__(self):
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr


class _Form(logging.Formatter):
    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        second = time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime(record.created))
        micro = int(record.created % 1 * 1e6)
        return f"{second}.{micro // 1000:03d}.{micro % 1000:03d}"


@functools.lru_cache(maxsize=1)
def _get_logger() -> logging.Logger:
    """The logger behind the functions of this module."""
    logger = logging.getLogger("lamella")
    logger.setLevel(_LEVELS.get(os.environ.get("GLOG_v", "2"), logging.WARNING))
    logger.propagate = False
    handler = _Stderr()
    handler.setFormatter(_Form(
        "[%(levelname)s] ME(%(process)d:%(thread)d,%(processName)s):%(asctime)s "
        "[%(pathname)s:%(lineno)d] %(message)s"))
    logger.addHandler(handler)
    return logger


def debug(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log a message for debugging; arguments as `logging.debug`.

    Examples:
        >>> from lamella import log
        >>> log.debug("%d gradients", 3)
    """
    _get_logger().debug(msg, *args, stacklevel=2, **kwargs)


def info(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log that something went as expected; arguments as `logging.info`.

    Examples:
        >>> from lamella import log
        >>> log.info("epoch %d done", 3)
    """
    _get_logger().info(msg, *args, stacklevel=2, **kwargs)


def warning(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log that something looks wrong; arguments as `logging.warning`.

    Examples:
        >>> from lamella import log
        >>> log.warning("%s is not used", "momentum")
    """
    _get_logger().warning(msg, *args, stacklevel=2, **kwargs)


def error(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log that something failed; arguments as `logging.error`.

    Examples:
        >>> from lamella import log
        >>> log.error("no file %r", "a.ckpt")
    """
    _get_logger().error(msg, *args, stacklevel=2, **kwargs)


def critical(msg: str, *args: Any, **kwargs: Any) -> None:
    """Log that the program can't go on; arguments as `logging.critical`.

    Examples:
        >>> from lamella import log
        >>> log.critical("out of memory")
    """
    _get_logger().critical(msg, *args, stacklevel=2, **kwargs)


def get_level() -> str:
    """The level as ``GLOG_v`` gives it, from ``"0"`` (debug) to ``"4"`` (critical).

    Examples:
        >>> from lamella import log
        >>> log.get_level() in {"0", "1", "2", "3", "4"}
        True
    """
    level = _get_logger().level
    return next(name for name, value in _LEVELS.items() if value >= level)


def get_log_config() -> dict[str, str]:
    """The settings in force, by the names of MindSpore's environment variables.

    Examples:
        >>> from lamella import log
        >>> log.get_log_config()["GLOG_logtostderr"]
        '1'
    """
    return {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}


class _LogActionOnce:
    """Decorator: while the function runs, `logger.warning` speaks only the first time for `key`.

    Args:
        logger: an object with a method `warning`.
        key: what counts as the same warning.
        no_warning: True silences it the first time too.
    """

    is_logged: ClassVar[dict[Any, bool]] = {}

    def __init__(self, logger: Any, key: Any, no_warning: bool = False):
        self.logger = logger
        self.key = key
        self.no_warning = no_warning

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            said = getattr(self.logger, "warning", None)
            if said is None:
                return func(*args, **kwargs)
            if self.no_warning or self.key in self.is_logged:
                self.logger.warning = lambda *args, **kwargs: None
            self.is_logged[self.key] = True
            try:
                return func(*args, **kwargs)
            finally:
                self.logger.warning = said

        return wrapper
