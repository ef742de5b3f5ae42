"""LambdaCallback: a callback made of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .base import Callback

__all__ = ["LambdaCallback"]


def _nothing(run_context: Any) -> None:
    """What is called where no function was given."""


class LambdaCallback(Callback):
    """A callback made of functions, each called with the `RunContext`.

    Args:
        on_train_epoch_begin, ..., on_eval_end: functions; None for nothing to be done.

    Examples:
        >>> import lamella as ms
        >>> callback = ms.train.LambdaCallback(on_train_end=lambda context: print("done"))
        >>> callback.on_train_end(ms.train.RunContext({}))
        done
    """

    def __init__(self, on_train_epoch_begin: Callable | None = None,
                 on_train_epoch_end: Callable | None = None,
                 on_train_step_begin: Callable | None = None,
                 on_train_step_end: Callable | None = None,
                 on_train_begin: Callable | None = None, on_train_end: Callable | None = None,
                 on_eval_epoch_begin: Callable | None = None,
                 on_eval_epoch_end: Callable | None = None,
                 on_eval_step_begin: Callable | None = None,
                 on_eval_step_end: Callable | None = None,
                 on_eval_begin: Callable | None = None, on_eval_end: Callable | None = None):
        super().__init__()
        given = dict(locals())
        for name, function in given.items():
            if name.startswith("on_"):
                setattr(self, name, function if function else _nothing)
