"""The contract of every operator.

`check_op` compares an operator with a reference on given inputs: value, shape and data type, then
its gradient with finite differences in float64, to second order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor

# the relative and absolute error allowed in a result of each type
TOLERANCE = {
    "float16": (2e-3, 2e-3),
    "bfloat16": (2e-2, 2e-2),
    "float32": (2e-5, 2e-6),
    "float64": (1e-10, 1e-12),
    "complex64": (2e-5, 2e-6),
    "complex128": (1e-10, 1e-12),
}
STEP = 1e-5  # of finite differences in float64

# what an error says of the argument that it refuses
EXPECTS = " (must|may|needs|can't|should) "


def check_refused(call: Callable[[], Any]) -> None:
    """A call with an argument that breaks a condition is an error that says what is expected."""
    with pytest.raises((ValueError, TypeError, RuntimeError, KeyError), match=EXPECTS):
        call()


def as_tensors(args: Sequence[Any]) -> list[Any]:
    """The arguments, NumPy arrays as Tensors, also inside tuples and lists."""
    def convert(arg: Any) -> Any:
        if isinstance(arg, np.ndarray):
            return Tensor(arg)
        if isinstance(arg, (tuple, list)) and any(isinstance(a, np.ndarray) for a in arg):
            return type(arg)(convert(a) for a in arg)
        return arg
    return [convert(arg) for arg in args]


def outputs(result: Any) -> list[Tensor]:
    """The Tensors of a result, in order."""
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in outputs(part)]
    return []


def as_arrays(result: Any) -> list[np.ndarray]:
    """A reference's results as arrays: from NumPy, PyTorch or plain numbers."""
    if isinstance(result, (tuple, list)):
        return [a for part in result for a in as_arrays(part)]
    if hasattr(result, "detach"):
        result = result.detach()
        result = (result.float() if str(result.dtype) == "torch.bfloat16" else result).numpy()
    return [np.asarray(result)]


def assert_close(got: Tensor, want: Any, rtol: float | None = None,
                 atol: float | None = None) -> None:
    """Check shape and values; the tolerance follows the Tensor's data type."""
    array = as_arrays(want)[0]
    assert got.shape == array.shape, f"shape {got.shape}, expected {array.shape}"
    relative, absolute = TOLERANCE.get(got.dtype.name, (0, 0))
    np.testing.assert_allclose(
        got.asnumpy().astype(array.dtype) if got.dtype is ms.bfloat16 else got.asnumpy(), array,
        rtol=relative if rtol is None else rtol, atol=absolute if atol is None else atol)


def check_op(function: Callable[..., Any], reference: Callable[..., Any] | None,
             *specs: Sequence[Any], grad: bool | tuple[int, ...] = True, order: int = 2,
             check_dtype: bool = True, rtol: float | None = None, atol: float | None = None,
             compiled: bool = True, **kwargs: Any) -> None:
    """Check an operator on several lists of arguments.

    Args:
        function: the operator; takes Tensors.
        reference: takes the same arguments as NumPy arrays and gives what is expected (arrays,
            PyTorch tensors or numbers); None checks gradients only.
        *specs: lists of arguments; NumPy arrays become Tensors.
        grad: whether to check gradients, or by which arguments; by default all floating arrays.
        order: up to which order.
        check_dtype: whether the type of the result must be the reference's.
        compiled: whether it can be one graph, which gives the same.
        **kwargs: further arguments of both.
    """
    for spec in specs:
        if reference is not None:
            got = outputs(function(*as_tensors(spec), **kwargs))
            want = as_arrays(reference(*spec, **kwargs))
            assert len(got) == len(want), f"{len(got)} outputs, expected {len(want)}"
            for g, w in zip(got, want, strict=True):
                if check_dtype:
                    assert g.asnumpy().dtype == w.dtype, f"{g.dtype}, expected {w.dtype}"
                assert_close(g, w, rtol, atol)
        if compiled:
            check_compiled(lambda *a: function(*a, **kwargs), as_tensors(spec))
        if grad is not False:
            positions = grad if isinstance(grad, tuple) else tuple(
                i for i, a in enumerate(spec) if isinstance(a, np.ndarray) and a.dtype.kind == "f")
            if positions:
                check_gradient(lambda *a: function(*a, **kwargs), spec, positions, order)


