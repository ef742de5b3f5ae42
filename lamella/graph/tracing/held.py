"""Tensors that a run finds elsewhere than in its arguments, and the data that they hold."""

from __future__ import annotations

import torch

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..guards.sources import Source


class HeldTensor:
    """A Parameter or Tensor that a run can reach other than as an argument.

    Attributes:
        source: where a later call finds it; None where that is always the same object.
        data: its data before the run.
        begun: its data as the run began, maybe a stand-in.
        version: the version of `begun` at that time.
    """

    __slots__ = ("begun", "data", "source", "tensor", "version")

    def __init__(self, tensor: Tensor, source: Source | None):
        self.tensor, self.source, self.data = tensor, source, data_of(tensor)

    def begin(self) -> None:
        """Note its data as the run begins."""
        self.begun = raw = data_of(self.tensor)
        self.version = 0 if raw.is_inference() else raw._version


def data_of(tensor: Tensor) -> torch.Tensor:
    """The raw tensor that a Tensor or a Parameter holds, without any alias of a gradient call."""
    return tensor._data if isinstance(tensor, Parameter) else tensor._raw


def set_data(tensor: Tensor, raw: torch.Tensor) -> None:
    """Let a Tensor or a Parameter hold another raw tensor."""
    if isinstance(tensor, Parameter):
        tensor._data = raw
    else:
        tensor._raw = raw
