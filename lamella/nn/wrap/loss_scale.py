"""Training with a scaled loss, so that small float16 gradients don't vanish."""

from __future__ import annotations

from typing import Any

import torch

from ...autodiff.tree import map_tensors, tensors
from ...communication import exchange
from ...communication.groups import group_of
from ...core import context
from ...core import dtype as mstype
from ...core.dtype import is_inexact
from ...core.require import of_type
from ...core.spreading import is_part, local, spreading
from ...ops.primitives.update_rules import kernels
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..cell import Cell
from ..cell_tree import operator
from .cell_wrapper import TrainOneStepCell, loss_and_gradients

__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell",
           "TrainOneStepWithLossScaleCell", "has_overflow"]


def has_overflow(gradients: Any) -> torch.Tensor:
    """A boolean: whether some element of some Tensor is infinite or no number."""
    every = [t._raw for t in tensors(gradients) if t._raw.numel()]
    raws = [raw for raw in local(every) if not raw.is_meta]
    floating = [r for r in raws if is_inexact(r.dtype)]
    if not floating:
        found = torch.zeros((), dtype=torch.bool, device=context.current_device())
    else:
        # the largest magnitude stays infinite or NaN, and can't overflow itself
        largest = kernels._foreach_norm(floating, float("inf"))
        place = largest[0].device
        found = torch.stack([n.float().to(place) for n in largest]).isfinite().all().logical_not_()
    return spreading().total("all_finite", found, "max", every)


def _grad_scale(scale: Any, grad: Tensor) -> Tensor:
    """A gradient divided by the loss scale."""
    factor = scale._raw if isinstance(scale, Tensor) else torch.tensor(
        float(scale), device=grad._raw.device)
    return wrap(grad._raw * factor.reciprocal().to(grad._raw.dtype))


grad_scale = _grad_scale  # programs import either


def _grad_overflow(grad: Tensor) -> Tensor:
    """Whether a gradient is infinite or no number somewhere: float32, 1 if so, of shape (1,)."""
    return wrap(has_overflow(grad).float().reshape(1))


