"""Weights of a program's own class: Tensors that have MindSpore's `param_info`.

MindSpore knows a Parameter by that attribute, so a library may derive its Parameters from `Tensor`
alone (as MindNLP does). A gradient by such a weight is one by a Parameter that stands for it while
the function runs: the weight has that one's data then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor

__all__ = ["StandIns", "is_weight"]


def is_weight(thing: Any) -> bool:
    """Whether a Tensor is no `Parameter`, and a weight all the same."""
    return (isinstance(thing, Tensor) and not isinstance(thing, Parameter)
            and thing.__dict__.get("param_info") is not None)


class StandIns:
    """The Parameters that stand for weights of a program's own class.

    Threads that differentiate by one such weight at the same time would see each other's run: the
    weight has one place for its data.

    Args:
        weights: the weights of a gradient function, Parameters among them.
    """

    def __init__(self, weights: Any):
        found = {id(weight): weight for weight in weights if is_weight(weight)}
        self._pairs = [(weight, _stand_in(weight)) for weight in found.values()]
        known = {id(weight): stand_in for weight, stand_in in self._pairs}
        self.weights = [known.get(id(weight), weight) for weight in weights]

    def __bool__(self) -> bool:
        return bool(self._pairs)

    def refresh(self) -> None:
        """Give the Parameters the data that the weights have now."""
        for weight, stand_in in self._pairs:
            stand_in._data = weight._raw.detach()
            stand_in.requires_grad = bool(weight.param_info.requires_grad)  # type: ignore

    def around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function, run with the Parameters' data in the weights."""
        def run(*args: Any, **kwargs: Any) -> Any:
            before = [weight._raw for weight, _ in self._pairs]
            own = [stand_in._raw for _, stand_in in self._pairs]
            try:
                for (weight, _), raw in zip(self._pairs, own, strict=True):
                    weight._raw = raw
                return fn(*args, **kwargs)
            finally:
                for (weight, _), raw, mine in zip(self._pairs, before, own, strict=True):
                    if weight._raw is mine:  # else the function has assigned other data
                        weight._raw = raw

        return run


def _stand_in(weight: Any) -> Parameter:
    info = weight.param_info
    return Parameter(weight, name=str(info.name), requires_grad=bool(info.requires_grad))
