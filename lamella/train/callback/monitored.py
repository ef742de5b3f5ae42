"""The value that `EarlyStopping` and `ReduceLROnPlateau` look at, and when it has become better."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import checks as check
from ...core import log
from ...core.require import one_of
from ...tensors.tensor import Tensor
from .base import Callback, _handle_loss

__all__ = ["Monitored"]

_SMALLER_IS_BETTER = ("hausdorff_distance", "mae", "mse", "loss", "perplexity",
                      "mean_surface_distance", "root_mean_square_distance", "eval_loss")


class Monitored(Callback):
    """The base of callbacks that act when a value doesn't improve."""

    def __init__(self, monitor: str, min_delta: float, patience: int, verbose: bool, mode: str):
        super().__init__()
        where = type(self).__name__
        self.monitor = check.check_value_type("monitor", monitor, str, where)
        self.min_delta = abs(check.check_value_type("min_delta", min_delta, [float, int], where))
        self.patience = check.check_non_negative_int(patience, "patience", where)
        self.verbose = check.check_bool(verbose, "verbose", where)
        self.mode = check.check_value_type("mode", mode, str, where)
        one_of(mode, ("auto", "min", "max"), "mode", where)
        self.wait = 0
        self.restart()

    def restart(self) -> None:
        """Forget the best value."""
        self.wait = 0
        self.best: Any = np.inf if self._smaller else -np.inf

    @property
    def _smaller(self) -> bool:
        return self.mode == "min" or self.mode == "auto" and self.monitor in _SMALLER_IS_BETTER

    def is_improvement(self, value: Any, best: Any) -> bool:
        """Whether `value` is better than `best` by more than `min_delta`."""
        if self._smaller:
            return bool(np.less(value, best - self.min_delta))
        return bool(np.greater(value, best + self.min_delta))

    def state_dict(self) -> dict[str, Any]:
        """What is known of the epochs before."""
        names = ("wait", "best", "stopped_epoch", "cooldown_counter")
        return {n: np.asarray(getattr(self, n)) for n in names if hasattr(self, n)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` has given."""
        for name, value in state.items():
            setattr(self, name, value[()])

    def value_of(self, params: Any) -> np.ndarray | None:
        """The value to look at; None, with a warning, where the run doesn't have it."""
        known = {} if self.monitor == "loss" else params.get("eval_results") or {}
        value = _handle_loss(params.get("net_outputs")) if self.monitor == "loss" \
            else known.get(self.monitor)
        if value is None:
            log.warning(f"{type(self).__name__} looks at {self.monitor!r}, which is not there. "
                        f"There are: {sorted({'loss', *known})}.")
            return None
        value = np.asarray(value.asnumpy() if isinstance(value, Tensor) else value)
        if value.shape != ():
            raise ValueError(f"For '{type(self).__name__}', the value of {self.monitor!r} must be "
                             f"a scalar, but it has shape {value.shape}.")
        return value
