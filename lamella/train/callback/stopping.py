"""EarlyStopping: training ends when a value no longer improves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import checks as check
from ...tensors.parameter import Parameter
from ..checkpoint_net import load_param_into_net
from .base import RunContext, parameters_of
from .monitored import Monitored

__all__ = ["EarlyStopping"]


class EarlyStopping(Monitored):
    """Stops training when a value has not improved for `patience` epochs.

    Args:
        monitor: ``"loss"``, ``"eval_loss"`` or the name of a metric; with `Model.fit`.
        min_delta: how much better counts as better.
        patience: epochs to wait.
        verbose: whether to print what it does.
        mode: ``"min"`` if smaller is better, ``"max"`` if larger; ``"auto"`` knows of losses and
            distances.
        baseline: only what is better than this counts as an improvement.
        restore_best_weights: whether to put the parameters of the best epoch back.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type or out of range.

    Examples:
        >>> import lamella as ms
        >>> ms.train.EarlyStopping("acc", patience=3).best
        -inf
    """

    def __init__(self, monitor: str = "eval_loss", min_delta: float = 0, patience: int = 0,
                 verbose: bool = False, mode: str = "auto", baseline: float | None = None,
                 restore_best_weights: bool = False):
        super().__init__(monitor, min_delta, patience, verbose, mode)
        self.baseline = None if baseline is None else check.check_value_type(
            "baseline", baseline, [float, int], "EarlyStopping")
        self.restore_best_weights = check.check_bool(restore_best_weights, "restore_best_weights",
                                                     "EarlyStopping")
        self.stopped_epoch = 0
        self.best_weights_param_dict: dict[str, Any] | None = None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Forget an earlier run."""
        self.restart()
        self.stopped_epoch = 0
        self.best_weights_param_dict = None

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Look at the value, and stop if it is time."""
        params = parameters_of(run_context, self)
        current = self.value_of(params)
        if current is None:
            return
        network = params.train_network
        better = self.is_improvement(current, self.best)
        if self.restore_best_weights and (better or self.best_weights_param_dict is None):
            self.best_weights_param_dict = {name: p.clone() for name, p
                                            in network.parameters_dict().items()}
        self.wait += 1
        if better:
            self.best = current
            if self.baseline is None or self.is_improvement(current, np.asarray(self.baseline)):
                self.wait = 0
                return
        if self.wait < self.patience:
            return
        self.stopped_epoch = params.get("cur_epoch_num")
        run_context.request_stop()
        if self.best_weights_param_dict is not None:
            if self.verbose:
                print("Restoring model weights from the end of the best epoch.")
            load_param_into_net(network, self.best_weights_param_dict)

    def state_dict(self) -> dict[str, Any]:
        """What is known of the epochs before, with the best weights."""
        best = self.best_weights_param_dict
        return super().state_dict() | ({} if best is None else {
            "best_weights": {name: p.value() for name, p in best.items()}})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` has given."""
        weights = state.get("best_weights")
        super().load_state_dict({n: value for n, value in state.items() if n != "best_weights"})
        self.best_weights_param_dict = None if weights is None else {
            name: Parameter(value, name) for name, value in weights.items()}

    def on_train_end(self, run_context: RunContext) -> None:
        """Say when training was stopped."""
        if self.stopped_epoch > 0 and self.verbose:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping")
