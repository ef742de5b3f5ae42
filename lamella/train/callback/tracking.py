"""MLflowLogger and WandbLogger: numbers of a training for the trackers that many teams share."""

from __future__ import annotations

import importlib
import math
from typing import Any

from ...core import checks as check
from ...core.errors import describe
from .base import Callback, RunContext, _handle_loss, parameters_of

__all__ = ["MLflowLogger", "WandbLogger"]


class _Tracker(Callback):
    """The base of both: which numbers are logged, and when; a subclass says where to."""

    def __init__(self, every: int, config: Any):
        super().__init__()
        check.check_positive_int(every, "every", type(self).__name__)
        if config is not None and not isinstance(config, dict):
            raise TypeError(f"For '{type(self).__name__}', 'config' must be a dict, but got "
                            f"{describe(config)}.")
        self._every, self._config = every, dict(config or {})
        self._begins = False  # whether the run is this callback's to end

    def _begin(self) -> bool:
        """Begin a run; False if the program has one, which goes on."""
        raise NotImplementedError

    def _log(self, numbers: dict[str, float], step: int) -> None:
        raise NotImplementedError

    def _end(self, failed: bool) -> None:
        raise NotImplementedError

    def on_train_begin(self, run_context: RunContext) -> None:
        """Begin a run, unless the program has begun one."""
        self._begins = self._begin()

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Log the loss."""
        params = parameters_of(run_context, self)
        if params.cur_step_num % self._every:
            return
        loss = _handle_loss(params.net_outputs)
        if not isinstance(loss, (int, float)) and hasattr(loss, "asnumpy"):
            loss = float(loss.asnumpy().mean())
        if isinstance(loss, (int, float)):
            self._log({"loss": float(loss)}, params.cur_step_num)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Log the epoch, and what `Model.fit` has evaluated."""
        params = parameters_of(run_context, self)
        found = {f"eval/{name}": float(value)
                 for name, value in (params.get("metrics") or {}).items()
                 if isinstance(value, (int, float))}
        self._log({"epoch": float(params.cur_epoch_num), **found}, params.cur_step_num)

    def on_train_end(self, run_context: RunContext) -> None:
        """End the run, if it was begun here."""
        self._finish(False)

    def __exit__(self, *error: Any) -> None:
        self._finish(bool(error and error[0]))

    def _finish(self, failed: bool) -> None:
        begun, self._begins = self._begins, False
        if begun:
            self._end(failed)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"This needs the package '{name}'. Install it with "
                          f"'pip install lamella[tracking]', or 'pip install {name}'.") from error


class MLflowLogger(_Tracker):
    """Logs losses and what `Model.fit` evaluates with MLflow, in the active run or a new one.

    Losses have the number of the step. A run that begins here ends with the training, as failed if
    that raises.

    Args:
        every: log the loss after every so many steps.
        config: hyperparameters of the run, by name.
        **run: for `mlflow.start_run`, such as ``run_name``.

    Raises:
        ImportError: without the package mlflow (the extra ``tracking``; ``mlflow-skinny`` will do).
        TypeError, ValueError: if `every` is no positive int, or `config` no dict.

    Examples:
        >>> import lamella as ms
        >>> ms.train.MLflowLogger(config=3)
        Traceback (most recent call last):
        ...
        TypeError: For 'MLflowLogger', 'config' must be a dict, but got 3.
    """

    def __init__(self, every: int = 1, config: dict[str, Any] | None = None, **run: Any):
        super().__init__(every, config)
        self._mlflow, self._run = _package("mlflow"), run

    def _begin(self) -> bool:
        begins = self._mlflow.active_run() is None
        if begins:
            self._mlflow.start_run(**self._run)
        if self._config:
            self._mlflow.log_params(self._config)
        return begins

    def _log(self, numbers: dict[str, float], step: int) -> None:
        self._mlflow.log_metrics(numbers, step=step)

    def _end(self, failed: bool) -> None:
        self._mlflow.end_run("FAILED" if failed else "FINISHED")


class WandbLogger(_Tracker):
    """Logs losses and what `Model.fit` evaluates with Weights & Biases, in its run or a new one.

    Numbers that aren't finite are left out.

    Args:
        every: log the loss after every so many steps.
        config: hyperparameters of the run, by name.
        **run: for `wandb.init`, such as ``project``, or ``mode="offline"`` for files alone.

    Raises:
        ImportError: without the package wandb (the extra ``tracking``).
        TypeError, ValueError: if `every` is no positive int, or `config` no dict.

    Examples:
        >>> import lamella as ms
        >>> ms.train.WandbLogger(config=3)
        Traceback (most recent call last):
        ...
        TypeError: For 'WandbLogger', 'config' must be a dict, but got 3.
    """

    def __init__(self, every: int = 1, config: dict[str, Any] | None = None, **run: Any):
        super().__init__(every, config)
        self._wandb, self._run = _package("wandb"), run

    def _begin(self) -> bool:
        begins = self._wandb.run is None
        if begins:
            self._wandb.init(config=self._config, **self._run)
        elif self._config:
            self._wandb.run.config.update(self._config)
        return begins

    def _log(self, numbers: dict[str, float], step: int) -> None:
        finite = {name: value for name, value in numbers.items() if math.isfinite(value)}
        self._wandb.run.log(finite, step=step)

    def _end(self, failed: bool) -> None:
        self._wandb.finish(exit_code=int(failed))
