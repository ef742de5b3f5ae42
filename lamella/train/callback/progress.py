"""ProgressBar: how far an epoch is, and when a Model shows one without being asked."""

from __future__ import annotations

import os
import sys
from typing import Any

from ...core import checks as check
from ...core.errors import describe
from ...core.notebook import in_notebook
from .base import Callback, RunContext, _handle_loss, parameters_of
from .monitors import LossMonitor, TimeMonitor

__all__ = ["ProgressBar", "with_progress"]


def with_progress(callbacks: list[Any], progress: Any, where: str) -> list[Any]:
    """Callbacks, and a bar where one is wanted.

    Args:
        callbacks: the program's.
        progress: whether to show a bar; None: on a terminal and in a notebook, in the first
            process, unless one of the callbacks tells how far the training is.
        where: whose argument it is.

    Raises:
        TypeError: if `progress` is no bool and not None.
    """
    if progress is not None:
        check.check_bool(progress, "progress", where)
    elif any(isinstance(each, (ProgressBar, LossMonitor, TimeMonitor)) for each in callbacks):
        return callbacks
    else:
        first = os.environ.get("RANK_ID", "0") in ("", "0")
        progress = first and (in_notebook() or _is_terminal(sys.stderr))
    return [*callbacks, ProgressBar()] if progress else callbacks


def _is_terminal(file: Any) -> bool:
    try:
        return file is not None and file.isatty()
    except (AttributeError, ValueError):  # replaced or closed by the program
        return False


def _bar_class(file: Any) -> Any:
    """The class of bars: HTML in a notebook, else text."""
    if file is None and in_notebook():
        from .html_bar import HtmlBar  # with IPython
        return HtmlBar
    from tqdm import tqdm
    return tqdm


class ProgressBar(Callback):
    """A bar of tqdm's for each epoch of a training, with the loss and what `Model.fit` evaluated.

    `Model.train` and `Model.fit` show one without being asked on a terminal and in a notebook.

    Args:
        file: where it is drawn, an object with a method ``write``; default: the standard error or,
            in a notebook, its output.
        leave: whether the bars of epochs that are over stay.

    Raises:
        TypeError: if `file` can't be written to, or `leave` is no bool.

    Examples:
        >>> import io
        >>> import numpy as np
        >>> import lamella as ms
        >>> from lamella.train import Model, ProgressBar
        >>> x = np.ones((4, 2), np.float32)
        >>> data = ms.dataset.NumpySlicesDataset((x, x), shuffle=False).batch(2)
        >>> net, screen = ms.nn.Dense(2, 2, "ones", "zeros"), io.StringIO()
        >>> model = Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.0))
        >>> model.train(1, data, ProgressBar(screen))
        >>> "epoch 1 of 1: 100%" in screen.getvalue(), "loss=1" in screen.getvalue()
        (True, True)
    """

    def __init__(self, file: Any = None, leave: bool = True):
        super().__init__()
        if file is not None and not callable(getattr(file, "write", None)):
            raise TypeError(f"For 'ProgressBar', 'file' must have a method 'write', "
                            f"but got {describe(file)}.")
        check.check_bool(leave, "leave", "ProgressBar")
        self._file, self._leave, self._bar = file, leave, None

    _bar: Any

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Draw an empty bar."""
        params = parameters_of(run_context, self)
        self._close()
        self._bar = _bar_class(self._file)(
            total=params.batch_num, leave=self._leave, unit="step", file=self._file or sys.stderr,
            desc=f"epoch {params.cur_epoch_num} of {params.epoch_num}")

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Move on by a step."""
        if self._bar is None:
            return
        params = parameters_of(run_context, self)
        done = (params.cur_step_num - 1) % params.batch_num + 1
        last = done == params.batch_num
        if last or self._bar.miniters <= 1 or not done % 10:  # a loss costs a wait for the step
            loss = _handle_loss(params.net_outputs)
            if isinstance(loss, (int, float)):
                self._bar.set_postfix(loss=f"{loss:.4g}", refresh=last)
        self._bar.update(done - self._bar.n)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Show what was evaluated, and end the bar."""
        found = parameters_of(run_context, self).get("metrics")
        if found and self._bar is not None:
            self._bar.set_postfix({name: value if not isinstance(value, float) else f"{value:.4g}"
                                   for name, value in found.items()})
        self._close()

    def on_train_end(self, run_context: RunContext) -> None:
        """End the bar of a training that was stopped in an epoch."""
        self._close()

    def __exit__(self, *error: Any) -> None:
        self._close()

    def _close(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            bar.close()
