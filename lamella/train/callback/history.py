"""History: what the network gave and the metrics, epoch by epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensors.tensor import Tensor
from .base import Callback, RunContext, parameters_of

__all__ = ["History"]


class History(Callback):
    """Keeps for each epoch the mean of what the last step gave, and the metrics of `Model.fit`.

    Attributes:
        history: lists with a value for each epoch: ``"net_output"`` and each metric by its name.
        epoch: ``{"epoch": [1, 2, ...]}``.

    Examples:
        >>> import lamella as ms
        >>> from lamella.train.callback import _InternalCallbackParam
        >>> history = ms.train.History()
        >>> context = ms.train.RunContext(_InternalCallbackParam(net_outputs=ms.Tensor([1.0, 2.0])))
        >>> history.begin(context); history.epoch_end(context)
        >>> print(history.history, history.epoch)
        {'net_output': [1.5]} {'epoch': [1]}
    """

    def __init__(self):
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] | None = None

    def begin(self, run_context: RunContext) -> None:
        """Start counting epochs."""
        self.epoch = {"epoch": []}

    def epoch_end(self, run_context: RunContext) -> None:
        """Keep what this epoch gave."""
        params = parameters_of(run_context, self)
        if self.epoch is None:
            self.epoch = {"epoch": []}
        self.epoch["epoch"].append(params.get("cur_epoch_num", 1))
        output = params.net_outputs
        if isinstance(output, (tuple, list)) and output and isinstance(output[0], Tensor):
            output = output[0]
        if isinstance(output, Tensor):
            output = float(np.mean(output.asnumpy()))
        for name, value in {"net_output": output, **(params.get("metrics") or {})}.items():
            self.history.setdefault(name, []).append(value)
