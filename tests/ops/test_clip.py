"""Clipping of values and of norms."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op

X = np.array([[0.0, 1.0, 1.5], [2.0, 3.0, -4.0]], np.float32)
NORMS = sys.modules["lamella.ops.clip"]  # not the function of this name


def test_values():
    for low, high in ((0.5, 2.5), (None, 1.2), (0.2, None), (3.0, 2.0)):
        check_op(ops.clamp, lambda a, b, c: np.clip(a, b, c), (X, low, high))
        check_op(ops.clip_by_value, lambda a, b, c: np.clip(a, b, c), (X, low, high))
    low = Tensor([0.5, 0.5, 1.0])
    np.testing.assert_array_equal(Tensor(X).clip(low, 2).asnumpy(),
                                  np.clip(X, low.asnumpy(), 2))
    assert ops.clamp(Tensor(np.int32([1, 4])), 1.5, 2.5).dtype is ms.float32
    assert ops.clip_by_value(Tensor(np.int32([1, 4])), 1.5, 2.5).tolist() == [1, 2]
    pair = ops.clip_by_value([Tensor(X), Tensor(X)], 0, 1)
    assert isinstance(pair, tuple) and len(pair) == 2
    x = Tensor(X)
    assert x.clamp_(0, 1) is x and float(x.max()) == 1.0


@pytest.mark.parametrize("low, high", [(-0.5, 1.5), (None, 1.5), (0.0, None)])
@pytest.mark.parametrize("stops", [False, True])
def test_the_gradient_at_a_bound_is_1(low, high, stops, monkeypatch):
    """Also by PyTorch's versions whose own kernel stops it there."""
    monkeypatch.setattr(sys.modules["lamella.ops.clip"], "STOPS_AT_BOUNDS", stops)
    x = Tensor(np.array([-1, -0.5, 0, 1, 1.5, 2, np.nan], np.float32))
    want = np.clip(x.asnumpy(), low, high)
    np.testing.assert_array_equal(ops.clamp(x, low, high).asnumpy(), want)
    bounds = [None if b is None else Tensor(np.full(7, b, np.float32)) for b in (low, high)]
    for pair in ((low, high), bounds):
        inside = ms.grad(lambda x, pair=pair: ops.clamp(x, *pair).sum())(x).asnumpy()
        np.testing.assert_array_equal(inside[:6], (want == x.asnumpy())[:6])


def test_bounds_beyond_the_type():
    x = Tensor([0, 1, 2], ms.int8)
    assert ops.clamp(x, -300, 300).tolist() == [0, 1, 2]
    assert ops.clamp(Tensor([0, 1], ms.uint8), -300, 300).tolist() == [0, 1]
    assert ops.clamp(Tensor([1.0], ms.float16), -1e9, 1e9).tolist() == [1.0]
    assert ops.clamp(Tensor([1.0], ms.float16), 1e9).tolist() == [float("inf")]
    with pytest.raises(ValueError, match="'min' must leave a number between -128 and 127"):
        ops.clamp(x, 300)
    with pytest.raises(ValueError, match="'max' must leave a number between 0 and 255"):
        ops.clamp(Tensor([0], ms.uint8), max=-1)


def test_gradients_at_the_bounds():
    # MindSpore's clamp passes the gradient there, its clip_by_value half of it
    x = Tensor([0.0, 1.0, 1.5, 2.0, 3.0])
    assert ms.grad(lambda t: ops.clamp(t, 1, 2))(x).tolist() == [0, 1, 1, 1, 0]
    assert ms.grad(lambda t: ops.clip_by_value(t, 1, 2))(x).tolist() == [0, 0.5, 1, 0.5, 0]


def test_global_norm():
    tensors = [np.float32([3.0, 0.0]), np.float32([[4.0]])]
    out = ops.clip_by_global_norm([Tensor(t) for t in tensors], 2.0)
    assert isinstance(out, tuple)
    np.testing.assert_allclose(out[0].asnumpy(), [1.2, 0.0], rtol=1e-6)
    np.testing.assert_allclose(out[1].asnumpy(), [[1.6]], rtol=1e-6)
    same = ops.clip_by_global_norm(tuple(Tensor(t) for t in tensors), 100.0)
    np.testing.assert_array_equal(same[0].asnumpy(), tensors[0])
    mixed = ops.clip_by_global_norm([Tensor(np.float16([3.0])), Tensor([4.0])])
    assert [str(t.dtype) for t in mixed] == ["Float16", "Float32"]
    assert np.isnan(ops.clip_by_global_norm([Tensor([np.inf])])[0].asnumpy()).all()
    assert ops.clip_by_global_norm([Tensor([0.0])])[0].tolist() == [0.0]
    check_op(lambda a, b: ops.clip_by_global_norm([a, b], 0.5), None, (X, X[0]))


