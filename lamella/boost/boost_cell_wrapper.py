"""Steps of training with this room's algorithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import ops
from ..communication.groups import group_of
from ..core import dtype as mstype
from ..core.require import of_type
from ..nn.cell import Cell
from ..nn.wrap import TrainOneStepCell
from ..nn.wrap.cell_wrapper import loss_and_gradients
from ..nn.wrap.loss_scale import grad_scale, has_overflow
from ..tensors.parameter import Parameter, ParameterTuple
from ..tensors.tensor import Tensor, wrap
from .adasum import AdaSum
from .boost import AutoBoost
from .dim_reduce import DimReduce
from .grad_accumulation import GradientAccumulation
from .grad_freeze import FreezeOpt, freeze_cell

__all__ = ["BoostTrainOneStepCell", "BoostTrainOneStepWithLossScaleCell"]

_GROWTH, _REDUCTION = 2.0 ** (1 / 1000), 0.5  # of a group's loss scale, a step


class BoostTrainOneStepCell(TrainOneStepCell):
    """One step of training with the algorithms that `AutoBoost` and the optimizer ask for.

    A `FreezeOpt` trains the group of Parameters of each step; ``grad_accumulation`` adds gradients
    up; an optimizer with an attribute `dim_reduce` takes steps by `DimReduce`, one with `adasum`
    is followed by `AdaSum` where there are several servers.

    Args:
        network: the network with its loss.
        optimizer: the optimizer, or a `FreezeOpt`.
        sens: the gradient of the loss to start from; default 1.

    Inputs:
        Those of the network.

    Outputs:
        The loss before the update.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(1, 1, weight_init="ones", has_bias=False)
        >>> frozen = ms.boost.FreezeOpt(ms.nn.SGD(net.trainable_params(), 0.5))
        >>> step = ms.boost.BoostTrainOneStepCell(net, frozen)
        >>> print(step(ms.Tensor([[1.0]])), net.weight.value())
        [[1.]] [[0.5]]
    """

    def __init__(self, network: Cell, optimizer: Any, sens: Any = None):
        super().__init__(network, optimizer, sens)
        self.auto_boost = AutoBoost()
        self.freeze = isinstance(optimizer, FreezeOpt)
        steps = self.auto_boost.grad_accumulation_step
        self.use_grad_accumulation = bool(
            steps > 1 and self.auto_boost.boost_config["grad_accumulation"]
            and self.parallel_mode in ("data_parallel", "stand_alone"))
        self.step = Parameter(Tensor(0, mstype.int32), name="step", requires_grad=False)
        self.train_strategy = getattr(optimizer, "train_strategy", None)
        self.freeze_nets: Any = None
        if self.freeze:
            self.freeze_nets = freeze_cell(self.reducer_flag, network, optimizer, sens, self.grad,
                                           self.use_grad_accumulation, None, None, steps)
        elif self.use_grad_accumulation:
            self._accumulation = GradientAccumulation(steps, self._update)
        self.enable_dim_reduce = self.check_dim_reduce_enable()
        self.enable_adasum = self.check_adasum_enable()
        if self.enable_dim_reduce or self.enable_adasum:
            self.weights_clone = ParameterTuple(self.weights).clone("weights_clone", "same")
        if self.enable_dim_reduce:
            self._init_dim_reduce()
        if self.enable_adasum:
            world, each = group_of(None, "AdaSum"), self.auto_boost.device_number
            self.adasum = AdaSum(world.rank, each, world.size // each, self.weights)

    def check_dim_reduce_enable(self) -> bool:
        """Whether the optimizer is marked for `DimReduce`."""
        return bool(getattr(self.optimizer, "dim_reduce", False))

    def check_adasum_enable(self) -> bool:
        """Whether the optimizer is marked for `AdaSum`, and there are 2, 4, 8, ... servers."""
        if not getattr(self.optimizer, "adasum", False) or not self.reducer_flag or self.freeze:
            return False
        servers = group_of(None, "AdaSum").size // self.auto_boost.device_number
        return servers > 1 and servers & (servers - 1) == 0

    def _init_dim_reduce(self) -> None:
        boost, alone = self.auto_boost, self.parallel_mode == "stand_alone"
        if boost.local_pca_mat_path is None:
            raise ValueError("For 'BoostTrainOneStepCell', 'AutoBoost.network_auto_process_train' "
                             "must have made the optimizer that is marked for 'dim_reduce'.")
        world = group_of(None, "DimReduce")
        self.dim_reduce = DimReduce(
            self.network, self.optimizer, self.weights, np.load(boost.local_pca_mat_path),
            boost.n_components, boost.rho, boost.gamma, boost.alpha, boost.sigma,
            0 if alone else world.rank, 1 if alone else world.size)

    def construct(self, *inputs: Any) -> Any:
        """Train on `inputs`."""
        if self.freeze:
            return self.gradient_freeze_process(*inputs)
        start = self._start if self.sense_flag else None
        loss, grads = loss_and_gradients(self.network, inputs, self.weights, start,
                                         self.grad_reducer)
        self._take(loss, grads, self.sens, inputs)
        return loss

    def _take(self, loss: Any, grads: Any, sens: Any, inputs: tuple[Any, ...]) -> None:
        """Take a step, or add the gradients to those of others."""
        self._given = loss, sens, inputs
        if self.use_grad_accumulation:
            self._accumulation(loss, grads)
        else:
            self._update_by(grads)

    @property
    def _update(self) -> Any:
        """`_update_by`, as the optimizer of `GradientAccumulation`."""
        return _Update(self)

    def _update_by(self, grads: Any) -> None:
        loss, sens, inputs = self._given
        if self.enable_dim_reduce:
            self.dim_reduce(loss, grads, sens, self.weights, self.weights_clone, *inputs)
        elif self.enable_adasum:
            self.adasum_process(loss, grads)
        else:
            self.optimizer(grads)

    def gradient_freeze_process(self, *inputs: Any) -> Any:
        """Take a step with the group whose turn it is; the loss."""
        turn = int(self.step)
        strategy = self.train_strategy
        chosen = turn if strategy is None else int(strategy[turn])
        many = len(self.freeze_nets) if strategy is None else len(strategy)
        loss = self.freeze_nets[chosen](*inputs)
        ops.assign(self.step, Tensor((turn + 1) % many, mstype.int32))
        return loss

    def gradient_accumulation_process(self, loss: Any, grads: Any, sens: Any, *inputs: Any) -> Any:
        """Add gradients up, and take a step after the last of them; the loss."""
        self._take(loss, grads, sens, inputs)
        return loss

    def adasum_process(self, loss: Any, grads: Any) -> Any:
        """Take a step, and put the adaptive sum of all servers' steps in its place; the loss."""
        before = [w.value().copy() for w in self.weights]
        self.optimizer(grads)
        steps = [old - new for old, new in zip(before, self.weights, strict=True)]
        self.adasum(steps, self.weights, before)
        return loss