class DynamicLossScaleUpdateCell(Cell):
    """Makes the loss scale smaller after an overflow, and larger after many steps without one.

    Args:
        loss_scale_value: the first scale.
        scale_factor: what to divide or multiply by.
        scale_window: the steps without overflow after which the scale grows.

    Inputs:
        - **loss_scale** - the scale, a Parameter, which is changed.
        - **overflow** - whether there was an overflow.

    Outputs:
        `overflow`.

    Examples:
        >>> import lamella as ms
        >>> scale = ms.Parameter(ms.Tensor(8.0), name="scale")
        >>> update = ms.nn.DynamicLossScaleUpdateCell(8.0, scale_factor=2, scale_window=1000)
        >>> print(update(scale, ms.Tensor(True)), scale.value())
        True 4.0
    """

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int):
        super().__init__()
        for name, value, kinds in (("scale_factor", scale_factor, (int, float)),
                                   ("scale_window", scale_window, int)):
            of_type(value, kinds, name, "DynamicLossScaleUpdateCell")
        self.scale_window = Tensor(scale_window, mstype.int32)
        self.scale_factor = Tensor(scale_factor, mstype.float32)
        self.loss_scale_value = loss_scale_value
        self.cur_iter = Parameter(Tensor(1, mstype.int32), name="current_iterator_step")
        self.last_overflow_iter = Parameter(Tensor(0, mstype.int32),
                                            name="last_overflow_iterator_step")
        self.minimum_loss_scale = Tensor(1.0, mstype.float32)

    def get_loss_scale(self) -> float:
        """The first scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Any) -> Any:
        """Update the scale."""
        with torch.no_grad():
            scale, factor = loss_scale._raw, self.scale_factor._raw
            over = torch.as_tensor(getattr(overflow, "_raw", overflow), device=scale.device).bool()
            now, last = self.cur_iter._raw, self.last_overflow_iter._raw
            due = self.scale_window._raw <= now - last
            lowered = torch.maximum(scale / factor, self.minimum_loss_scale._raw)
            kept = torch.where(due, scale * factor, scale)
            new = torch.where(over, lowered, kept)
            self.last_overflow_iter.assign_raw(torch.where(over | due, now, last).reshape(()))
            loss_scale.assign_raw(new.reshape(scale.shape))
            self.cur_iter.assign_raw(now + 1)
        return overflow


class FixedLossScaleUpdateCell(Cell):
    """Keeps the loss scale; the step with an overflow is still left out.

    Args:
        loss_scale_value: the scale.

    Inputs:
        - **loss_scale** - the scale, which stays.
        - **overflow** - whether there was an overflow.

    Outputs:
        `overflow`.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.FixedLossScaleUpdateCell(8.0).get_loss_scale()
        8.0
    """

    def __init__(self, loss_scale_value: float):
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        """`overflow`."""
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step of training with a scaled loss; where the gradients overflow, nothing is updated.

    Args:
        network: the network with its loss.
        optimizer: the optimizer.
        scale_sense: the scale: a Tensor of one element, or a Cell that changes it
            (`DynamicLossScaleUpdateCell`, `FixedLossScaleUpdateCell`).

    Inputs:
        Those of the network.

    Outputs:
        A tuple: the loss, whether there was an overflow, the scale.

    Raises:
        TypeError: if `scale_sense` is neither a Cell nor a Tensor.
        ValueError: if it is a Tensor of more than one element.

    Examples:
        >>> import lamella as ms
        >>> class Square(ms.nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.w = ms.Parameter(ms.Tensor(3.0), name="w")
        ...     def construct(self, x):
        ...         return (self.w * x) ** 2
        >>> net = Square()
        >>> optimizer = ms.nn.SGD(net.trainable_params(), 0.5)
        >>> step = ms.nn.TrainOneStepWithLossScaleCell(net, optimizer, ms.Tensor(1024.0))
        >>> print(*step(ms.Tensor(1.0)), net.w.value())
        9.0 False 1024.0 0.0
    """

    # what subclasses call
    _operators = {"hyper_map": operator("HyperMap"), "reduce_sum": operator("ReduceSum"),
                  "reduce_all": operator("ReduceAll"), "less_equal": operator("LessEqual"),
                  "equal": operator("Equal"), "logic_not": operator("LogicalNot"),
                  "allreduce": operator("AllReduce")}

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any):
        super().__init__(network, optimizer, sens=None)
        self.base = Tensor(1, mstype.float32)
        self.base0 = Tensor(0, mstype.int32)
        self.is_distributed = self.parallel_mode != "stand_alone"
        self.gpu_target = context.get_context("device_target") == "GPU"
        self.ascend_910a_target = False
        self.ascend_910b_target = False
        self.enable_allfinite = True
        self.loss_scaling_manager: Any = None
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            scale_sense = Tensor(scale_sense.get_loss_scale(), mstype.float32)  # type: ignore
        elif not isinstance(scale_sense, Tensor):
            raise TypeError(f"For 'TrainOneStepWithLossScaleCell', 'scale_sense' must be a Cell or "
                            f"a Tensor, but got {type(scale_sense).__name__}.")
        if scale_sense.shape not in ((), (1,)):
            raise ValueError(f"For 'TrainOneStepWithLossScaleCell', 'scale_sense' must have shape "
                             f"() or (1,), but got {scale_sense.shape}.")
        self.scale_sense = Parameter(scale_sense, name="scale_sense")

    def construct(self, *inputs: Any) -> tuple[Any, Any, Any]:
        """Train on `inputs`."""
        self.start_alike()
        scale = wrap(self.scale_sense._raw.clone())
        loss, grads = loss_and_gradients(self.network, inputs, self.weights, self._scaled_start)
        factor = scale._raw.reshape(()).reciprocal()
        raws = [g._raw for g in grads]
        if any(map(is_part, raws)):
            raws = [raw * factor for raw in raws]
        else:
            raws = kernels._foreach_mul(raws, factor)
        grads = self.grad_reducer(tuple(wrap(raw) for raw in raws))
        cond = self.get_overflow_status(Tensor([0] * 8, mstype.int32), grads)
        overflow = self.process_loss_scale(cond)
        if not overflow:
            self.optimizer(grads)
        return loss, cond, scale

    def _scaled_start(self, loss: Any) -> Any:
        scale = self.scale_sense._raw
        return map_tensors(
            lambda t: wrap(torch.ones_like(t._raw.detach()) * scale.reshape(()).to(t._raw.dtype)),
            loss)

    def set_sense_scale(self, sens: Tensor) -> None:
        """Set the scale.

        Raises:
            TypeError: if `sens` is no Tensor.
        """
        of_type(sens, Tensor, "sens", "TrainOneStepWithLossScaleCell")
        self.scale_sense.set_data(sens)

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Tensor, Any]:
        """A status to give to `get_overflow_status`, and `compute_input` as it is."""
        return Tensor([0] * 8, mstype.int32), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """Whether some element of `compute_output` is infinite or no number, in any process."""
        overflow = has_overflow(compute_output)
        world = group_of(None, "TrainOneStepWithLossScaleCell")
        if world.size > 1:
            overflow = exchange.all_reduce("TrainOneStepWithLossScaleCell", overflow, "max", world)
        return wrap(overflow)

    def process_loss_scale(self, overflow: Any) -> Any:
        """Let the Cell given as `scale_sense` change the scale; gives `overflow`."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow
