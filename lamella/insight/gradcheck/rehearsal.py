"""Runs a function and undoes its side effects."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.guards.search import reachable_from
from ...tensors.parameter import Parameter
from ...tensors.random import kept


class Rehearsal:
    """A block after which all that functions and Cells can reach is as it was before.

    Kept are Parameters, buffers and other Tensors, those assigned anew included, and the state of
    random numbers; also when the block raises.

    Args:
        *roots: functions, Cells, Parameters, and structures of them.
        numbers: whether each `reset` also puts the random numbers back.

    Examples:
        >>> import lamella as ms
        >>> from lamella import nn
        >>> net = nn.BatchNorm1d(2).set_train()
        >>> with Rehearsal(net):
        ...     _ = net(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> print(net.moving_mean.asnumpy())
        [0. 0.]
    """

    def __init__(self, *roots: Any):
        self.reach = reachable_from(*roots)
        self.parameters = _once(self.reach.tensors.parameters)
        self.tensors = [(t, source) for t, source in self.reach.tensors.others
                        if type(t._raw) is torch.Tensor]

    def __enter__(self) -> Rehearsal:
        self._kept = [(p, p._data, p._data._version, p._data.clone()) for p in self.parameters]
        self._others = [(t, source, t._raw, t._raw._version, t._raw.clone())
                        for t, source in self.tensors]
        self._numbers = kept()
        return self

    def reset(self) -> None:
        """Put everything back now."""
        for parameter, raw, version, copy in self._kept:
            if parameter._data is not raw:
                parameter._data = raw
            _put_back(raw, version, copy)
        for tensor, source, raw, version, copy in self._others:
            if tensor._raw is not raw:
                tensor._raw = raw
            _put_back(raw, version, copy)
            if source is not None and source.get() is not tensor:
                source.set(tensor)
        self._numbers()

    def __exit__(self, *error: Any) -> None:
        self.reset()
        self._kept, self._others = [], []


def _put_back(raw: torch.Tensor, version: int, copy: torch.Tensor) -> None:
    if raw._version != version:
        with torch.no_grad():
            raw.copy_(copy)


def _once(parameters: list[Parameter]) -> list[Parameter]:
    return list({id(p): p for p in parameters}.values())
