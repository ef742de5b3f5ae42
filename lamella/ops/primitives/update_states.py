"""Checks that the states of an optimizer fit its parameters.

PyTorch's fused kernels go through the memory of parameter, gradient and states side by side and ask
for no shape: a state that is shorter, or laid out otherwise, would be read and written beyond its
end. So nothing reaches a rule of `update_rules` before `fit_states` has seen it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...core.state import state
from ...tensors.parameter import Parameter
from .update_rules import held

Shapes = Sequence[tuple[int, ...]]


def _own(tensor: Any) -> torch.Tensor:
    """The raw data of a Parameter, or of a Tensor in its place; made now if it was delayed."""
    if tensor.init is not None:
        tensor.init_data()
    return held(tensor)


def _call(tensor: Any) -> str:
    return f"Parameter '{tensor.name}'" if isinstance(tensor, Parameter) else "Tensor"


def _lay(tensor: Any, raw: torch.Tensor) -> None:
    if isinstance(tensor, Parameter):
        tensor._data = raw
    else:
        tensor._raw = raw


def _is_dense(raw: torch.Tensor) -> bool:
    """Whether its elements fill a piece of memory, in whatever order."""
    return raw.is_contiguous() or torch.empty_like(raw, device="meta").stride() == raw.stride()


def fit_states(where: str, parameter: Any, states: Sequence[Any],
               shapes: Shapes | None = None, any_types: bool = False) -> None:
    """Refuse states that don't fit their parameter, and lay those that do as the parameter lies.

    Args:
        where: what errors call the optimizer.
        parameter: a Parameter, or a Tensor in its place.
        states: its states, likewise.
        shapes: the shape of each state; by default all have that of the parameter, and its type.
        any_types: whether states that have its shape may be of any floating type.

    Raises:
        TypeError: if the parameter is not of a floating type, or a state of another type.
        ValueError: if a state has another shape or is on another device.
    """
    own = _own(parameter)
    if not own.is_floating_point():
        raise TypeError(f"For '{where}', the {_call(parameter)} must be of a floating type, "
                        f"but got {parameter.dtype}.")
    if not _is_dense(own):
        _lay(parameter, own.contiguous())
        own = held(parameter)
    for position, kept in enumerate(states):
        raw = _own(kept)
        shape = tuple(own.shape if shapes is None else shapes[position])
        if tuple(raw.shape) != shape:
            raise ValueError(
                f"For '{where}', the state in {_call(kept)} must have shape {shape}, as the "
                f"{_call(parameter)} has shape {tuple(own.shape)}, but got {tuple(raw.shape)}.")
        if raw.device != own.device:
            raise ValueError(f"For '{where}', the state in {_call(kept)} must be on the device "
                             f"{own.device} of the {_call(parameter)}, but is on {raw.device}.")
        if shapes is not None:
            continue
        if raw.dtype is not own.dtype and not (any_types and raw.is_floating_point()):
            raise TypeError(f"For '{where}', the state in {_call(kept)} must be of the type "
                            f"{parameter.dtype} of the {_call(parameter)}, "
                            f"but got {kept.dtype}.")
        if raw.stride() != own.stride():
            _lay(kept, torch.empty_like(own, dtype=raw.dtype).copy_(raw))


class FittingStates:
    """`fit_states` for all parameters of an optimizer, again only where one holds other memory."""

    __slots__ = ("_seen",)  # nothing that a compiled step watches

    def __init__(self) -> None:
        self._seen: list[Callable[[], Any]] = []

    def __reduce__(self) -> Any:
        return FittingStates, ()  # a copy has other Parameters

    def check(self, where: str, parameters: Sequence[Parameter],
              states: Sequence[Sequence[Parameter]],
              shapes_of: Callable[[Parameter], Shapes | None]) -> None:
        """As `fit_states`; `shapes_of` tells the shapes of the states of a parameter."""
        every = [p for group in (parameters, *states) for p in group]
        if len(every) == len(self._seen) and all(
                [seen() is p._data for seen, p in zip(self._seen, every, strict=True)]):
            return
        if any(len(group) != len(parameters) for group in states):
            raise ValueError(f"For '{where}', there must be a state for each of {len(parameters)} "
                             f"parameters, but there are {[len(group) for group in states]}. Make "
                             f"a new optimizer for other parameters.")
        for parameter, *own in zip(parameters, *states, strict=True):
            fit_states(where, parameter, own, shapes_of(parameter))
        if state.trace is None:  # which lends the Parameters other memory
            self._seen = [weakref.ref(p._data) for p in every]
