"""Array operators against NumPy and PyTorch, with gradients to second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_gradient, check_op

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
M = RNG.standard_normal((3, 4)).astype(np.float32)
V = RNG.standard_normal(5).astype(np.float32)


def on_torch(function: Any) -> Any:
    """A reference of PyTorch's for NumPy arguments."""
    return lambda *args, **kwargs: function(
        *[torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args], **kwargs)


CASES = {
    "reshape": (ops.reshape, np.reshape, (X, (4, 6))),
    "flatten": (ops.flatten, lambda x: x.reshape(2, 12), (X,)),
    "transpose": (ops.transpose, np.transpose, (X, (2, 0, 1))),
    "swapaxes": (ops.swapaxes, np.swapaxes, (X, 0, 2)),
    "movedim": (ops.movedim, np.moveaxis, (X, (0, 1), (2, 0))),
    "squeeze": (ops.squeeze, lambda x, a: x.squeeze(a), (X[:1], 0)),
    "expand_dims": (ops.expand_dims, np.expand_dims, (X, -2)),
    "broadcast_to": (ops.broadcast_to, np.broadcast_to, (M, (2, 3, 4))),
    "tile": (ops.tile, np.tile, (X, (2, 1, 3))),
    "repeat_elements": (ops.repeat_elements, np.repeat, (X, 3, 1)),
    "repeat_interleave": (ops.repeat_interleave, np.repeat, (M, (1, 0, 2), 0)),
    "flip": (ops.flip, np.flip, (X, (0, 2))),
    "roll": (ops.roll, np.roll, (X, (1, -2), (0, 2))),
    "rot90": (ops.rot90, np.rot90, (M, 3, (0, 1))),
    "diag": (ops.diag, np.diag, (V,)),
    "diagonal": (ops.diagonal, np.diagonal, (X, 1, 0, 2)),
    "diagflat": (ops.diagflat, np.diagflat, (M, -1)),
    "diag_embed": (ops.diag_embed, on_torch(torch.diag_embed), (M, 1, 0, 2)),
    "tril": (ops.tril, np.tril, (X, -1)),
    "triu": (ops.triu, np.triu, (X, 1)),
    "narrow": (ops.narrow, lambda x, a, s, n: x[:, s:s + n], (X, 1, 1, 2)),
    "slice": (ops.slice, lambda x, b, s: x[:, 1:, 2:], (X, (0, 1, 2), (2, 2, -1))),
    "strided_slice": (ops.strided_slice, lambda x, *_: x[:, ::-1, 3:0:-2],
                      (X, (0, -1, 3), (2, -4, 0), (1, -1, -2))),
    "gather": (ops.gather, lambda x, i, a: np.take(x, i, a), (X, np.array([[0, -1], [2, 2]]), 1)),
    "gather_nd": (ops.gather_nd, lambda x, i: x[tuple(i.T)], (X, np.array([[0, 2], [1, 0]]))),
    "gather_elements": (ops.gather_elements, lambda x, d, i: np.take_along_axis(x, i, d),
                        (M, 1, np.array([[0, 0], [3, 1], [2, 2]]))),
    "index_select": (ops.index_select, lambda x, a, i: np.take(x, i, a),
                     (X, 2, np.array([3, 0, 3]))),
    "take": (ops.take, lambda x, i: np.take(x, i), (X, np.array([[0, 23], [5, 5]]))),
    "masked_fill": (ops.masked_fill, lambda x, m, v: np.where(m, np.float32(v), x),
                    (M, M > 0, 9.0)),
    "masked_select": (ops.masked_select, lambda x, m: x[m], (M, M > 0)),
    "where": (ops.where, np.where, (M > 0, M, M * 2)),
    "sort": (ops.sort, lambda x, a: (np.sort(x, a), np.argsort(x, a).astype(np.int32)), (X, 1)),
    "msort": (ops.msort, lambda x: np.sort(x, 0), (M,)),
    "diagonal_scatter": (ops.diagonal_scatter, on_torch(torch.diagonal_scatter), (M, V[:3], 1)),
    "select_scatter": (ops.select_scatter, on_torch(torch.select_scatter), (M, V[:4], 0, 1)),
    "slice_scatter": (ops.slice_scatter, on_torch(torch.slice_scatter), (M, M[:, :2], 1, 0, 4, 2)),
    "index_fill": (ops.index_fill, on_torch(torch.index_fill), (M, 1, np.array([0, 2]), 7.0)),
    "reverse_sequence": (
        ops.reverse_sequence,
        lambda x, n, s, b: np.stack([np.r_[r[:k][::-1], r[k:]] for r, k in zip(x, n, strict=True)]),
        (M, np.array([2, 4, 0]), 1, 0)),
    "matrix_band_part": (ops.matrix_band_part, lambda x, a, b: np.tril(np.triu(x, -a), b),
                         (X, 1, 0)),
    "unstack": (ops.unstack, lambda x, a: list(np.moveaxis(x, a, 0)), (X, 1)),
    "split": (ops.split, lambda x, s, a: np.split(x, [1, 3], a), (M, (1, 2, 1), 1)),
    "tensor_split": (ops.tensor_split, np.array_split, (M, 3, 1)),
    "concat": (ops.concat, np.concatenate, ([M, M * 2], 1)),
    "stack": (ops.stack, np.stack, ([M, M * 2], 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_against_reference(name: str) -> None:
    function, reference, spec = CASES[name]
    check_op(function, reference, spec)


@pytest.mark.parametrize("name", ["update", "add", "sub", "mul", "div", "max", "min"])
def test_scatter_gradients(name: str) -> None:
    places = Tensor([[0, 1], [2, 0]])
    function = getattr(ops, f"tensor_scatter_{name}")
    updates = RNG.standard_normal((2, 4)) + 3
    check_gradient(lambda x, u: function(x, places, u), [X.transpose(1, 0, 2).copy(), updates],
                   (0, 1), order=1 if name in ("mul", "div") else 2)


@pytest.mark.parametrize("name", ["sum", "max", "min"])
def test_segment_gradients(name: str) -> None:
    ids = Tensor([1, 0, 1], ms.int32)
    check_gradient(lambda x: getattr(ops, f"unsorted_segment_{name}")(x, ids, 2), [M], (0,))


def test_concat_gradient_reaches_each() -> None:
    check_gradient(lambda a, b: ops.concat((a, b)), [M, M + 1], (0, 1))
    check_gradient(lambda a, b: ops.stack((a, b), 1), [M, M + 1], (0, 1))


def test_where_with_numbers_keeps_gradient() -> None:
    gradient = ms.grad(lambda x: ops.where(x > 0, x * x, 1.0).sum())(Tensor([2.0, -3.0]))
    np.testing.assert_array_equal(gradient.asnumpy(), [4.0, 0.0])


def test_views_share_memory() -> None:
    x = ops.zeros((2, 3))
    for part in (x.reshape(3, 2), x.transpose(), x.view(6), ops.expand_dims(x, 0), x.split(1)[0]):
        assert part._raw.untyped_storage().data_ptr() == x._raw.untyped_storage().data_ptr()


def test_empty_tensors() -> None:
    none = ops.zeros((0, 3))
    assert ops.concat((none, ops.ones((1, 3)))).shape == (1, 3)
    assert ops.unique(ops.zeros(0))[0].shape == (0,)
    assert ops.nonzero(none).shape == (0, 2)
    assert ops.sort(none)[0].shape == (0, 3)


def test_tensor_repeat_lays_out() -> None:
    x = Tensor([[1, 2]])
    np.testing.assert_array_equal(x.repeat(2, 2).asnumpy(), np.tile(x.asnumpy(), (2, 2)))
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        x.repeat(2, axis=1)
    with pytest.raises(RuntimeError, match="'repeats' must have a number for each of the 2"):
        x.repeat(2)


def test_unique_of_floats_and_tall_fill() -> None:
    values, which = ops.unique(Tensor([2.5, -1.0, 2.5]))
    assert values.tolist() == [2.5, -1.0] and which.dtype == ms.int32
    wrapped = ops.zeros((4, 2)).fill_diagonal(1.0, wrap=True)
    reference = np.zeros((4, 2))
    np.fill_diagonal(reference, 1.0, wrap=True)
    np.testing.assert_array_equal(wrapped.asnumpy(), reference)


@pytest.mark.parametrize("call, error, message", [
    (lambda: ops.strided_slice(Tensor([1]), (0,), (1,), (0,)), ValueError, "no stride may be 0"),
    (lambda: ops.meshgrid(Tensor([1]), indexing="yx"), ValueError, "'xy' or 'ij', but got 'yx'"),
    (lambda: ops.flatten(Tensor([1]), "A"), ValueError, "'C' or 'F', but got 'A'"),
    (lambda: ops.full(3, 1), TypeError, "'size' must be a tuple or list"),
    (lambda: ops.scatter_nd(Tensor([[0]]), Tensor([1.0, 2.0]), (3,)), ValueError,
     r"'updates' must have shape \(1,\)"),
    (lambda: ops.scatter_nd(Tensor([[3]]), Tensor([1.0]), (3,)), RuntimeError, "index 3"),
    (lambda: ops.unsorted_segment_sum(Tensor([1]), Tensor([0]), 0), ValueError, "more than 0"),
    (lambda: ops.concat(()), ValueError, "at least one"),
    (lambda: ops.repeat_elements(ops.ones((1,) * 8), 2), ValueError, "equal to 7, but got 8"),
    (lambda: ops.gather(Tensor([1]), 0, 0), TypeError, "'input_indices' must be a Tensor"),
    (lambda: ops.linspace(0, 1, 0), ValueError, "'steps' must be positive"),
    (lambda: ops.Split(0, 2)(ops.zeros(3)), ValueError, "multiple of 'output_num' 2"),
    (lambda: ops.shape([1]), TypeError, "must be a Tensor, but got"),
])
def test_errors_say_what_arrived(call: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()
