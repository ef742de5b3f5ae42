"""Reads an optimizer's arguments: groups of parameters, learning rates and weight decays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from ...compat.arguments import of_mismatch
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..cell import Cell
from ..checks import of_type
from ..learning_rate_schedule import LearningRateSchedule

__all__ = ["opt_init_args_register"]

_GROUP_KEYS = ("params", "lr", "weight_decay", "order_params", "grad_centralization")


def _anything(self: Any, *args: Any, **kwargs: Any) -> None:
    """Take any arguments."""


_ANYTHING = inspect.Signature(
    [p.replace(annotation=p.empty) for p in inspect.signature(_anything).parameters.values()])


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Make an optimizer's ``__init__`` keep its arguments.

    They are found as attributes `init_params`, `init_learning_rate` (None for a schedule) and
    `init_args`, a dict of the others.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> ms.nn.Momentum([w], 0.1, 0.9).init_args["momentum"]
        0.9
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise of_mismatch(type(self).__name__, fn, (self, *args), error, kwargs) from None
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        arguments.pop("self")
        kept = self.__dict__
        if "params" in arguments:
            kept["init_params"] = {"params": arguments.pop("params")}
        if "optimizer" in arguments:
            inner = getattr(arguments.pop("optimizer"), "init_params", {"params": None})
            kept["init_params"] = {"params": inner["params"]}
        if "learning_rate" in arguments:
            rate = arguments.pop("learning_rate")
            if isinstance(rate, Tensor):
                rate = rate.asnumpy().tolist()
            kept["init_learning_rate"] = None if isinstance(rate, Cell) else rate
        kept["init_args"] = arguments
        fn(self, *args, **kwargs)

    # what programs find in MindSpore, and decide by how to make an optimizer
    init.__signature__ = _ANYTHING  # type: ignore[attr-defined]
    return init


def as_list(parameters: Any, name: str) -> list[Any]:
    """`parameters` as a list, which must not be empty."""
    if parameters is None:
        raise ValueError(f"For 'Optimizer', '{name}' must be a list of Parameters, but got None.")
    if not isinstance(parameters, Iterable):
        raise TypeError(f"For 'Optimizer', '{name}' must be a list of Parameters, "
                        f"but got {type(parameters).__name__}.")
    listed = list(parameters)
    if not listed:
        raise ValueError(f"For 'Optimizer', '{name}' must not be empty, but got an empty list. "
                         f"A network finds layers that are its attributes, or in an nn.CellList; "
                         f"not those in a Python list.")
    return listed


def check_named_once(parameters: list[Parameter]) -> None:
    """Refuse a Parameter, or a name, that is there twice: states are found by names."""
    seen: set[str] = set()
    for parameter in parameters:
        if parameter.name in seen:
            raise ValueError(f"For 'Optimizer', the names of 'parameters' must differ, "
                             f"but got '{parameter.name}' twice.")
        seen.add(parameter.name)


def checked_group(group: dict[str, Any]) -> dict[str, Any]:
    """A group's dict, its parameters as a list; refuse unknown keys and wrong values."""
    unknown = [key for key in group if key not in _GROUP_KEYS]
    if unknown:
        raise KeyError(f"For 'Optimizer', the keys of a group must be among {_GROUP_KEYS}, "
                       f"but got {unknown}.")
    if "order_params" in group:
        if len(group) > 1:
            raise ValueError(f"For 'Optimizer', the group with 'order_params' must hold no other "
                             f"key, but got {list(group)}.")
        if not isinstance(group["order_params"], Iterable):
            raise TypeError(f"For 'Optimizer', 'order_params' must be a list of Parameters, "
                            f"but got {type(group['order_params']).__name__}.")
        return {"order_params": list(group["order_params"])}
    if "params" not in group:
        raise KeyError("For 'Optimizer', each group must have the key 'params'.")
    listed = as_list(group["params"], "params")
    for i, parameter in enumerate(listed):
        if not isinstance(parameter, Parameter):
            raise TypeError(f"For 'Optimizer', 'params' of a group must hold Parameters, "
                            f"but got {type(parameter).__name__} at {i}.")
    of_type(group.get("grad_centralization", False), bool, "grad_centralization", "Optimizer")
    return {**group, "params": listed}


def in_order(members: list[Any], order: list[Parameter]) -> list[Any]:
    """The groups' members, each of which starts with its Parameter, in the order of `order`."""
    if len(order) != len(members):
        raise ValueError(f"For 'Optimizer', 'order_params' must hold each of the groups' "
                         f"{len(members)} parameters once, but got {len(order)}.")
    by_name = {member[0].name: member for member in members}
    missing = [p.name for p in order if p.name not in by_name]
    if missing:
        raise ValueError(f"For 'Optimizer', 'order_params' holds {missing}, which is in no group.")
    return [by_name[p.name] for p in order]


class _ConvertToCell(LearningRateSchedule):
    """A constant learning rate as a schedule."""

    def __init__(self, learning_rate: Parameter):
        super().__init__()
        self.learning_rate = learning_rate

    def construct(self, global_step: Any) -> Tensor:
        """The rate."""
        return self.learning_rate


class _IteratorLearningRate(LearningRateSchedule):
    """A list of learning rates as a schedule: the i-th step takes the i-th, -1 the last."""

    def __init__(self, learning_rate: Tensor, name: str):
        super().__init__()
        self.learning_rate = Parameter(learning_rate, name=name)

    def construct(self, global_step: Any) -> Tensor:
        """The rate at `global_step`."""
        rates, step = self.learning_rate._raw, global_step._raw
        try:
            return wrap(rates[step.reshape(-1)].reshape(step.shape))
        except (IndexError, RuntimeError) as error:
            raise RuntimeError(f"For 'Optimizer', the list of {rates.shape[0]} learning rates ends "
                               f"before step {global_step.asnumpy().item()}.") from error


class _WrappedWeightDecay(Cell):
    """A weight decay computed from the step, times the loss scale."""

    def __init__(self, weight_decay: Cell, loss_scale: float):
        super().__init__()
        self.weight_decay = weight_decay
        self.loss_scale = loss_scale

    def construct(self, global_step: Any) -> Tensor:
        """The decay at `global_step`."""
        return self.weight_decay(global_step) * self.loss_scale
