"""The contract of every layer: `check_cell`."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import lamella as ms
from lamella import Tensor, nn
from tests.contracts import STEP, as_tensors, check_gradient, outputs


def check_cell(cls: Callable[..., nn.Cell], args: Sequence[Any] = (), inputs: Sequence[Any] = (), *,
               grad: bool | tuple[int, ...] = True, order: int = 2, train: bool = False,
               half: bool = True, compiled: bool = True, **kwargs: Any) -> nn.Cell:
    """Check a layer built as ``cls(*args, **kwargs)``.

    Checked are: finite outputs that depend on nothing random, and are the same compiled; gradients
    for inputs and trainable parameters by finite differences in float64, of the first and, mixed
    too, the second order; the training flag; copies, pickles and state dictionaries that compute
    the same; the printed form; `to_float`.

    Args:
        inputs: shapes, for random numbers, or arrays.
        grad: whether gradients are checked, or for which inputs; by default for the floating ones.
        order: up to which order.
        train: whether to check gradients in training.
        half: whether the layer computes in float16.
        compiled: whether it compiles.

    Returns:
        The layer, for further checks.
    """
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(i).astype(np.float32)
              if isinstance(i, tuple) and all(isinstance(n, int) for n in i) else i for i in inputs]
    cell = cls(*args, **kwargs)
    before = _results(cell, arrays)
    assert before, "no output"
    assert all(np.isfinite(a).all() for a in before)
    _same(before, _results(cell, arrays))
    if compiled:
        graph = ms.jit(cell, fullgraph=True)
        for _ in range(2):  # recorded, then replayed
            _same([o.asnumpy().copy() for o in outputs(graph(*as_tensors(arrays)))], before)
    _check_training_flag(cell)
    _check_twins(cell, lambda: cls(*args, **kwargs), arrays, before)
    _check_printed(cell, cls(*args, **kwargs))
    if half:
        _check_half(cls(*args, **kwargs), arrays)
    if grad is not False:
        positions = grad if isinstance(grad, tuple) else tuple(
            i for i, a in enumerate(arrays) if isinstance(a, np.ndarray) and a.dtype.kind == "f")
        _check_gradients(cls(*args, **kwargs).set_train(train), arrays, positions, order)
    return cell


def _results(cell: nn.Cell, arrays: Sequence[Any]) -> list[np.ndarray]:
    return [o.asnumpy().copy() for o in outputs(cell(*as_tensors(arrays)))]


def _same(got: list[np.ndarray], want: list[np.ndarray]) -> None:
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-6)


def _check_training_flag(cell: nn.Cell) -> None:
    assert not any(c.training for _, c in cell.cells_and_names())
    assert cell.set_train() is cell
    assert all(c.training for _, c in cell.cells_and_names())
    cell.set_train(False)


def _check_twins(cell: nn.Cell, make: Callable[[], nn.Cell], arrays: Sequence[Any],
                 want: list[np.ndarray]) -> None:
    """A deep copy, a pickle and a new layer with this one's state: the same, and separate."""
    loaded = make()
    state = {name: Tensor(value) for name, value in cell.state_dict().items()}
    assert loaded.load_state_dict(state) == ([], [])
    for twin in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell)), loaded):
        assert type(twin) is type(cell)
        assert [(p.name, p.shape, p.dtype, p.requires_grad) for p in twin.get_parameters()] == [
            (p.name, p.shape, p.dtype, p.requires_grad) for p in cell.get_parameters()]
        _same(_results(twin, arrays), want)
        for mine, its in zip(cell.get_parameters(), twin.get_parameters(), strict=True):
            assert mine is not its
            its.set_data(its + 1)
    _same(_results(cell, arrays), want)


def _check_printed(cell: nn.Cell, other: nn.Cell) -> None:
    def plain(text: str) -> str:
        return re.sub(r"0x[0-9a-f]+", "", text)

    assert str(cell).startswith(f"{type(cell).__name__}(")
    assert str(cell) == repr(cell)
    assert plain(str(cell)) == plain(str(other))


def _check_half(cell: nn.Cell, arrays: Sequence[Any]) -> None:
    types = [p.dtype for p in cell.get_parameters()]
    floating = [o for o in outputs(cell.to_float(ms.float16)(*as_tensors(arrays)))
                if o._raw.is_floating_point()]
    assert all(o.dtype == ms.float16 for o in floating), [o.dtype for o in floating]
    assert [p.dtype for p in cell.get_parameters()] == types


def _check_gradients(cell: nn.Cell, arrays: Sequence[Any], positions: tuple[int, ...],
                     order: int) -> None:
    cell = cell.to(ms.float64)
    frozen = {p.name: p.asnumpy().copy() for p in cell.get_parameters() if not p.requires_grad}

    def call(*tensors: Any) -> Any:
        for parameter in cell.get_parameters():  # running statistics must not drift between calls
            if parameter.name in frozen:
                parameter._data.copy_(Tensor(frozen[parameter.name])._raw)
        return cell(*tensors)

    arrays = [_wide(a) for a in arrays]
    if positions:
        check_gradient(call, arrays, positions, order)
    weights = cell.trainable_params()
    if weights:
        _check_weight_gradients(call, arrays, weights, positions, order)


def _wide(value: Any) -> Any:
    """Floating arrays in float64, also inside tuples."""
    if isinstance(value, tuple):
        return tuple(_wide(v) for v in value)
    return value.astype(np.float64) if getattr(value, "dtype", None) == np.float32 else value


def _check_weight_gradients(call: Callable[..., Any], arrays: Sequence[Any], weights: list,
                            positions: tuple[int, ...], order: int) -> None:
    rng = np.random.default_rng(1)
    tensors = as_tensors(arrays)
    factors = [rng.standard_normal(o.shape) for o in outputs(call(*tensors))]

    def loss(*given: Any) -> Tensor:
        total = Tensor(0.0, ms.float64)
        for out, factor in zip(outputs(call(*given)), factors, strict=True):
            if out.dtype == ms.float64:
                total = total + (out * Tensor(np.asarray(factor))).sum()
        return total

    directions = [rng.standard_normal(w.shape) for w in weights]

    def slope(*given: Any) -> Tensor:
        total = Tensor(0.0, ms.float64)
        found = ms.grad(loss, None, weights)(*given)
        for gradient, direction in zip(found, directions, strict=True):
            total = total + (gradient * Tensor(np.asarray(direction))).sum()
        return total

    start = [w.asnumpy().copy() for w in weights]
    moved = []
    for sign in (1, -1):
        for weight, value, direction in zip(weights, start, directions, strict=True):
            weight.set_data(Tensor(np.asarray(value + sign * STEP * direction)))
        moved.append(float(loss(*tensors)))
    for weight, value in zip(weights, start, strict=True):
        weight.set_data(Tensor(value))
    np.testing.assert_allclose(float(slope(*tensors)), (moved[0] - moved[1]) / (2 * STEP),
                               rtol=1e-4, atol=1e-6)
    if order >= 2 and positions:
        check_gradient(slope, arrays, positions, 1, 1e-3, 1e-5)
