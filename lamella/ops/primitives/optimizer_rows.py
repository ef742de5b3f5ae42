"""Primitives that update the rows of Parameters that a sparse gradient has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ...core.wrappers import differs
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor, wrap
from ..arguments import indices_of, raw_of
from . import update_rules as rules
from .optimizer import Update, number, numbers_of, of_example, rate, whole_of
from .optimizer_adaptive import corrected_rate

__all__ = [
    "FusedSparseAdam", "FusedSparseFtrl", "FusedSparseLazyAdam", "FusedSparseProximalAdagrad",
    "SparseApplyAdadelta", "SparseApplyAdagrad", "SparseApplyAdagradV2", "SparseApplyFtrl",
    "SparseApplyFtrlV2", "SparseApplyProximalAdagrad", "SparseApplyRMSProp",
]


class Rows(Update):
    """A primitive whose gradient has only the rows at `indices`; equal indices are summed.

    As in MindSpore, indices beyond the rows are left out, and those marked `_step_each` take a
    step for each of several equal indices.
    """

    _step_each = False

    def _apply_rows(self, rule: Callable[..., None], parameters: tuple[Parameter, ...],
                    grad: Tensor, indices: Tensor, *args: Any,
                    **options: Any) -> tuple[Tensor, ...]:
        self._check_rows(parameters, grad, indices)

        def on_rows(rows: torch.Tensor, params: list, grads: list, *others: Any) -> None:
            states, numbers = others[: len(parameters) - 1], others[len(parameters) - 1:]
            wholes = [params[0], *(s[0] for s in states)]
            parts = [whole[rows] for whole in wholes]
            rule([parts[0]], grads, *([part] for part in parts[1:]), *numbers, **options)
            for whole, part in zip(wholes, parts, strict=True):
                whole[rows] = part

        held = [rules.held(p) for p in parameters]
        if any(differs(raw) for raw in (*held, grad._raw, indices._raw)):
            wholes, (grads, places), levels = whole_of(
                self.name, held, [grad._raw, indices._raw], args)
            numbers = numbers_of(args, levels)
            with torch.no_grad(), torch._C._DisableFuncTorch():
                for place in itertools.product(*map(range, wholes[0].shape[:len(levels)])):
                    self._step_of_example(on_rows, wholes, grads, places, place,
                                          of_example(args, numbers, place))
            return tuple(wrap(raw) for raw in held)
        with torch.no_grad(), rules.off_tape(parameters):
            first, *others = ([rules.held(p)] for p in parameters)
            split = _rounds if self._step_each else _unique_rows
            for rows, part in split(grad._raw, indices._raw, first[0].shape[0]):
                on_rows(rows, first, [part.to(first[0].dtype)], *others, *args)
        return tuple(wrap(rules.held(p)) for p in parameters)

    def _step_of_example(self, on_rows: Callable[..., None], wholes: list[torch.Tensor],
                         grads: torch.Tensor, indices: torch.Tensor, place: tuple[int, ...],
                         numbers: list[Any]) -> None:
        """Take the step of one example of a `vmap`, which has rows of its own."""
        own = wholes[0].shape[:len(place)]
        grad, rows_of = (given.expand(*own, *given.shape[len(own):])[place]
                         for given in (grads, indices))
        first, *others = ([whole[place]] for whole in wholes)
        split = _rounds if self._step_each else _unique_rows
        for rows, part in split(grad, rows_of, first[0].shape[0]):
            on_rows(rows, first, [part.to(first[0].dtype)], *others, *numbers)

    def _check_rows(self, parameters: tuple[Parameter, ...], grad: Any, indices: Any) -> None:
        self._check(parameters, grad)
        rows = rules.held(parameters[0]).shape
        if not rows:
            raise ValueError(f"For '{self.name}', the Parameters must have rows, "
                             f"but got shape ().")
        indices_of(raw_of(indices, self.name, "indices"), self.name)
        want = (*indices.shape, *rows[1:])
        if indices.ndim != 1 or grad.shape != want:
            raise ValueError(f"For '{self.name}', 'indices' must have rank 1, and the gradient a "
                             f"row of shape {tuple(rows[1:])} for each of them, but got the shapes "
                             f"{indices.shape} and {grad.shape}.")


Part = tuple[torch.Tensor, torch.Tensor]


def _rounds(grad: torch.Tensor, indices: torch.Tensor, count: int) -> Iterator[Part]:
    """Rows and their gradients, as they come, in as many parts as the commonest row comes."""
    rows = indices.reshape(-1).long()
    ordered, order = rows.sort(stable=True)
    position = torch.arange(rows.numel(), device=rows.device)
    turn = torch.empty_like(rows)
    turn[order] = position - torch.searchsorted(ordered, ordered)
    turn[(rows < 0) | (rows >= count)] = -1
    for n in range(int(turn.max()) + 1 if rows.numel() else 0):
        yield rows[turn == n], grad[turn == n]


def _unique_rows(grad: torch.Tensor, indices: torch.Tensor, count: int) -> list[Part]:
    """The rows that occur, without those beyond `count`, and the sum of the gradients of each."""
    rows, positions = indices.reshape(-1).long().unique(return_inverse=True)
    summed = grad.new_zeros((rows.shape[0], *grad.shape[1:])).index_add_(0, positions, grad)
    inside = (rows >= 0) & (rows < count)
    return [(rows[inside], summed[inside])]


class SparseApplyAdadelta(Rows):
    """`ApplyAdadelta` of the rows at `indices`.

    Args:
        epsilon: what is added below the roots, 0 or more.
        use_locking: accepted as MindSpore does.

    Inputs:
        var, accum, accum_update, lr, rho, grad, indices.

    Outputs:
        The new var, accum and accum_update.

    Raises:
        ValueError: if `epsilon` is below 0.

    Examples:
        >>> import lamella as ms
        >>> w, a, u = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "a"), (0.0, "u")))
        >>> step = ms.ops.SparseApplyAdadelta(1e-6)
        >>> print(step(w, a, u, 1.0, 0.0, ms.Tensor([[1.0]]), ms.Tensor([1]))[0])
        [[1.   ]
         [0.999]]
    """

    def __init__(self, epsilon: float, use_locking: bool = False):
        if epsilon < 0:
            raise ValueError(f"For 'SparseApplyAdadelta', 'epsilon' must be 0 or more, "
                             f"but got {epsilon}.")
        super().__init__(epsilon=epsilon, use_locking=use_locking)

    def __call__(self, var: Parameter, accum: Parameter, accum_update: Parameter, lr: Any, rho: Any,
                 grad: Tensor, indices: Tensor) -> tuple[Tensor, ...]:
        return self._apply_rows(rules.adadelta, (var, accum, accum_update), grad, indices, rate(lr),
                                number(rho), self.epsilon)


class SparseApplyRMSProp(Rows):
    """`ApplyRMSProp` of the rows at `indices`.

    Args:
        rho: how much of the mean square stays, of [0, 1].
        momentum: how much of the last step stays, 0 or more.
        epsilon: what is added below the root, above 0.
        use_locking: accepted as MindSpore does.

    Inputs:
        var, ms, mom, lr, grad, indices.

    Outputs:
        The new var, ms and mom.

    Raises:
        ValueError: if `rho`, `momentum` or `epsilon` is out of its range.

    Examples:
        >>> import lamella as ms
        >>> w, s, m = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "s"), (0.0, "m")))
        >>> step = ms.ops.SparseApplyRMSProp(0.0, 0.9, 1e-10)
        >>> print(step(w, s, m, 0.1, ms.Tensor([[2.0]]), ms.Tensor([1]))[0])
        [[1. ]
         [0.9]]
    """

    _step_each = True

    def __init__(self, rho: float, momentum: float, epsilon: float, use_locking: bool = False):
        if not 0 <= rho <= 1 or momentum < 0 or epsilon <= 0:
            raise ValueError(f"For 'SparseApplyRMSProp', 'rho' must be of [0, 1], 'momentum' 0 or "
                             f"more and 'epsilon' above 0, but got {rho}, {momentum}, {epsilon}.")
        super().__init__(rho=rho, momentum=momentum, epsilon=epsilon, use_locking=use_locking)

    def __call__(self, var: Parameter, ms: Parameter, mom: Parameter, lr: Any, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        return self._apply_rows(rules.rmsprop, (var, ms, mom), grad, indices, rate(lr), self.rho,
                                self.momentum, self.epsilon)


class SparseApplyAdagrad(Rows):
    """`ApplyAdagrad` of the rows at `indices`.

    Args:
        lr: the learning rate.
        update_slots: whether the sums grow.
        use_locking: accepted as MindSpore does.

    Inputs:
        var, accum, grad, indices.

    Outputs:
        The new var and accum.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...         for x, n in ((1.0, "w"), (0.0, "a")))
        >>> out = ms.ops.SparseApplyAdagrad(lr=0.1)(w, a, ms.Tensor([[2.0]]), ms.Tensor([1]))
        >>> print(w.value())
        [[1. ]
         [0.9]]
    """

    def __init__(self, lr: float, update_slots: bool = True, use_locking: bool = False):
        super().__init__(lr=lr, update_slots=update_slots, use_locking=use_locking)

    def __call__(self, var: Parameter, accum: Parameter, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        return self._apply_rows(rules.adagrad, (var, accum), grad, indices, self.lr, 0.0,
                                self.update_slots)


class SparseApplyAdagradV2(Rows):
    """`ApplyAdagradV2` of the rows at `indices`; arguments as `SparseApplyAdagrad`, and `epsilon`.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...         for x, n in ((1.0, "w"), (0.0, "a")))
        >>> step = ms.ops.SparseApplyAdagradV2(lr=0.1, epsilon=2.0)
        >>> print(step(w, a, ms.Tensor([[2.0]]), ms.Tensor([1]))[0])
        [[1.  ]
         [0.95]]
    """

    _step_each = True

    def __init__(self, lr: float, epsilon: float, use_locking: bool = False,
                 update_slots: bool = True):
        super().__init__(lr=lr, epsilon=epsilon, use_locking=use_locking, update_slots=update_slots)

    def __call__(self, var: Parameter, accum: Parameter, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        return self._apply_rows(rules.adagrad, (var, accum), grad, indices, self.lr, self.epsilon,
                                self.update_slots)


class SparseApplyFtrl(Rows):
    """`ApplyFtrl` of the rows at `indices`, with its numbers given beforehand.

    Args:
        lr, l1, l2, lr_power: as `ApplyFtrl`.
        use_locking: accepted as MindSpore does.

    Inputs:
        var, accum, linear, grad, indices.

    Outputs:
        The new var, accum and linear.

    Examples:
        >>> import lamella as ms
        >>> w, a, l = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...            for x, n in ((1.0, "w"), (1.0, "a"), (0.0, "l")))
        >>> step = ms.ops.SparseApplyFtrl(lr=0.1, l1=0.0, l2=0.0, lr_power=-0.5)
        >>> print(step(w, a, l, ms.Tensor([[0.0]]), ms.Tensor([1]))[0])
        [[1.]
         [0.]]
    """

    _step_each = True

    def __init__(self, lr: float, l1: float, l2: float, lr_power: float, use_locking: bool = False):
        super().__init__(lr=lr, l1=l1, l2=l2, lr_power=lr_power, use_locking=use_locking)

    def __call__(self, var: Parameter, accum: Parameter, linear: Parameter, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        return self._apply_rows(rules.ftrl, (var, accum, linear), grad, indices, self.lr, self.l1,
                                self.l2, self.lr_power)


class FusedSparseFtrl(SparseApplyFtrl):
    """`SparseApplyFtrl` with equal indices summed.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.FusedSparseFtrl(lr=0.1, l1=0.0, l2=0.0, lr_power=-0.5).lr_power
        -0.5
    """

    _step_each = False


class SparseApplyFtrlV2(Rows):
    """`SparseApplyFtrl` with `l2_shrinkage`, a decay that the sums of squares don't see.

    Examples:
        >>> import lamella as ms
        >>> w, a, l = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...            for x, n in ((1.0, "w"), (1.0, "a"), (0.0, "l")))
        >>> step = ms.ops.SparseApplyFtrlV2(0.1, l1=0.0, l2=0.0, l2_shrinkage=0.5, lr_power=-0.5)
        >>> print(step(w, a, l, ms.Tensor([[0.0]]), ms.Tensor([1]))[0])
        [[ 1. ]
         [-0.1]]
    """

    def __init__(self, lr: float, l1: float, l2: float, l2_shrinkage: float, lr_power: float,
                 use_locking: bool = False):
        super().__init__(lr=lr, l1=l1, l2=l2, l2_shrinkage=l2_shrinkage, lr_power=lr_power,
                         use_locking=use_locking)

    def __call__(self, var: Parameter, accum: Parameter, linear: Parameter, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        return self._apply_rows(rules.ftrl, (var, accum, linear), grad, indices, self.lr, self.l1,
                                self.l2, self.lr_power, shrinkage=self.l2_shrinkage)


class SparseApplyProximalAdagrad(Rows):
    """`ApplyProximalAdagrad` of the rows at `indices`.

    Inputs:
        var, accum, lr, l1, l2, grad, indices.

    Outputs:
        The new var and accum.

    Examples:
        >>> import lamella as ms
        >>> w, a = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...         for x, n in ((1.0, "w"), (0.0, "a")))
        >>> step = ms.ops.SparseApplyProximalAdagrad()
        >>> print(step(w, a, 0.1, 0.0, 0.0, ms.Tensor([[2.0]]), ms.Tensor([1]))[0])
        [[1. ]
         [0.9]]
    """

    def __init__(self, use_locking: bool = False):
        super().__init__(use_locking=use_locking)

    def __call__(self, var: Parameter, accum: Parameter, lr: Any, l1: Any, l2: Any, grad: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        return self._apply_rows(rules.proximal_adagrad, (var, accum), grad, indices, rate(lr),
                                rate(l1), rate(l2))


class FusedSparseProximalAdagrad(SparseApplyProximalAdagrad):
    """`SparseApplyProximalAdagrad`.

    Examples:
        >>> import lamella as ms
        >>> ms.ops.FusedSparseProximalAdagrad().use_locking
        False
    """


class FusedSparseLazyAdam(Rows):
    """`Adam` of the rows at `indices`; the moments of others stay.

    Args:
        use_locking: accepted as MindSpore does.
        use_nesterov: whether to look ahead.

    Inputs:
        var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, gradient, indices.

    Outputs:
        The new var, m and v.

    Examples:
        >>> import lamella as ms
        >>> w, m, v = (ms.Parameter(ms.Tensor([[x], [x]]), name=n)
        ...            for x, n in ((1.0, "w"), (0.0, "m"), (0.0, "v")))
        >>> step = ms.ops.FusedSparseLazyAdam()
        >>> print(step(w, m, v, 0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, ms.Tensor([[2.0]]),
        ...            ms.Tensor([1]))[0])
        [[1.        ]
         [0.90000004]]
    """

    def __init__(self, use_locking: bool = False, use_nesterov: bool = False):
        super().__init__(use_locking=use_locking, use_nesterov=use_nesterov)

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, beta1_power: Any,
                 beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, gradient: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        rule = rules.nesterov_adam if self.use_nesterov else rules.adam
        return self._apply_rows(rule, (var, m, v), gradient, indices,
                                corrected_rate(lr, beta1_power, beta2_power), number(beta1),
                                number(beta2), number(epsilon))


class FusedSparseAdam(FusedSparseLazyAdam):
    """`Adam` with a gradient of zero in all rows but those at `indices`.

    Examples:
        >>> import lamella as ms
        >>> w, m, v = (ms.Parameter(ms.Tensor([[1.0], [1.0]]), name=n) for n in "wmv")
        >>> step = ms.ops.FusedSparseAdam()
        >>> print(step(w, m, v, 0.9, 0.999, 0.1, 0.5, 0.25, 1e-8, ms.Tensor([[1.0]]),
        ...            ms.Tensor([1]))[1])
        [[0.5]
         [1. ]]
    """

    def __call__(self, var: Parameter, m: Parameter, v: Parameter, beta1_power: Any,
                 beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, gradient: Tensor,
                 indices: Tensor) -> tuple[Tensor, ...]:
        self._check_rows((var, m, v), gradient, indices)
        own = rules.held(var)
        ((rows, summed),) = _unique_rows(gradient._raw, indices._raw, own.shape[0])
        full = torch.zeros_like(own).index_copy_(0, rows, summed.to(own.dtype))
        rule = rules.nesterov_adam if self.use_nesterov else rules.adam
        corrected = corrected_rate(lr, beta1_power, beta2_power)
        return self._apply(rule, (var, m, v), wrap(full), corrected,
                           number(beta1), number(beta2), number(epsilon))
