"""Functions that take optimizers and groups of Parameters apart, and make new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.log import warning
from ..nn.cell import Cell
from ..nn.convolution import Conv2d
from ..nn.optim import LARS, Optimizer
from ..tensors.parameter import Parameter
from .less_batch_normalization import CommonHeadLastFN

__all__ = ["OptimizerProcess", "ParameterProcess"]

_NOT_CENTRALIZED = ("beta", "gamma", "bias")


def made_like(optimizer: Any, params: Any, learning_rate: Any = None) -> Any:
    """An optimizer of the same class and arguments for other Parameters.

    Args:
        optimizer: an optimizer, or `nn.LARS` around one.
        params: Parameters or groups of them.
        learning_rate: default: that of `optimizer`.
    """
    inner = optimizer.opt if isinstance(optimizer, LARS) else optimizer
    if learning_rate is None:
        learning_rate = inner.init_learning_rate
    rate = inner.learning_rate if learning_rate is None else learning_rate
    others = {**inner.init_args, **inner.init_args.get("kwargs", {})}
    others.pop("kwargs", None)
    kind: Any = type(inner)
    new = kind(params=params, learning_rate=rate, **others)
    return LARS(new, **optimizer.init_args) if isinstance(optimizer, LARS) else new


def given_params(name: str, params: Any) -> list[Any]:
    """Parameters, or groups of them, as a list.

    Raises:
        ValueError: if there are none.
        TypeError: if they are something else.
    """
    listed = list(params or ())
    if not listed:
        raise ValueError(f"For '{name}', the optimizer's list of Parameters is empty.")
    if not isinstance(listed[0], (dict, Parameter)):
        raise TypeError(f"For '{name}', the optimizer must have a list of Parameters or dicts, but "
                        f"got {type(listed[0]).__name__}.")
    return listed


class OptimizerProcess:
    """An optimizer that is made anew with the gradients of its weights centralized.

    Args:
        opt: the optimizer, or `nn.LARS` around one.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> old = ms.nn.Momentum([{"params": net.trainable_params()}], 0.1, 0.9)
        >>> process = ms.boost.OptimizerProcess(old)
        >>> process.add_grad_centralization(net)
        >>> process.generate_new_optimizer().group_grad_centralization  # the weight, the bias
        [True, False]
    """

    def __init__(self, opt: Any):
        if not isinstance(opt, Optimizer):
            raise TypeError(f"For 'OptimizerProcess', 'opt' must be an optimizer, but got "
                            f"{type(opt).__name__}.")
        self.single_opt = opt
        self.origin_params = opt.init_params["params"]

    @staticmethod
    def build_params_dict(network: Cell) -> dict[int, Cell]:
        """The Cell that each Parameter belongs to, by the Parameter's `id`."""
        return {id(parameter): cell for _, cell in network.cells_and_names()
                for parameter in cell.get_parameters(expand=False)}

    @staticmethod
    def build_gc_params_group(params_dict: dict[int, Cell], parameters: list[Any]) -> list[Any]:
        """Groups, each cut into the Parameters to centralize and the others."""
        groups = []
        for group in parameters:
            if "order_params" in group:
                groups.append(group)
                continue
            chosen = [p for p in group["params"] if _is_centralized(p, params_dict)]
            rest = [p for p in group["params"] if not any(p is one for one in chosen)]
            if chosen:
                groups.append({**group, "params": chosen, "grad_centralization": True})
            if rest:
                groups.append({**group, "params": rest})
        return groups

    def add_grad_centralization(self, network: Cell) -> None:
        """Centralize the gradients of weights (Yong et al., 2020); of groups only.

        Args:
            network: the network that they belong to.
        """
        listed = given_params("OptimizerProcess", self.origin_params)
        if isinstance(listed[0], Parameter):
            warning("Gradients are centralized only where an optimizer has groups of Parameters.")
            return
        self.origin_params = self.build_gc_params_group(self.build_params_dict(network), listed)

    def generate_new_optimizer(self) -> Any:
        """The optimizer anew, with these groups."""
        return made_like(self.single_opt, self.origin_params)


def _is_centralized(parameter: Parameter, cells: dict[int, Cell]) -> bool:
    cell = cells.get(id(parameter))
    grouped = isinstance(cell, Conv2d) and cell.group > 1
    return not any(word in parameter.name for word in _NOT_CENTRALIZED) and not grouped \
        and not isinstance(cell, CommonHeadLastFN)


class ParameterProcess:
    """Groups of some of an optimizer's Parameters.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> groups = [{"params": [net.weight], "lr": 0.1}, {"params": [net.bias]}]
        >>> found = ms.boost.ParameterProcess.generate_group_params([net.bias], groups)
        >>> [(len(group["params"]), group.get("lr")) for group in found]
        [(0, 0.1), (1, None)]
    """

    def __init__(self):
        self._parameter_indices = 1

    @staticmethod
    def generate_group_params(parameters: Sequence[Parameter], origin_params: Any) -> list[Any]:
        """The groups of `origin_params`, of the Parameters in `parameters` alone.

        Parameters that are in no group get one with the options of the group that has most.

        Args:
            parameters: the Parameters.
            origin_params: Parameters or groups.
        """
        listed = given_params("ParameterProcess", origin_params)
        if isinstance(listed[0], Parameter):
            return [{"params": parameters}]
        by_name, left, groups = {p.name: p for p in parameters}, list(parameters), []
        for group in listed:
            if "order_params" in group:
                groups.append({**group, "order_params": parameters})
                continue
            chosen = [by_name[p.name] for p in group["params"] if p.name in by_name]
            left = [p for p in left if not any(p is one for one in chosen)]
            groups.append({**group, "params": chosen})
        if left:
            fullest = max((g for g in listed if "order_params" not in g), key=len, default={})
            groups.append({**fullest, "params": left})
        return groups

    def assign_parameter_group(self, parameters: Any, split_point: Any = None) -> Any:
        """Number the Parameters by groups whose gradients are exchanged together.

        Args:
            parameters: the Parameters.
            split_point: where a group begins; default: in the middle.

        Returns:
            `parameters`, whose `comm_fusion` is the number of their group.
        """
        if not isinstance(parameters, (list, tuple)) or not parameters:
            return parameters
        for place, parameter in enumerate(parameters):
            if place in (split_point or [len(parameters) // 2]):
                self._parameter_indices += 1
            parameter.comm_fusion = self._parameter_indices
        return parameters
