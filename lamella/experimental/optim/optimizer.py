"""The base of optimizers whose groups of parameters are dicts that a program may change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ...core import dtype as mstype
from ...nn import Cell
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor


class Optimizer(Cell):
    """The base of optimizers: called with a tuple of gradients, it updates its parameters.

    Args:
        params: Parameters, or dicts with ``params`` and settings for these.
        defaults: the settings of groups that don't have their own.

    Attributes:
        param_groups: a dict for each group: its ``params``, its ``lr``, a Parameter that a schedule
            assigns to, and its other settings.
        parameters: all Parameters, in the order of the gradients.
        group_start_id: where each group begins in it, and its length.

    Raises:
        TypeError: if there is something else than Parameters, or a setting has a wrong type.
        ValueError: if there are no parameters, one is in two groups, or a setting is negative.
    """

    def __init__(self, params: Any, defaults: dict[str, Any]):
        super().__init__(auto_prefix=False)
        self.defaults = defaults
        self.state: Any = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self.group_start_id = [0]
        self.lrs: list[Any] = []
        self.parameters: Any = ()
        for group in _as_groups(params):
            self.add_param_group(group)
        self.parameters = ParameterTuple(self.parameters)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters: a dict with ``params`` and settings."""
        if not isinstance(param_group, dict):
            raise TypeError(f"For 'Optimizer', a group must be a dict, but got {param_group!r}.")
        group = {**self.defaults, **param_group}
        params = group["params"]
        if isinstance(params, set):
            raise TypeError("For 'Optimizer', 'params' must have an order, but got a set.")
        group["params"] = [params] if isinstance(params, Parameter) else list(params)
        known = {id(p) for p in self.parameters}
        for parameter in group["params"]:
            if not isinstance(parameter, Parameter):
                raise TypeError(f"For 'Optimizer', 'params' must hold Parameters, but got "
                                f"{parameter!r} of type {type(parameter).__name__}.")
            if id(parameter) in known:
                raise ValueError(f"For 'Optimizer', a Parameter can be in one group only, but "
                                 f"{parameter.name!r} is in several.")
        group["lr"] = _rate(group["lr"], f"learning_rate_group_{len(self.param_groups)}")
        decay = group.get("weight_decay", 0.0)
        if isinstance(decay, bool) or not isinstance(decay, (int, float)):
            raise TypeError(f"For 'Optimizer', 'weight_decay' must be a number, "
                            f"but got {decay!r} of type {type(decay).__name__}.")
        if decay < 0:
            raise ValueError(f"For 'Optimizer', 'weight_decay' must be 0 or more, "
                             f"but got {decay}.")
        group["weight_decay"] = float(decay)
        self.lrs.append(group["lr"])
        self.param_groups.append(group)
        self.parameters = (*self.parameters, *group["params"])
        self.group_start_id.append(len(self.parameters))

    def construct(self, *hyper_params: Any) -> Any:
        """Update the parameters; a subclass says how."""
        raise NotImplementedError

    def __repr__(self) -> str:
        said = f"{type(self).__name__} ("
        for i, group in enumerate(self.param_groups):
            said += f"\nParameter Group {i}\n"
            for key in sorted(k for k in group if k != "params"):
                value = group[key]
                said += f"    {key}: {value.value() if isinstance(value, Parameter) else value}\n"
        return said + ")"


def _as_groups(params: Any) -> list[dict[str, Any]]:
    if not isinstance(params, Iterable) or isinstance(params, Tensor):
        raise TypeError(f"For 'Optimizer', 'params' must be a list of Parameters or of dicts, "
                        f"but got {params!r} of type {type(params).__name__}.")
    listed: list[Any] = list(params)
    if not listed:
        raise ValueError("For 'Optimizer', 'params' must not be empty.")
    return listed if isinstance(listed[0], dict) else [{"params": listed}]


def _rate(lr: Any, name: str) -> Parameter:
    if isinstance(lr, Tensor) and lr.ndim:
        raise ValueError(f"For 'Optimizer', 'lr' must be a number or a Tensor of rank 0, "
                         f"but got shape {lr.shape}.")
    if not isinstance(lr, (int, float, Tensor)):
        raise TypeError(f"For 'Optimizer', 'lr' must be a number or a Tensor of rank 0, "
                        f"but got {lr!r} of type {type(lr).__name__}.")
    if not isinstance(lr, Tensor) and lr < 0:
        raise ValueError(f"For 'Optimizer', 'lr' must be 0 or more, but got {lr}.")
    return Parameter(Tensor(lr, mstype.float32), name=name, requires_grad=False)
