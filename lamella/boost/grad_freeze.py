"""Freezing the first layers: steps that don't compute their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import dtype as mstype
from ..core.require import float_within, one_of, positive_int
from ..nn.cell import Cell
from ..nn.optim import LARS, Optimizer
from ..nn.wrap import TrainOneStepCell
from ..nn.wrap.cell_wrapper import loss_and_gradients
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from .base import ParameterProcess, made_like
from .grad_accumulation import GradientAccumulation

__all__ = ["FreezeOpt", "GradientFreeze", "freeze_cell"]

_CONTINUOUS, _INTERVAL = 0, 1


def _strategy(given: Any) -> Tensor | None:
    """The number of the group of each step."""
    if given is None or isinstance(given, Tensor):
        if given is not None and (given.ndim != 1 or given.dtype is not mstype.int32):
            raise ValueError(f"For 'FreezeOpt', a Tensor 'train_strategy' must have one dimension "
                             f"and be of int32, but got {given.ndim} and {given.dtype}.")
        return given
    if not isinstance(given, (tuple, list)):
        raise TypeError(f"For 'FreezeOpt', 'train_strategy' must be None, a tuple, a list or a "
                        f"Tensor, but got {type(given).__name__}.")
    if not all(isinstance(number, (int, np.integer)) for number in given):
        raise ValueError("For 'FreezeOpt', 'train_strategy' must hold ints.")
    return Tensor(np.array(given, np.int32))


class FreezeOpt(Cell):
    """Optimizers of several groups of Parameters, one of which takes each step.

    Args:
        opt: the optimizer that each of them is like, or `nn.LARS` around one.
        train_parameter_groups: a tuple or list of groups, each one of Parameters or of dicts;
            default: all Parameters of `opt`.
        train_strategy: the number of the group of each step; None for one after the other.

    Attributes:
        opts: the optimizers.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if there is a `train_strategy` without groups, or it holds no ints.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> optimizer = ms.nn.SGD(net.trainable_params(), 0.1)
        >>> frozen = ms.boost.FreezeOpt(optimizer, [[net.weight, net.bias], [net.bias]], [0, 1, 1])
        >>> [len(each.parameters) for each in frozen.opts]
        [2, 1]
    """

    def __init__(self, opt: Any, train_parameter_groups: Any = None, train_strategy: Any = None):
        super().__init__()
        if not isinstance(opt, Optimizer):
            raise TypeError(f"The first arg 'opt' must be an Optimizer instance, but got "
                            f"{type(opt)}")
        if train_strategy is not None and train_parameter_groups is None:
            raise ValueError("When the 'train_strategy' is specified, the value of "
                             "'train_parameter_groups' must also be specified")
        inner = opt.opt if isinstance(opt, LARS) else opt
        groups = [tuple(inner.parameters)] if train_parameter_groups is None else \
            train_parameter_groups
        if not isinstance(groups, (tuple, list)) or not all(
                isinstance(group, (tuple, list)) for group in groups):
            raise TypeError("For 'FreezeOpt', 'train_parameter_groups' must be a tuple or list of "
                            "tuples or lists.")
        self.parameters = inner.parameters
        self.train_strategy = _strategy(train_strategy)
        self.opts: list[Any] = []
        rates = self._rates(inner, len(groups))
        for place, group in enumerate(groups):
            made = made_like(opt, list(group), rates[place] or None)
            for one in (made, *([made.opt] if isinstance(opt, LARS) else [])):
                one.update_parameters_name(f"boost_{place}.", recurse=False)
            self.opts.append(made)

    def _rates(self, optimizer: Any, many: int) -> list[list[float]]:
        """For each group, the learning rates of its own steps, where they change."""
        found: list[list[float]] = [[] for _ in range(many)]
        rates = optimizer.init_learning_rate
        if optimizer.dynamic_lr and isinstance(rates, list) and self.train_strategy is not None:
            steps = self.train_strategy.tolist()
            if len(rates) <= len(steps):
                for rate, group in zip(rates, steps, strict=False):
                    found[group].append(rate)
        return found


class GradientFreeze:
    """Cuts a training's Parameters into groups, all of which are trained in some steps only.

    Group 0 is all Parameters, group i leaves out the first i parts of the network, whose gradients
    needn't be computed then.

    Args:
        param_groups: how many groups.
        freeze_type: 0 for rounds of all Parameters some times and then each group once, 1 for
            steps of all Parameters and of groups drawn at random, by turns.
        freeze_p: the share of steps of all Parameters, above 0 and below 1.
        total_steps: the steps of the training.

    Examples:
        >>> import lamella as ms
        >>> freeze = ms.boost.GradientFreeze(3, 0, 0.5, 6)
        >>> freeze.generate_freeze_index_sequence(3, 0, 0.5, 6)
        [0, 0, 1, 2, 0, 0, 1, 2]
    """

    def __init__(self, param_groups: int, freeze_type: int, freeze_p: float, total_steps: int):
        self._param_groups = positive_int(param_groups, "param_groups", "GradientFreeze")
        self._freeze_type = one_of(freeze_type, (0, 1), "freeze_type", "GradientFreeze")
        self._freeze_p = float_within(freeze_p, 0, 1, "()", "freeze_p", "GradientFreeze")
        self._total_steps = positive_int(total_steps, "total_steps", "GradientFreeze")

    def split_parameters_groups(self, net: Cell, freeze_para_groups_number: int
                                ) -> list[list[Parameter]]:
        """The groups: each is the end of the network from some part on.

        A part is of three Parameters or more; what belongs to a batch normalization and biases stay
        with what they follow.
        """
        parts: list[list[Parameter]] = [[]]
        for parameter in net.trainable_params():
            follows = "bn" in parameter.name or "bias" in parameter.name
            if len(parts[-1]) >= 3 and not follows:
                parts.append([])
            parts[-1].append(parameter)
        stride = len(parts) // freeze_para_groups_number
        return [[p for part in parts[i * stride:] for p in part]
                for i in range(freeze_para_groups_number)]

    def generate_freeze_index_sequence(self, parameter_groups_number: int, freeze_strategy: int,
                                       freeze_p: float, total_steps: int) -> list[int]:
        """The group of each step, for one percent more steps.

        Raises:
            ValueError: if `freeze_strategy` isn't 0 or 1.
        """
        steps, last = int(total_steps * 1.01), parameter_groups_number - 1
        if last < 1:
            return [0] * steps
        if freeze_strategy == _CONTINUOUS:
            zeros = int(freeze_p * last // (1 - freeze_p) + 0.5)
            turn = [0] * zeros + list(range(1, last + 1))
            return turn * -(-steps // len(turn))
        if freeze_strategy != _INTERVAL:
            raise ValueError(f"Unsupported freezing training strategy '{freeze_strategy}'")
        weights = np.arange(1, last + 1)
        found, groups = [0], 0
        while len(found) < steps:
            if groups / len(found) < 1 - freeze_p:
                found.append(int(np.random.choice(weights[::-1], p=weights / weights.sum())))
                groups += 1
            else:
                found.append(0)
        return found

    def freeze_generate(self, network: Cell, optimizer: Any) -> tuple[Cell, FreezeOpt]:
        """The network, and a `FreezeOpt` like `optimizer` for it."""
        inner = optimizer.opt if isinstance(optimizer, LARS) else optimizer
        groups = [ParameterProcess.generate_group_params(group, inner.init_params["params"])
                  for group in self.split_parameters_groups(network, self._param_groups)]
        steps = self.generate_freeze_index_sequence(self._param_groups, self._freeze_type,
                                                    self._freeze_p, self._total_steps)
        return network, FreezeOpt(optimizer, groups, steps)


class _TrainFreezeCell(TrainOneStepCell):
    """A step that trains the Parameters of one optimizer."""

    def __init__(self, net: Cell, optimizer: Any, sens: Any, steps: int):
        super().__init__(net, optimizer, sens)
        self.accumulation = GradientAccumulation(steps, optimizer) if steps > 1 else None

    def construct(self, *inputs: Any) -> Any:
        """The loss."""
        start = self._start if self.sense_flag else None
        loss, grads = loss_and_gradients(self.network, inputs, self.weights, start,
                                         self.grad_reducer)
        if self.accumulation is not None:
            return self.accumulation(loss, grads)
        self.optimizer(grads)
        return loss


def freeze_cell(reducer_flag: bool, network: Cell, optimizer: FreezeOpt, sens: Any, grad: Any,
                use_grad_accumulation: bool, mean: Any = None, degree: Any = None,
                max_accumulation_step: int = 1) -> Sequence[Cell]:
    """For each optimizer of a `FreezeOpt`, a Cell that takes a step with it.

    Args:
        reducer_flag, grad, mean, degree: accepted for MindSpore's sake: gradients of several
            processes are added up as `nn.TrainOneStepCell` does.
        network: the network with its loss.
        optimizer: the `FreezeOpt`.
        sens: the gradient to start from.
        use_grad_accumulation: whether gradients of `max_accumulation_step` steps are added up.
        max_accumulation_step: how many.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(1, 1)
        >>> frozen = ms.boost.FreezeOpt(ms.nn.SGD(net.trainable_params(), 0.1))
        >>> step, = ms.boost.freeze_cell(False, net, frozen, 1.0, None, False)
        >>> step(ms.ops.ones((1, 1))).shape
        (1, 1)
    """
    steps = max_accumulation_step if use_grad_accumulation else 1
    return tuple([_TrainFreezeCell(network, one, sens, steps) for one in optimizer.opts])
