"""Reductions and scans with their attributes, beside NumPy."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(6)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)
AXES = [(), 0, -1, (0, 2), (-2,), [1, 2]]


def along(axis):
    """The axes for NumPy."""
    return None if axis == () else tuple(axis) if isinstance(axis, (tuple, list)) else axis


def close(found, wanted, **tolerance):
    np.testing.assert_allclose(found.asnumpy(), wanted, **{"rtol": 1e-5, "atol": 1e-5, **tolerance})
    assert found.shape == np.shape(wanted)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name, function", [
    ("Sum", np.sum), ("Mean", np.mean), ("Max", np.max), ("Min", np.min), ("Prod", np.prod),
    ("All", np.all), ("Any", np.any)])
def test_reductions(name, function, axis, kept):
    x = X > 0.7 if name in ("All", "Any") else X
    close(getattr(ops, f"Reduce{name}")(kept)(Tensor(x), axis), function(x, along(axis),
                                                                         keepdims=kept))


def test_sums_over_no_axes():
    x = Tensor(X)
    close(ops.ReduceSum(False, True)(x, ()), X)
    close(ops.ReduceSum(False, True)(x, []), X)
    close(ops.ReduceSum(False, True)(x, 1), X.sum(1))
    close(ops.ReduceSum()(x, ()), X.sum())
    small = Tensor([100, 100], ms.int8)
    assert ops.ReduceSum()(small).dtype is ms.int8 and ops.ReduceProd()(small).dtype is ms.int8


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("axis", [(), 1, (0, 2)])
@pytest.mark.parametrize("unbiased", [False, True])
def test_deviations(axis, unbiased, kept):
    found = ops.ReduceStd(axis, unbiased, kept)(Tensor(X))
    for part, wanted in zip(found, (np.std(X, along(axis), ddof=int(unbiased), keepdims=kept),
                                    np.mean(X, along(axis), keepdims=kept)), strict=True):
        close(part, wanted)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_places_of_extrema(axis):
    for name, place, value in (("Max", np.argmax, np.max), ("Min", np.argmin, np.min)):
        close(getattr(ops, f"Arg{name.lower()}")(axis)(Tensor(X)), place(X, axis))
        wide = getattr(ops, f"Arg{name.lower()}")(axis, ms.int64)(Tensor(X))
        assert wide.dtype is ms.int64
        for kept in (False, True):
            at, found = getattr(ops, f"Arg{name}WithValue")(axis, kept)(Tensor(X))
            close(found, value(X, axis, keepdims=kept))
            close(at, place(X, axis, keepdims=kept))


def scanned(function, x, axis, exclusive, reverse, start):
    x = np.moveaxis(x, axis, -1)
    x = x[..., ::-1] if reverse else x
    if exclusive:
        x = np.concatenate([np.full_like(x[..., :1], start), x[..., :-1]], -1)
    x = function(x, -1)
    return np.moveaxis(x[..., ::-1] if reverse else x, -1, axis)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scans(axis, reverse, exclusive):
    options, x = (exclusive, reverse), Tensor(X)
    close(ops.CumSum(*options)(x, axis), scanned(np.cumsum, X, axis, *options, 0))
    close(ops.CumProd(*options)(x, axis), scanned(np.cumprod, X, axis, *options, 1))
    close(ops.CumulativeLogsumexp(*options)(x, axis), scanned(
        lambda x, axis: np.logaddexp.accumulate(x, axis), X, axis, *options,
        np.finfo(np.float32).min))
    whole = np.arange(1, 61).reshape(3, 4, 5) % 7
    for name, function, start in (("CumSum", np.cumsum, 0), ("CumProd", np.cumprod, 1)):
        found = getattr(ops, name)(*options)(Tensor(whole, ms.int32), axis)
        close(found, scanned(function, whole, axis, *options, start))
        assert found.dtype is ms.int32


def test_scans_of_a_number():
    assert ops.CumSum()(Tensor(3.0), 0) == 3
    with pytest.raises(ValueError, match="1 dimension or more"):
        ops.CumSum(exclusive=True)(Tensor(3.0), 0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_norms(axis):
    length = np.sqrt((X * X).sum(axis, keepdims=True))
    close(ops.L2Normalize(axis)(Tensor(X)), X / length)
    close(ops.L2Normalize(axis, 9.0)(Tensor(X)), X / np.maximum(length, 3))
    for kept in (False, True):
        close(ops.EuclideanNorm(kept)(Tensor(X), axis), np.linalg.norm(X, 2, axis, kept))
        close(ops.LpNorm(axis, 3, kept)(Tensor(X)), (abs(X) ** 3).sum(axis, keepdims=kept)
              ** (1 / 3))
    assert ops.EuclideanNorm()(Tensor([3, 4], ms.int32), 0).tolist() == 5


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("axes", [None, (0, 2), [-1, 0]])
def test_sums_of_singular_values(axes, kept):
    close(ops.NuclearNorm(axes, kept)(Tensor(X)), np.linalg.norm(
        X, "nuc", (-2, -1) if axes is None else tuple(axes), kept), rtol=1e-4)


@pytest.mark.parametrize("unknown", [False, True])
def test_medians(unknown):
    x = np.where(X > 1, np.float32(np.nan), X)
    raw = torch.from_numpy(x)
    middle, at = ops.Median(True, ignore_nan=unknown)(Tensor(x))
    np.testing.assert_array_equal(middle.asnumpy(), raw.nanmedian() if unknown else raw.median())
    assert at == 0 and at.shape == () and at.dtype is ms.int64
    for axis, kept in ((1, True), (-1, False)):
        found = ops.Median(False, axis, kept, unknown)(Tensor(x))
        wanted = raw.nanmedian(axis, kept) if unknown else raw.median(axis, kept)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.numpy())
    found = ops.Quantile(1, True, unknown)(Tensor(x), 0.3)
    np.testing.assert_allclose(found.asnumpy(), (raw.nanquantile if unknown else raw.quantile)(
        0.3, 1, True).numpy(), rtol=1e-5)


@pytest.mark.parametrize("axes", [None, 1, (0, 2)])
def test_numbers_other_than_0(axes):
    x = (X > 0) * X
    found = ops.CountNonZero(axes)(Tensor(x))
    close(found, np.count_nonzero(x, axes))
    assert found.dtype is ms.int64


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_parts_of_a_range(kind):
    """The ends take what lies outside; a limit belongs to the part above it."""
    x = Tensor([[-9.0, 1.0, 1.9], [2.0, 4.9, 5.0], [6.9, 7.0, 99.0]])
    found = ops.HistogramFixedWidth(3, kind)(x, Tensor([1.0, 7.0]))
    assert found.tolist() == [4, 1, 4]
    assert str(found.dtype) == kind.capitalize()
    assert ops.HistogramFixedWidth(1)(x, Tensor([1.0, 7.0])).tolist() == [9]


def test_sums_of_weights_of_each_number():
    found = ops.Bincount()(Tensor([0, 3, -1, 2, 4, 3], ms.int32), Tensor(4, ms.int32),
                           Tensor([1.0, 2, 4, 8, 16, 32]))
    assert found.tolist() == [1, 0, 8, 34]


def test_sums_of_all_squares():
    y = X[::-1] * 2
    for part, wanted in zip(ops.SquareSumAll()(Tensor(X), Tensor(y)), (X, y), strict=True):
        close(part, (wanted * wanted).sum())
    half = Tensor(X, ms.float16)
    assert ops.SquareSumAll()(half, half)[0].dtype is ms.float16
    for given, kind in (((half, Tensor(X)), TypeError), ((Tensor(X, ms.float64),) * 2, TypeError),
                        ((Tensor(X), Tensor(X[:2])), ValueError)):
        with pytest.raises(kind, match="SquareSumAll"):
            ops.SquareSumAll()(*given)