def test_norm():
    for order in (1.0, 2.0, 3.0, np.inf):
        got = ops.clip_by_norm(Tensor(X), 1.0, order).asnumpy()
        np.testing.assert_allclose(got, X / np.linalg.norm(X.ravel(), order), rtol=1e-5)
        check_op(lambda a, p=order: ops.clip_by_norm(a, 1.0, p), None, (X,), order=1)
    assert isinstance(ops.clip_by_norm([Tensor(X)], 1.0), tuple)
    np.testing.assert_array_equal(ops.clip_by_norm(Tensor(X), 100.0).asnumpy(), X)


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.clamp(Tensor(X)), ValueError, "For 'clamp', at least one of 'min' or 'max'"),
    (lambda: ops.clip_by_value(Tensor(X)), ValueError, "For 'clip_by_value', one of"),
    (lambda: ops.clip_by_global_norm([Tensor(X)], 0.0), ValueError, "must be positive.*0.0"),
    (lambda: ops.clip_by_global_norm([Tensor(X)], use_norm=1.0), ValueError, "'use_norm'.*1.0"),
    (lambda: ops.clip_by_global_norm(5), TypeError, "must be a tuple or list of Tensors.*5"),
    (lambda: ops.clip_by_norm(Tensor([np.inf]), 1.0, error_if_nonfinite=True), RuntimeError,
     "must be finite"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("kind, least, most", [
    (ms.int8, -128, 127), (ms.uint8, 0, 255), (ms.int16, -2**15, 2**15 - 1),
    (ms.int32, -2**31, 2**31 - 1)])
def test_bounds_at_the_ends_of_a_type(kind, least, most):
    x = Tensor([least, 0, 1, most], kind)
    for low, high in ((least, most), (least - 1, most + 1), (least - 1, None), (None, most + 1)):
        found = ops.clamp(x, low, high)
        assert found.dtype is kind and found.tolist() == x.tolist()
    assert ops.clamp(x, most).tolist() == [most] * 4
    assert ops.clamp(x, None, least).tolist() == [least] * 4
    with pytest.raises(ValueError, match="'min' must leave a number"):
        ops.clamp(x, most + 1)
    with pytest.raises(ValueError, match="'max' must leave a number"):
        ops.clamp(x, max=least - 1)


def test_infinite_and_undefined_bounds():
    x = Tensor([-1.0, 2.0], ms.float16)
    assert ops.clamp(x, -1e6, 1e6).tolist() == [-1, 2]
    assert ops.clamp(x, -np.inf, 1.0).tolist() == [-1, 1]
    assert ops.clamp(x, None, -1e6).tolist() == [-np.inf] * 2
    assert np.isnan(ops.clamp(x, float("nan")).asnumpy()).all()


@pytest.mark.parametrize("low, high", [
    (Tensor([0.5, 0.5, 1.0]), 2), (0.5, Tensor([[1.0], [2.5]])), (Tensor([0.5, 0.5, 1.0]), None),
    (None, Tensor([[1.0], [2.5]])), (Tensor([0.0, 0.5, 1.0]), Tensor([[1.0], [2.5]]))])
def test_bounds_that_broadcast(low, high):
    numbers = [b.asnumpy() if isinstance(b, Tensor) else b for b in (low, high)]
    want = np.clip(X, *numbers)
    np.testing.assert_array_equal(ops.clamp(Tensor(X), low, high).asnumpy(), want)
    np.testing.assert_array_equal(ops.clip_by_value(Tensor(X), low, high).asnumpy(), want)
    y = Tensor(X)
    assert ops.clamp_(y, low, high) is y
    np.testing.assert_array_equal(y.asnumpy(), want)


def test_bounds_of_another_type_and_no_rank():
    x = Tensor([1, 4], ms.int32)
    found = ops.clamp(x, Tensor(1.5), Tensor(2.5, ms.float64))
    assert found.dtype is ms.float64 and found.tolist() == [1.5, 2.5]
    assert ops.clamp(x, Tensor(2)).dtype is ms.int64
    with pytest.raises(ValueError, match="For 'clamp_', at least one"):
        ops.clamp_(x)


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 3.0, np.inf, -np.inf])
@pytest.mark.parametrize("bound", [0.5, 2, 100.0])
def test_norms_of_several_tensors(order, bound):
    parts = [np.array([3.0, -1.0]), np.array([[0.5], [4.0]])]
    whole = np.concatenate([p.ravel() for p in parts])
    factor = min(bound / (np.linalg.norm(whole, order) + 1e-6), 1)
    found = ops.clip_by_norm([Tensor(p) for p in parts], bound, order)
    for own, part in zip(found, parts, strict=True):
        np.testing.assert_allclose(own.asnumpy(), part * factor, rtol=1e-9)


