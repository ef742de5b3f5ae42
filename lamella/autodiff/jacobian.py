"""Jacobians and Hessians: the derivatives by all elements, in one batched run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..core.require import of_type
from ..core.state import state
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor, wrap
from .forward import Linear, push, split_aux
from .level import Level, current, entered
from .node import probe
from .reverse import checked_positions, checked_weights
from .run import cut, detached, record
from .tree import check_no_hidden, differentiable, differentiable_tensors, map_tensors, tensors
from .vmap import check_chunk_size, of_many


def jacfwd(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0,
           has_aux: bool = False, *, chunk_size: int | None = None,
           weights: Any = None, holomorphic: bool = False) -> Callable[..., Any]:
    """The function that computes the Jacobian of `fn`, by forward mode.

    `fn` runs once, recorded as a linear map, which is applied to all directions together. Suits
    functions with fewer inputs than outputs.

    Args:
        fn: a function or Cell of Tensors.
        grad_position: which positional inputs to differentiate by; None: by `weights` alone.
        has_aux: differentiate only the first output; the others come back as they are.
        chunk_size: how many input elements to take at once, to bound memory; default all.
        weights: a Parameter, or a tuple or list of them, to differentiate by as well.
        holomorphic: whether inputs, weights and outputs are complex, and `fn` is complex
            differentiable: the elements are its complex derivatives. An eager call checks that.

    Returns:
        A function of `fn`'s arguments. For one output and one input it gives a Tensor of the
        output's shape followed by the input's. For several inputs, a tuple of those; for several
        outputs, a tuple (or the structure of the outputs) of either. With `has_aux`, a pair of that
        and the other outputs: a tuple, or the one there is. With `weights`, there is a pair in
        place of those by inputs: those by inputs, and those by weights (one, or a tuple); without a
        position only those by weights.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a position is out of range, `fn` assigns one of the weights, or isn't
            holomorphic though it should be.

    Examples:
        >>> import lamella as ms
        >>> print(ms.jacfwd(lambda x: x * x)(ms.Tensor([1.0, 2.0])))
        [[2. 0.]
         [0. 4.]]
    """
    request = _Request("jacfwd", fn, grad_position, has_aux, chunk_size, weights, holomorphic)

    def jacobian(*args: Any) -> Any:
        fn, args, positions = request.of(args)
        outer = current()
        inputs = [t._raw for p in positions for t in tensors(args[p])]
        indices = _leaf_indices(positions, args)
        try:
            linear = Linear(fn, args, outer, positions)
            request.check_complex(linear.value, inputs, lambda raws: [
                t._raw for t in tensors(linear.push(_at(indices, raws, linear.count)))])
            value, rows = linear.value, _pushed_rows(linear, indices, inputs, chunk_size, outer)
        except RuntimeError as error:
            if "is not implemented" not in str(error):  # a derivative that has no derivative itself
                raise
            value, rows = _forward_rows(fn, args, indices, inputs, chunk_size, outer)
        aux = split_aux(value, "jacfwd") if has_aux else None
        flat = iter(rows)
        sizes, shapes = [i.numel() for i in inputs], [i.shape for i in inputs]

        def columns(out: Tensor) -> Any:
            parts = next(flat).split(sizes)
            found = iter([wrap(part.movedim(0, -1).reshape((*out.shape, *shape)))
                          for part, shape in zip(parts, shapes, strict=True)])
            return request.parted(args, positions, found)

        result = map_tensors(columns, value[0] if has_aux else value)
        if outer is None:
            result = map_tensors(detached, result)
        return (result, aux) if has_aux else result

    return jacobian


def jacrev(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0,
           has_aux: bool = False, *, chunk_size: int | None = None,
           weights: Any = None, holomorphic: bool = False) -> Callable[..., Any]:
    """The function that computes the Jacobian of `fn`, by reverse mode.

    Suits functions with fewer outputs than inputs.

    Args:
        fn, grad_position, has_aux, weights, holomorphic: as for `jacfwd`.
        chunk_size: how many output elements to take at once, to bound memory; default all.

    Returns:
        As `jacfwd`.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if a position is out of range.

    Examples:
        >>> import lamella as ms
        >>> dx, dy = ms.jacrev(lambda x, y: (x * y).sum(), (0, 1))(
        ...     ms.Tensor([1.0, 2.0]), ms.Tensor([3.0, 4.0]))
        >>> print(dx, dy)
        [3. 4.] [1. 2.]
    """
    request = _Request("jacrev", fn, grad_position, has_aux, chunk_size, weights, holomorphic)

    def jacobian(*args: Any) -> Any:
        fn, args, positions = request.of(args)
        outer = current()
        around = Level(outer, reverse=False)  # the gradient is part of this transformation
        with entered(around):
            run = record(fn, args, {}, positions, (), around)
        aux = split_aux(run.value, "jacrev") if has_aux else None
        first = run.value[0] if has_aux else run.value
        check_no_hidden("jacrev", "the result", first)
        chosen = [t._raw for t in differentiable_tensors(first)]
        others = [t._raw for t in differentiable_tensors(run.value)][len(chosen):]
        basis = _basis(chosen)
        level = Level(outer, reverse=False)
        shapes = [i.shape for i in run.originals]

        def one(*rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
            with entered(level):
                return tuple(run.pull([*rows, *map(torch.zeros_like, others)]))

        request.check_complex(first, chosen, lambda raws: one(*raws))
        rows = of_many(one, chunk_size=chunk_size)(*basis) if basis else ()
        if holomorphic:  # PyTorch's gradients are the conjugates
            rows = [torch.complex(row.real, -row.imag) for row in rows]
        sizes = [out.numel() for out in chosen]
        blocks = iter(zip(*[part.split(sizes) for part in rows], strict=True))

        def block(out: Tensor) -> Any:
            if not differentiable(out._raw):
                found = iter([wrap(i.new_zeros((*out.shape, *i.shape))) for i in run.originals])
                return request.parted(args, positions, found)
            found = iter([wrap(part.reshape((*out.shape, *shape)))
                          for part, shape in zip(next(blocks), shapes, strict=True)])
            return request.parted(args, positions, found)

        result = map_tensors(block, first)
        if outer is None:
            result = map_tensors(detached, result)
            cut(run.level.changed)
        return (result, aux) if has_aux else result

    return jacobian


def hessian(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0,
            has_aux: bool = False, *, weights: Any = None,
            holomorphic: bool = False) -> Callable[..., Any]:
    """The function that computes the second derivatives of `fn`: forward over reverse mode.

    Args:
        fn, grad_position, has_aux, weights, holomorphic: as for `jacfwd`.

    Returns:
        As `jacfwd` of the Jacobian: for a scalar function of one input a Tensor of the input's
        shape twice.

    Examples:
        >>> import lamella as ms
        >>> print(ms.autodiff.hessian(lambda x: (x**3).sum())(ms.Tensor([1.0, 2.0])))
        [[ 6.  0.]
         [ 0. 12.]]
        >>> w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
        >>> print(ms.autodiff.hessian(lambda x: (x * w**2).sum(), None, weights=w)(ms.Tensor(3.0)))
        [[6. 0.]
         [0. 6.]]
    """
    inner = jacrev(fn, grad_position, has_aux, weights=weights, holomorphic=holomorphic)
    return jacfwd(inner, grad_position, has_aux, weights=weights, holomorphic=holomorphic)


def _pushed_rows(linear: Linear, indices: list[int], inputs: list[torch.Tensor],
                 chunk_size: int | None, outer: Level | None) -> Sequence[torch.Tensor]:
    """For each output its tangents in all directions, one a row: the linear map, batched."""
    level, count = Level(outer, reverse=False), linear.count

    def one(*rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with entered(level):
            return tuple(t._raw for t in tensors(linear.push(_at(indices, rows, count))))

    return of_many(one, chunk_size=chunk_size)(*_basis(inputs))


def _forward_rows(fn: Callable[..., Any], args: tuple, indices: list[int],
                  inputs: list[torch.Tensor], chunk_size: int | None,
                  outer: Level | None) -> tuple[Any, Sequence[torch.Tensor]]:
    """As `_pushed_rows`, by a run of `fn` in forward mode; and the value of `fn`."""
    level, values = Level(outer, reverse=False), []

    def one(*rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with entered(level):
            value, tangent = push(fn, args, _at(indices, rows, sum(1 for _ in tensors(args))))
        values.append(value)
        return tuple(t._raw for t in tensors(tangent))

    rows = of_many(one, chunk_size=chunk_size)(*_basis(inputs))
    return values[-1], rows


def _at(indices: list[int], rows: Sequence[torch.Tensor], count: int
        ) -> list[torch.Tensor | None]:
    """`count` tangents, of which those at `indices` are given."""
    tangents: list[torch.Tensor | None] = [None] * count
    for index, row in zip(indices, rows, strict=True):
        tangents[index] = row
    return tangents


class _Request:
    """What to differentiate by what; weights become a last argument."""

    def __init__(self, name: str, fn: Any, grad_position: Any, has_aux: Any, chunk_size: Any,
                 weights: Any, holomorphic: Any):
        if not callable(fn):
            raise TypeError(f"For '{name}', 'fn' must be a function or a Cell, "
                            f"but got {type(fn).__name__}.")
        of_type(has_aux, bool, "has_aux", name)
        of_type(holomorphic, bool, "holomorphic", name)
        self.holomorphic = holomorphic
        check_chunk_size(chunk_size, name)
        self.name, self.fn = name, fn
        self.weights = checked_weights(name, weights)
        self.single_weight = isinstance(weights, Parameter)
        self.positions = checked_positions(name, grad_position) or ()
        if not self.positions and (self.weights is None or grad_position is not None):
            raise TypeError(f"For '{name}', 'grad_position' must be an int or a tuple of ints, "
                            f"but got {grad_position!r}.")

    def of(self, args: tuple) -> tuple[Callable[..., Any], tuple, tuple[int, ...]]:
        """The function, its arguments, and which of them to differentiate by."""
        _check_arguments(self.name, self.positions, args, self.holomorphic)
        if self.weights is None:
            return self.fn, args, self.positions
        given = (*args, tuple([_value_of(w) for w in self.weights]))
        positions = *self.positions, len(args)
        _check_arguments(self.name, positions, given, self.holomorphic)
        return self._with_weights, given, positions

    def check_complex(self, value: Any, given: Sequence[torch.Tensor],
                      derivative: Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]]
                      ) -> None:
        """Check that a derivative is linear in complex numbers, where that is asked for."""
        if not self.holomorphic:
            return
        for tensor in tensors(value[0] if isinstance(value, tuple) and value else value):
            if not tensor._raw.is_complex():
                raise TypeError(f"For '{self.name}', with holomorphic=True the results of 'fn' "
                                f"must be complex, but got {tensor.dtype}.")
        if state.trace is not None or current() is not None:
            return
        along = [probe(raw, 2) for raw in given]
        for a, b in zip(derivative(along), derivative([1j * raw for raw in along]), strict=True):
            a, b = a.detach(), b.detach()
            if not a.numel():
                continue
            tolerance = 1e-3 if a.dtype is torch.complex64 else 1e-6
            if bool((b - 1j * a).abs().max() > tolerance * (a.abs().max() + b.abs().max())):
                raise ValueError(f"For '{self.name}', with holomorphic=True 'fn' must be complex "
                                 f"differentiable, but its derivative differs by direction.")

    def _with_weights(self, *given: Any) -> Any:
        """What the function gives with these weights."""
        *args, weights = given
        overlay, own = state.overlay, dict(zip(self.weights or (), weights, strict=True))
        assert overlay is not None  # a transformation is running
        before = {w: overlay[w] for w in own if w in overlay}
        overlay.update({w: tensor._raw for w, tensor in own.items()})
        try:
            value = self.fn(*args)
            for weight, tensor in own.items():
                if overlay.get(weight) is not tensor._raw:
                    raise ValueError(f"For '{self.name}', 'fn' must not assign one of 'weights', "
                                     f"but it assigns '{weight.name}'.")
            return value
        finally:
            for weight in own:
                overlay.pop(weight, None)
            overlay.update(before)

    def parted(self, args: tuple, positions: tuple[int, ...], found: Any) -> Any:
        """Blocks of a Jacobian in the structure of what they are derivatives by.

        MindSpore gives no tuple for one position.
        """
        parts = tuple([map_tensors(lambda _: next(found), args[p]) for p in positions])
        if self.weights is None:
            return parts[0] if len(parts) == 1 else parts
        by_inputs = parts[0] if len(parts) == 2 else parts[:-1]
        by_weights = parts[-1][0] if self.single_weight else parts[-1]
        return (by_inputs, by_weights) if self.positions else by_weights


def _value_of(weight: Parameter) -> Tensor:
    """The value of a weight, with its hooks; derivatives by a frozen one are zero."""
    value = wrap(weight.init_data()._raw)
    value.__dict__.update({name: weight.__dict__[name] for name in ("_hooks", "requires_grad")
                           if name in weight.__dict__})
    return value


def _check_arguments(name: str, positions: tuple[int, ...], args: tuple,
                     holomorphic: bool) -> None:
    for position in positions:
        if position >= len(args):
            raise ValueError(f"For '{name}', 'grad_position' {position} is out of range: the "
                             f"function was called with {len(args)} positional arguments.")
        check_no_hidden(name, f"argument {position}", args[position])
        found = list(tensors(args[position]))
        if not found:
            raise TypeError(f"For '{name}', the argument at 'grad_position' {position} must be a "
                            f"Tensor or hold Tensors, but got {type(args[position]).__name__}.")
        for tensor in found:
            fits = tensor._raw.is_complex() if holomorphic else tensor._raw.is_floating_point()
            if not fits:
                kind = ("complex with holomorphic=True" if holomorphic else
                        "of a floating type (complex with holomorphic=True)"
                        if tensor._raw.is_complex() else "of a floating type")
                raise TypeError(f"For '{name}', the argument at 'grad_position' {position} must be "
                                f"{kind}, but got {tensor.dtype}.")


def _leaf_indices(positions: tuple[int, ...], args: tuple) -> list[int]:
    """The indices of the differentiated arguments' Tensors among those of all arguments."""
    starts, total = [], 0
    for arg in args:
        starts.append(total)
        total += sum(1 for _ in tensors(arg))
    return [starts[p] + i for p in positions for i, _ in enumerate(tensors(args[p]))]


def _basis(raws: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """For each tensor the unit vectors of all of them together, one a row, in its part of them."""
    total, start, found = sum(raw.numel() for raw in raws), 0, []
    for raw in raws:
        size = raw.numel()
        rows = torch.zeros(total, size, dtype=raw.dtype, device=raw.device)
        rows[start:start + size].fill_diagonal_(1)
        found.append(rows.reshape(total, *raw.shape))
        start += size
    return found
