"""AdaFactor."""

from __future__ import annotations

from typing import Any

import torch

from ...core import context
from ...core import dtype as mstype
from ...ops.primitives.update_rules import adafactor, put
from ...tensors.parameter import Parameter, ParameterTuple
from ...tensors.tensor import Tensor
from ..checks import float_within, non_negative_float, of_type
from .optimizer import Optimizer, opt_init_args_register


class AdaFactor(Optimizer):
    """Adam with the second moments of a matrix kept as sums of its rows and columns.

    (Shazeer & Stern 2018.) With `relative_step` the learning rate is ``min(0.01, 1 / sqrt(t))``.

    Args:
        params, loss_scale: as `Optimizer`.
        learning_rate: as `Optimizer`; None with `relative_step`.
        eps: added to squared gradients; the least root mean square of a parameter.
        clip_threshold: the most root mean square of a step.
        decay_rate: the power of the step that the second moment forgets by.
        beta1: how much of the first moment to keep; 0 or None for none.
        weight_decay: a float from 0 to 1.
        scale_parameter: whether steps are in units of the parameter's root mean square.
        relative_step: whether the learning rate depends on the step only.
        warmup_init: with `relative_step`, start from ``1e-6 * t``.
        compression: keep the second moments of vectors as float16.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type, out of range or against another.

    Examples:
        >>> import lamella as ms
        >>> w = ms.Parameter(ms.Tensor([1.0]), name="w")
        >>> _ = ms.nn.AdaFactor([w], beta1=0.0)((ms.Tensor([2.0]),))
        >>> print(w.value())
        [0.99]
    """

    _support_parallel_optimizer = True
    _elementwise = False
    _has_settable_target = True

    @opt_init_args_register
    def __init__(self, params: Any, learning_rate: Any = None, eps: Any = (1e-30, 1e-3),
                 clip_threshold: float = 1.0, decay_rate: float = 0.8, beta1: float | None = 0.9,
                 weight_decay: float = 0.0, scale_parameter: bool = True,
                 relative_step: bool = True, warmup_init: bool = False, compression: bool = False,
                 loss_scale: float = 1.0):
        if (learning_rate is None) is not relative_step:
            raise ValueError(f"For 'AdaFactor', either 'learning_rate' or relative_step=True must "
                             f"be given, but got learning_rate={learning_rate!r} and "
                             f"relative_step={relative_step}.")
        if warmup_init and not relative_step:
            raise ValueError("For 'AdaFactor', warmup_init=True needs relative_step=True.")
        self.__dict__["scale_lr"] = learning_rate is None or isinstance(learning_rate, (float, int))
        super().__init__(0.0 if learning_rate is None else learning_rate, params, weight_decay,
                         loss_scale)
        kept = 0.0 if beta1 is None else float(of_type(beta1, (int, float), "beta1", "AdaFactor"))
        of_type(eps, (list, tuple), "eps", "AdaFactor")
        if len(eps) != 2:
            raise ValueError(f"For 'AdaFactor', 'eps' must hold 2 numbers, but got {eps}.")
        for number in eps:
            non_negative_float(number, "eps", "AdaFactor")
        non_negative_float(clip_threshold, "clip_threshold", "AdaFactor")
        float_within(decay_rate, 0.0, 1.0, "()", "decay_rate", "AdaFactor")
        if not 0 <= weight_decay < 1:
            raise ValueError(f"For 'AdaFactor', 'weight_decay' must be in [0, 1), "
                             f"but got {weight_decay}.")
        non_negative_float(kept, "beta1", "AdaFactor")
        flags = {"scale_parameter": scale_parameter, "relative_step": relative_step,
                 "warmup_init": warmup_init, "compression": compression}
        for name, flag in flags.items():
            of_type(flag, bool, name, "AdaFactor")
            setattr(self, name, flag)
        self.scale_parameter = scale_parameter and self.scale_lr
        self.weight_decay_flag = bool(weight_decay)
        self.use_first_moment = kept > 0
        self._numbers = {"eps": tuple(eps), "clip": clip_threshold, "beta1": kept,
                         "decay": float(weight_decay)}
        self._decay_rate = decay_rate
        self._make_state()
        self.step = Parameter(Tensor([0.0], mstype.float32), name="afactor_step")

    def _make_state(self) -> None:
        if self.use_first_moment:
            self.exp_avg: Any = self.parameters.clone(prefix="exp_avg", init="zeros")
        rows, cols, squares = [], [], []
        for p in self.parameters:
            kind = p.dtype
            row, col, square = self.state_shapes(p)[:3]
            rows.append(_zeros(row, kind, f"exp_avg_sq_row_{p.name}"))
            cols.append(_zeros(col, kind, f"exp_avg_sq_col_{p.name}"))
            if p.ndim < 2 and self.compression:
                kind = mstype.float16
            squares.append(_zeros(square, kind, f"exp_avg_sq_{p.name}"))
        self.exp_avg_sq_row = ParameterTuple(rows)
        self.exp_avg_sq_col = ParameterTuple(cols)
        self.exp_avg_sq = ParameterTuple(squares)

    def state_shapes(self, parameter: Parameter) -> Any:
        """Sums of rows and of columns of a matrix; of a vector all squares; a first moment."""
        shape = parameter.shape
        if len(shape) > 1:
            return shape[:-1], shape[:-2] + shape[-1:], (1,), shape
        return (1,), (1,), shape, shape

    @property
    def supports_memory_efficient_fp16(self) -> bool:
        """True."""
        return True

    @property
    def supports_flat_params(self) -> bool:
        """False."""
        return False

    def construct(self, gradients: Any) -> Any:
        """Update the parameters."""
        rates: Any = self.get_lr()
        with self._unrecorded():
            step = self.step._data.add_(1).reshape(())
            if self.scale_lr and self.relative_step:
                most = 1e-6 * step if self.warmup_init else torch.full_like(step, 1e-2)
                rates = torch.minimum(most, step.rsqrt())
            beta2 = 1.0 - step ** -self._decay_rate
        states = [self.exp_avg_sq_row, self.exp_avg_sq_col, self.exp_avg_sq]
        if self.use_first_moment:
            states.append(self.exp_avg)
        return self.update_by(self._rule, gradients, *states, lr=rates, prepared=True, beta2=beta2)

    def _rule(self, params: list, grads: list, rows: list, cols: list, squares: list,
              means: Any = None, *, lr: Any, decay: Any, beta2: torch.Tensor) -> None:
        means = [None] * len(params) if means is None else means
        for i, (p, g, row, col, square, mean) in enumerate(zip(
                params, grads, rows, cols, squares, means, strict=True)):
            found = adafactor(p, g, mean, row, col, square, lr, beta2=beta2,
                              scale_parameter=self.scale_parameter, **self._numbers)
            for raws, new in zip((params, means, rows, cols, squares), found, strict=True):
                if new is not None:
                    put(raws, i, new)


def _zeros(shape: tuple, kind: Any, name: str) -> Parameter:
    raw = torch.zeros(shape, dtype=kind.raw, device=context.current_device())
    return Parameter(Tensor(raw), name=name)