class _Update:
    """What `GradientAccumulation` takes for an optimizer."""

    def __init__(self, step: BoostTrainOneStepCell):
        self.step, self.parameters = step, step.weights

    def __call__(self, grads: Any) -> None:
        self.step._update_by(grads)


class BoostTrainOneStepWithLossScaleCell(BoostTrainOneStepCell):
    """As `BoostTrainOneStepCell`, with a scaled loss; a step with an overflow is left out.

    Args:
        network: the network with its loss.
        optimizer: the optimizer.
        scale_sense: the scale, a Tensor, or a Cell that changes it, as
            `nn.DynamicLossScaleUpdateCell`; a `GroupLossScaleManager` where `AutoBoost` has
            ``loss_scale_group``.

    Inputs:
        Those of the network.

    Outputs:
        The loss, whether there was an overflow, and the scale.

    Raises:
        TypeError: if `scale_sense` is something else.
        ValueError: if it is a Tensor of another shape than () or (1,).

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.Dense(1, 1, weight_init="ones", has_bias=False)
        >>> optimizer = ms.nn.SGD(net.trainable_params(), 0.5)
        >>> step = ms.boost.BoostTrainOneStepWithLossScaleCell(net, optimizer, ms.Tensor(1024.0))
        >>> print(*step(ms.Tensor([[1.0]])), net.weight.value())
        [[1.]] False 1024.0 [[0.5]]
    """

    def __init__(self, network: Cell, optimizer: Any, scale_sense: Any):
        super().__init__(network, optimizer)
        self.growth_ratio, self.reduce_ratio = _GROWTH, _REDUCTION
        self.enable_enhanced_amp = self.auto_boost.boost_config["loss_scale_group"]
        self.loss_scaling_manager = scale_sense if isinstance(scale_sense, Cell) else None
        if self.enable_enhanced_amp:
            if not hasattr(scale_sense, "set_loss_scale_status"):
                raise TypeError(f"For 'BoostTrainOneStepWithLossScaleCell', 'scale_sense' must be "
                                f"a GroupLossScaleManager, but got {type(scale_sense).__name__}.")
            self._init_groups(scale_sense)
            return
        if isinstance(scale_sense, Tensor) and scale_sense.shape not in ((), (1,)):
            raise ValueError(f"For 'BoostTrainOneStepWithLossScaleCell', the shape of "
                             f"'scale_sense' must be () or (1,), but got {scale_sense.shape}.")
        of_type(scale_sense, (Tensor, Cell), "scale_sense", "BoostTrainOneStepWithLossScaleCell")
        value = scale_sense if isinstance(scale_sense, Tensor) else \
            Tensor(float(scale_sense.get_loss_scale()), mstype.float32)
        self.scale_sense = Parameter(value, name="scale_sense", requires_grad=False)

    def _init_groups(self, manager: Any) -> None:
        groups = manager.loss_scale_groups
        manager.set_loss_scale_status(len(groups), manager.get_loss_scale())
        place = {id(p): number for number, group in enumerate(groups) for p in group}
        missing = [w.name for w in self.weights if id(w) not in place]
        if missing:
            raise ValueError(f"For 'BoostTrainOneStepWithLossScaleCell', each trained Parameter "
                             f"must be in one of the manager's 'loss_scale_groups', but "
                             f"{missing[0]} isn't.")
        self._group_of = [place[id(w)] for w in self.weights]

    def construct(self, *inputs: Any) -> Any:
        """Train on `inputs`."""
        if self.enable_enhanced_amp:
            return self._step_by_groups(inputs)
        scale = self.scale_sense.value().copy()
        loss, grads = loss_and_gradients(
            self.network, inputs, self.weights,
            lambda found: ops.ones_like(found) * scale.astype(found.dtype).reshape(()),
            self.grad_reducer)
        grads = tuple([grad_scale(scale, grad) for grad in grads])
        overflow = wrap(has_overflow(grads))
        if self.loss_scaling_manager is not None:
            self.loss_scaling_manager(self.scale_sense, overflow)
        if not overflow:
            self._take(loss, grads, 1.0, inputs)
        return loss, overflow, scale

    def _step_by_groups(self, inputs: tuple[Any, ...]) -> tuple[Any, Tensor, Tensor]:
        manager: Any = self.loss_scaling_manager
        loss, grads = loss_and_gradients(self.network, inputs, self.weights, None,
                                         self.grad_reducer)
        scales = [s.value().copy() for s in manager.dynamic_loss_scale[1:-1]]
        overflow = False
        for number in range(manager.loss_scale_number):
            own = [g for g, group in zip(grads, self._group_of, strict=True) if group == number]
            over = bool(has_overflow(own))
            overflow |= over
            manager.update_loss_scale_status(number,
                                             self.reduce_ratio if over else self.growth_ratio)
        if not overflow:
            self._take(loss, tuple([grad_scale(scales[group], grad) for grad, group in
                                    zip(grads, self._group_of, strict=True)]), 1.0, inputs)
        return loss, Tensor(overflow), scales[0]