@pytest.mark.parametrize("order", [np.inf, -np.inf, -1.0])
def test_magnitudes_of_nothing(order):
    nothing = Tensor(np.zeros(0, np.float32))
    with pytest.raises(ValueError, match="each Tensor must have elements"):
        ops.clip_by_norm([Tensor([1.0]), nothing], 1.0, order)
    assert ops.clip_by_norm([Tensor([3.0]), nothing], 1.5)[0].tolist() == pytest.approx([1.5])


def test_types_of_options_of_norms():
    for wrong in ("1", None):
        with pytest.raises(TypeError, match="'max_norm' must be a number"):
            ops.clip_by_norm(Tensor(X), wrong)
    with pytest.raises(TypeError, match="'error_if_nonfinite'"):
        ops.clip_by_norm(Tensor(X), 1.0, error_if_nonfinite=1)
    for wrong in (np.nan, np.inf):
        with pytest.raises(RuntimeError, match="must be finite"):
            ops.clip_by_norm(Tensor([wrong, 1.0]), 1.0, error_if_nonfinite=True)
    ops.clip_by_norm(Tensor(X), 1.0, error_if_nonfinite=True)
    whole = ops.clip_by_norm(Tensor([3, 4]), 2.5)
    np.testing.assert_allclose(whole.asnumpy(), [1.5, 2], rtol=1e-6)
    single = ops.clip_by_global_norm(Tensor([3.0, 4.0]), 2.5)
    np.testing.assert_allclose(single.asnumpy(), [1.5, 2], rtol=1e-6)
    assert ops.clip_by_global_norm([Tensor([3.0, 4.0])], 5)[0].tolist() == [3, 4]


@pytest.mark.parametrize("order", [0.5, 1, 2, 3, float("inf")])
def test_the_norm_over_stages_of_which_there_is_one(order):
    parts = [np.float32([[3, -4], [1, 0.5]]), np.float32([-6]), np.float32([0.25, 2, 0.125])]
    found = NORMS._norm_over_stages([Tensor(part)._raw for part in parts], order)
    whole = np.concatenate([part.ravel() for part in parts])
    assert float(found) == pytest.approx(np.linalg.norm(whole, order), rel=1e-5)
    assert float(NORMS._norm_over_stages([], order)) == 0.0


@pytest.mark.parametrize("order", [0, -1.0, -float("inf")])
def test_stages_have_no_norm_of_an_order_of_0_or_less(order):
    with pytest.raises(ValueError, match="must be above 0"):
        NORMS._norm_over_stages([Tensor([1.0])._raw], order)


@pytest.mark.parametrize("order", [0, 0.5, 1])
def test_empty_tensors_add_nothing_to_norms_that_are_sums(order):
    raws = [Tensor(values)._raw.float() for values in ([], [3.0, 3.0], [2.0])]
    wanted = torch.nn.utils.get_total_norm(raws, order)
    assert float(NORMS._total_norm(raws, order)) == pytest.approx(float(wanted))


@pytest.mark.parametrize("kind", [ms.float16, ms.bfloat16])
@pytest.mark.parametrize("call", [lambda x: ops.clip_by_global_norm(x, 1.0),
                                  lambda x: ops.clip_by_norm(x, 1.0)])
def test_norms_beyond_float16(kind, call):
    values = np.array([60000, -60000, 30000, 20000.0])
    want = values / np.linalg.norm([*values, 3.0])
    assert call([Tensor([60000.0, 60000.0], kind)])[0].max() < 0.75
    given = [Tensor(values, kind), Tensor([3.0])]
    for found in (call(given)[0], ms.vmap(lambda x: call([x, given[1]])[0])(given[0][None])[0]):
        assert found.dtype is kind
        np.testing.assert_allclose(found.float().asnumpy(), want, rtol=1e-2)


@pytest.mark.parametrize("order", [-1, float("inf"), -float("inf")])
def test_empty_tensors_have_no_least_or_largest_magnitude(order):
    with pytest.raises(ValueError, match="each Tensor must have elements"):
        NORMS._total_norm([Tensor([3.0])._raw, Tensor([])._raw.float()], order)
