"""LARS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import dtype as mstype
from ...core.spreading import spreading
from ...ops.primitives.optimizer import LARSUpdate
from ...ops.primitives.update_rules import lars
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..checks import of_type
from .optimizer import Optimizer, opt_init_args_register


def _is_matrix_like(parameter: Parameter) -> bool:
    return "LayerNorm" not in parameter.name and "bias" not in parameter.name


class LARS(Optimizer):
    """Scales each gradient to the norm of its parameter and hands it to another optimizer.

    ``g = r * (g + decay * p)`` with ``r = coefficient * |p| / (|g| + decay * |p| + epsilon)``
    (You et al. 2017). The weight decay of the other optimizer moves here.

    Args:
        optimizer: the optimizer that updates the parameters.
        epsilon: keeps the divisor from 0.
        coefficient: the length of a gradient in units of its parameter's.
        use_clip: whether to divide `r` by the learning rate and keep it to 1.
        lars_filter: which Parameters to treat so; default those without 'LayerNorm' or 'bias' in
            their names.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if `use_clip` is True and the learning rates change and differ among groups.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([3.0, 4.0]), name="w")
        >>> step = ms.nn.LARS(ms.nn.SGD([w], learning_rate=1.0), coefficient=0.1)
        >>> _ = step((ms.Tensor([0.0, 2.0]),))
        >>> print(w.value())
        [3.        3.5000024]
    """

    _elementwise = False

    @opt_init_args_register
    def __init__(self, optimizer: Optimizer, epsilon: float = 1e-05, coefficient: float = 0.001,
                 use_clip: bool = False,
                 lars_filter: Callable[[Parameter], bool] = _is_matrix_like):
        of_type(optimizer, Optimizer, "optimizer", "LARS")
        of_type(epsilon, float, "epsilon", "LARS")
        of_type(coefficient, float, "coefficient", "LARS")
        of_type(use_clip, bool, "use_clip", "LARS")
        super().__init__(0.0, [Parameter(Tensor(0.0), name="fake_param")])
        if use_clip and optimizer.is_group_lr and optimizer.dynamic_lr:
            raise ValueError("For 'LARS', with use_clip=True the learning rates of the optimizer "
                             "can't both change with the step and differ among groups.")
        self.opt = optimizer
        self.learning_rate = Parameter(Tensor(0.0, mstype.float32), name="fake_lr")
        self.parameters = self._parameters = optimizer.parameters
        self.param_length = optimizer.param_length
        spreading().place(self)
        for name in ("dynamic_decay_flags", "dynamic_weight_decay", "weight_decay", "global_step",
                     "is_group", "decay_flags", "reciprocal_scale", "need_scale", "loss_scale"):
            setattr(self, name, getattr(optimizer, name))
        self.use_clip = use_clip
        self.lars_flag = tuple(bool(lars_filter(p)) for p in self.parameters)
        self.lars = LARSUpdate(epsilon, coefficient, use_clip)
        self._options = {"eps": epsilon, "coefficient": coefficient, "use_clip": use_clip}
        none = (False,) * self.param_length
        optimizer.dynamic_decay_flags = none if self.is_group else False
        optimizer.decay_flags = none
        optimizer.dynamic_weight_decay = False
        optimizer.reciprocal_scale = 1.0
        optimizer.exec_weight_decay = False

    def construct(self, gradients: Any) -> Any:
        """Scale the gradients and update the parameters."""
        self.check_gradients(gradients)
        count = self.param_length
        rates = self.opt.get_lr() if self.use_clip else self.learning_rate
        decays = self.get_weight_decay()
        scaled = []
        with self._unrecorded():
            for i, gradient in enumerate(self.scale_grad(gradients)):
                if not self.lars_flag[i]:
                    scaled.append(gradient)
                    continue
                rate = rates[i] if isinstance(rates, tuple) else rates
                decay: Any = 0.0
                if self.decay_flags[i]:
                    decay = (decays[i] if self.is_group else decays)._raw / self.loss_scale
                weight, grad = self.parameters[i]._data, gradient._raw
                scaled.append(wrap(lars(weight, grad, weight.norm(), grad.norm(), decay, rate._raw,
                                        **self._options)))
        if len(scaled) != count:
            raise ValueError(f"For 'LARS', the gradients must be as many as the {count} "
                             f"parameters, but got {len(scaled)}.")
        return self.opt(tuple(scaled))
