"""Jacobians of which most elements are zero: `sparse_jacobian`, by few products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..autodiff.forward import linearize
from ..autodiff.pullback import vjp
from ..autodiff.tree import differentiable
from ..autodiff.vmap import vmap
from ..core.require import of_type, one_of
from ..core.state import state
from ..tensors.tensor import Tensor, wrap
from .coloring import column_colors
from .coo import COOTensor
from .csr import CSRTensor
from .dependence import Dependence


def jacobian_structure(fn: Callable[..., Any], x: Tensor, *args: Any) -> Tensor:
    """Which elements of the Jacobian of `fn` can be other than zero.

    Found by sets of input elements that go through the kernels, which run once, at `x`. It holds
    as long as the same kernels run. Of a kernel that moves elements, sums, multiplies or works on
    each element the sets are exact; any other counts as depending on everything. The memory is a
    byte for each pair of an input element and an element of what is computed.

    Args:
        fn: a function of Tensors with one result, a Tensor.
        x: the input to differentiate by.
        args: the other arguments.

    Returns:
        A boolean Tensor (elements of the result, elements of `x`).

    Raises:
        TypeError: if an argument or the result is of the wrong type.

    Examples:
        >>> import lamella as ms
        >>> print(ms.sparse.jacobian_structure(lambda x: x[1:] * x[:-1], ms.ops.ones(3)))
        [[ True  True False]
         [False  True  True]]
    """
    _check(fn, x, "jacobian_structure")
    if state.trace is not None:
        state.trace.refuse("finds the structure of a Jacobian")
    raw = x._raw.detach().clone()
    mode = Dependence(raw)
    with mode:
        result = _single(fn(wrap(raw), *args), "jacobian_structure")
        sets = mode.of(result._raw.contiguous())
    if sets is None:
        return wrap(torch.zeros((result.size, x.size), dtype=torch.bool))
    return wrap(sets.reshape(x.size, -1).T.contiguous())


def sparse_jacobian(fn: Callable[..., Any], structure: Any = None, mode: str = "auto"
                    ) -> Callable[..., COOTensor]:
    """The function that computes the Jacobian of `fn` as a sparse matrix.

    Columns that share no row are found together, by one product in forward mode, or rows that
    share no column in reverse mode: of a matrix with three diagonals three products are all.

    Args:
        fn: a function of Tensors with one result, a Tensor. It is differentiated by the first
            argument.
        structure: which elements can be other than zero: a boolean Tensor or array (elements of
            the result, elements of the input), a COOTensor or CSRTensor of that shape, or a pair of
            row numbers and column numbers. Elements that it leaves out must be zero, or the others
            are wrong. Default: found by `jacobian_structure` in each call; to find it once, give
            what that gave.
        mode: ``"forward"`` by columns, ``"reverse"`` by rows, or ``"auto"``: what takes fewer
            products.

    Returns:
        A function of the arguments of `fn` that gives a COOTensor of the shape above. Derivatives
        pass through its values.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if the structure has another shape, or there is no such mode.

    Examples:
        >>> import lamella as ms
        >>> jacobian = ms.sparse_jacobian(lambda x: x[1:] * x[:-1])
        >>> print(jacobian(ms.Tensor([1.0, 2.0, 3.0])).to_dense())
        [[2. 1. 0.]
         [0. 3. 2.]]
    """
    if not callable(fn):
        raise TypeError(f"For 'sparse_jacobian', 'fn' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    one_of(mode, ("auto", "forward", "reverse"), "mode", "sparse_jacobian")
    plans: dict[tuple, _Plan] = {}  # by the shape of the matrix

    def jacobian(x: Tensor, *args: Any) -> COOTensor:
        _check(fn, x, "sparse_jacobian")
        plan = None
        if structure is None:
            found = jacobian_structure(fn, x, *args)
            plan = _Plan(found, found.shape, mode)

        def of_x(x: Tensor) -> Tensor:
            return _single(fn(x, *args), "sparse_jacobian")

        value, push = linearize(of_x, x) if mode != "reverse" else (None, None)
        pull: Any = None
        if value is None:
            value, pull = vjp(of_x, x)
        shape = (value.size, x.size)
        if plan is None:
            if shape not in plans:
                plans[shape] = _Plan(structure, shape, mode)
            plan = plans[shape]
        if plan.is_forward:
            assert push is not None
            product = vmap(lambda seed: push(seed.reshape(x.shape).astype(x.dtype)).reshape(-1))
        else:
            if pull is None:
                value, pull = vjp(of_x, x)
            product = vmap(lambda seed: pull(
                seed.reshape(value.shape).astype(value.dtype))[0].reshape(-1))
        return plan.of(product)

    return jacobian


class _Plan:
    """Which products give the elements of a sparse matrix, and where in them these are."""

    def __init__(self, structure: Any, shape: tuple[int, ...], mode: str):
        rows, columns = _coordinates(structure, shape)
        self.shape = shape
        entries = rows.tolist(), columns.tolist()
        forward = column_colors(*entries, shape[1]) if mode != "reverse" else None
        reverse = column_colors(entries[1], entries[0], shape[0]) if mode != "forward" else None
        self.is_forward = reverse is None or forward is not None and (
            forward.max(initial=0) <= reverse.max(initial=0))
        colors = forward if self.is_forward else reverse
        assert colors is not None
        count = int(colors.max(initial=-1)) + 1
        self.seeds = Tensor((colors == np.arange(count)[:, None]).astype(np.float32))
        own, other = (columns, rows) if self.is_forward else (rows, columns)
        self.product, self.place = Tensor(colors[own]), Tensor(np.asarray(other, np.int64))
        self.indices = Tensor(np.stack([rows, columns], 1).astype(np.int64))

    def of(self, product: Callable[[Tensor], Tensor]) -> COOTensor:
        """The matrix, of which `product` gives the product with each seed."""
        if not len(self.seeds):
            raise ValueError("For 'sparse_jacobian', the structure must hold an element or more.")
        return COOTensor(self.indices, product(self.seeds)[self.product, self.place], self.shape)


def _coordinates(structure: Any, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The rows and columns of a structure, row by row."""
    if isinstance(structure, CSRTensor):
        structure = structure.to_coo()
    if isinstance(structure, COOTensor):
        given, (rows, columns) = structure.shape, structure.indices.asnumpy().T
    elif isinstance(structure, tuple) and len(structure) == 2:
        rows, columns = (np.asarray(part.asnumpy() if isinstance(part, Tensor) else part)
                         for part in structure)
        given = shape
        if rows.shape != columns.shape or rows.ndim != 1 or not all(
                part.dtype.kind in "iu" for part in (rows, columns)):
            raise ValueError("For 'sparse_jacobian', a pair in 'structure' must be of row numbers "
                             "and as many column numbers.")
        if len(rows) and (min(rows.min(), columns.min()) < 0 or rows.max() >= shape[0]
                          or columns.max() >= shape[1]):
            raise ValueError(f"For 'sparse_jacobian', the numbers in 'structure' must be within "
                             f"the shape {shape}.")
    else:
        dense = structure.asnumpy() if isinstance(structure, Tensor) else np.asarray(structure)
        if dense.ndim != 2:
            raise TypeError(f"For 'sparse_jacobian', 'structure' must be a matrix, a sparse tensor "
                            f"or a pair of row and column numbers, but got "
                            f"{type(structure).__name__}.")
        given, (rows, columns) = dense.shape, np.nonzero(dense)
    if tuple(given) != tuple(shape):
        raise ValueError(f"For 'sparse_jacobian', 'structure' must have shape {tuple(shape)}, but "
                         f"got {tuple(given)}.")
    places = np.unique(np.asarray(rows, np.int64) * shape[1] + np.asarray(columns, np.int64))
    return places // shape[1], places % shape[1]


def _check(fn: Any, x: Any, name: str) -> None:
    if not callable(fn):
        raise TypeError(f"For '{name}', 'fn' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    of_type(x, Tensor, "x", name)
    if not differentiable(x._raw):
        raise TypeError(f"For '{name}', 'x' must be of a floating type, but got {x.dtype}.")


def _single(result: Any, name: str) -> Tensor:
    if not isinstance(result, Tensor):
        raise TypeError(f"For '{name}', 'fn' must give one Tensor, "
                        f"but it gave {type(result).__name__}.")
    return result