def check_compiled(function: Callable[..., Any], args: Sequence[Any]) -> None:
    """Check that a function recorded as one graph, and replayed, gives what it gives eagerly.

    Where values decide about shapes no graph can hold it, and nothing is compared.
    """
    want = outputs(function(*args))
    graph = ms.jit(function, jit_level="O0", fullgraph=True)
    for _ in range(2):
        try:
            got = outputs(graph(*args))
        except RuntimeError as error:
            if "can't be one graph" not in str(error):
                raise
            assert "depends on values for its shape" in str(error), error
            return
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert g.dtype is w.dtype and g.shape == w.shape
            relative, absolute = TOLERANCE.get(g.dtype.name, (0, 0))
            np.testing.assert_allclose(g.float().asnumpy() if g.dtype is ms.bfloat16
                                       else g.asnumpy(), w.float().asnumpy()
                                       if w.dtype is ms.bfloat16 else w.asnumpy(),
                                       rtol=relative, atol=absolute)


def check_gradient(function: Callable[..., Any], args: Sequence[Any], positions: tuple[int, ...],
                   order: int = 2, rtol: float = 1e-4, atol: float = 1e-6) -> None:
    """Compare gradients with central differences in a random direction, in float64.

    Of order 2 the same is done with the gradient itself, dotted with fixed weights.
    """
    rng = np.random.default_rng(len(args) * 7 + sum(np.size(a) for a in args))
    spec = [a.astype(np.float64) if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a
            for a in args]
    weights: list[np.ndarray] = []

    def weighted(*tensors: Any) -> Tensor:
        outs = [o for o in outputs(function(*tensors)) if o.dtype is ms.float64]
        if not weights:
            weights.extend(rng.standard_normal(o.shape) for o in outs)
        total = Tensor(0.0, ms.float64)
        for out, weight in zip(outs, weights, strict=True):
            total = total + (out * Tensor(np.asarray(weight))).sum()
        return total

    _compare(weighted, spec, positions, rng, rtol, atol)
    if order >= 2:
        directions = [Tensor(rng.standard_normal(spec[p].shape)) for p in positions]

        def slope(*tensors: Any) -> Tensor:
            total = Tensor(0.0, ms.float64)
            gradients = _gradients(weighted, positions, tensors)
            for gradient, direction in zip(gradients, directions, strict=True):
                total = total + (gradient * direction).sum()
            return total

        _compare(slope, spec, positions, rng, rtol * 10, atol * 10)


def _gradients(function: Callable[..., Tensor], positions: tuple[int, ...],
               tensors: Sequence[Any]) -> tuple[Tensor, ...]:
    found = ms.grad(function, positions)(*tensors)
    return found if isinstance(found, tuple) else (found,)


def _compare(function: Callable[..., Tensor], spec: Sequence[Any], positions: tuple[int, ...],
             rng: np.random.Generator, rtol: float, atol: float) -> None:
    gradients = _gradients(function, positions, as_tensors(spec))
    directions = [rng.standard_normal(spec[p].shape) for p in positions]
    slope = sum(float((g.asnumpy() * d).sum()) for g, d in zip(gradients, directions, strict=True))
    moved = []
    for sign in (1, -1):
        shifted = list(spec)
        for p, direction in zip(positions, directions, strict=True):
            shifted[p] = spec[p] + sign * STEP * direction
        moved.append(float(function(*as_tensors(shifted)).asnumpy()))
    np.testing.assert_allclose(slope, (moved[0] - moved[1]) / (2 * STEP), rtol=rtol, atol=atol)
