"""WeightAveraging: evaluates with the moving average of the weights while a Model is trained."""

from __future__ import annotations

from typing import Any

from ...nn.moving_average import ExponentialMovingAverage
from .base import Callback, RunContext, parameters_of

__all__ = ["WeightAveraging"]


class WeightAveraging(Callback):
    """Keeps a moving average of the network's weights; evaluations within training use it.

    Args:
        decay, warmup: as for `nn.ExponentialMovingAverage`.
        apply_at_end: whether the network has the averages as its weights after training.

    Attributes:
        average: the `nn.ExponentialMovingAverage`, once training has begun.

    Raises:
        TypeError, ValueError: if `decay` isn't a float of 0 to 1.

    Examples:
        >>> import numpy as np
        >>> import lamella as ms
        >>> net = ms.nn.Dense(1, 1, weight_init="ones", has_bias=False)
        >>> x = np.array([[1.0], [2.0]], np.float32)
        >>> data = ms.dataset.NumpySlicesDataset((x, 0 * x), shuffle=False).batch(2)
        >>> model = ms.train.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))
        >>> model.train(1, data, ms.train.WeightAveraging(decay=0.5))
        >>> print(net.weight.value())  # 0.5 after the step, 0.75 on average
        [[0.75]]
    """

    _evaluates = True

    def __init__(self, decay: float = 0.999, warmup: bool = False, apply_at_end: bool = True):
        super().__init__()
        self.decay, self.warmup, self.apply_at_end = decay, warmup, apply_at_end
        self.average: Any = None
        self._exchanged = self._applied = False

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start the average at the weights, unless an earlier training has kept one beside them."""
        if self.average is None or self._applied:
            self._applied = False
            params = parameters_of(run_context, self)
            trained = getattr(params.optimizer, "parameters", params.network.trainable_params())
            self.average = ExponentialMovingAverage(trained, self.decay, self.warmup)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Take the new weights into the average."""
        self.average()

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Evaluate with the averages."""
        if self.average is not None and not self._applied:
            self._exchange()

    def on_eval_end(self, run_context: RunContext) -> None:
        """Go on with the weights themselves."""
        if self._exchanged:
            self._exchange()

    def on_train_end(self, run_context: RunContext) -> None:
        """Leave the averages in the network, if that was asked for."""
        if self.apply_at_end:
            self.average.exchange()
            self._applied = True

    def state_dict(self) -> dict[str, Any]:
        """The averages and how many steps they are of, for `RunCheckpoint`."""
        return {} if self.average is None else {
            "average": [p.value() for p in self.average.average],
            "steps": self.average.steps.value()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` has given."""
        if state:
            for parameter, value in zip(self.average.average, state["average"], strict=True):
                parameter.set_data(value)
            self.average.steps.set_data(state["steps"])

    def __exit__(self, *error: Any) -> None:
        """Give the network its own weights back where an evaluation was interrupted."""
        if self._exchanged:
            self._exchange()

    def _exchange(self) -> None:
        self.average.exchange()
        self._exchanged = not self._exchanged
