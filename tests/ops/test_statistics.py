"""Statistics with each option, beside NumPy, and what they refuse."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RNG = np.random.default_rng(7)
X = RNG.normal(size=(3, 4, 5))
T = Tensor(X)


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-6, atol=1e-9)
    assert found.shape == np.shape(wanted)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("ddof", [0, 1, 2])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)], ids=str)
def test_variances(axis, ddof, kept):
    variance, mean = X.var(axis, ddof=ddof, keepdims=kept), X.mean(axis, keepdims=kept)
    close(ops.var(T, axis, ddof, kept), variance)
    close(ops.std(T, axis, ddof, kept), np.sqrt(variance))
    close(T.var(axis, ddof, kept), variance)
    for found, wanted in ((ops.var_mean(T, axis, ddof, kept), variance),
                          (ops.std_mean(T, axis, ddof, kept), np.sqrt(variance))):
        close(found[0], wanted)
        close(found[1], mean)


@pytest.mark.parametrize("call", [ops.std, lambda x: ops.std_mean(x)[0], ms.numpy.std])
def test_a_variance_beyond_float16(call):
    found = call(Tensor([1000, 0, -1000], ms.float16))
    assert found.dtype is ms.float16 and found.item() == np.float16(np.std([1000, 0, -1000]))


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("axis", [None, 1, -1])
@pytest.mark.parametrize("q", [0, 1, 0.375, [0.0, 0.25, 1.0], (0.5,)], ids=str)
def test_quantiles(q, axis, kept):
    holes = np.where(X > 1, np.nan, X)
    for given in (q, Tensor(np.array(q, np.float32))):
        close(ops.quantile(T, given, axis, kept), np.quantile(X, np.float32(q), axis,
                                                              keepdims=kept))
        close(ops.nanquantile(Tensor(holes), given, axis, kept),
              np.nanquantile(holes, np.float32(q), axis, keepdims=kept))
    for wrong in (-0.1, 1.1, [0.5, 1.1], (-0.1, 0.5)):
        for name in ("quantile", "nanquantile"):
            with pytest.raises(ValueError, match=f"For '{name}', 'q' must be in"):
                getattr(ops, name)(T, wrong)


@pytest.mark.parametrize("least", [0, 3, 9])
def test_counts_and_sums_of_weights(least):
    numbers, weights = np.array([1, 4, 1, 0, 4, 4]), RNG.random(6).astype(np.float32)
    close(ops.bincount(Tensor(numbers), None, least), np.bincount(numbers, None, least))
    close(ops.bincount(Tensor(numbers), Tensor(weights), least),
          np.bincount(numbers, weights, least))
    size = max(least, 5)
    factors = np.arange(1.0, size + 1, dtype=np.float32)
    gradient = ms.grad(lambda w: (ops.bincount(Tensor(numbers), w, least)
                                  * Tensor(factors)).sum())(Tensor(weights))
    close(gradient, factors[numbers])
    found = ops.bincount(Tensor([1.0, 1.5, 2.0, 1.0]), Tensor([1.0, 2, 4, 8]), least)
    assert found.tolist() == [0, 9, 4] + [0] * max(least - 3, 0)
    assert ops.bincount(Tensor([True, False, True])).tolist() == [1, 2]


@pytest.mark.parametrize("call", [
    lambda: ops.bincount(Tensor([[1]])), lambda: ops.bincount(Tensor(1)),
    lambda: ops.bincount(Tensor([1]), None, -1), lambda: ops.histc(T, 0), lambda: ops.histc(T, -1),
    lambda: ops.histc(T, 3, 1.0, 0.5), lambda: ops.median(T, 3), lambda: ops.median(T, -4),
    lambda: ops.nanmedian(Tensor(1.0), 1)])
def test_refused(call):
    with pytest.raises(ValueError, match="^For '"):
        call()


@pytest.mark.parametrize("bins, low, high", [(1, -1.0, 1.0), (4, -1.0, 1.0), (3, 0.0, 0.0)])
def test_histograms(bins, low, high):
    """Of what lies between two numbers; without them of all."""
    ends = (low, high) if low < high else (X.min(), X.max())
    close(ops.histc(T, bins, low, high), np.histogram(X, bins, ends)[0])
    for kind in (ms.int32, ms.float16, ms.bfloat16):
        found = ops.histc(Tensor([1, 2, 2, 4]).astype(kind), 3, 1.0, 4.0)
        assert found.tolist() == [1, 2, 1]
        assert found.dtype is (ms.int32 if kind is ms.int32 else ms.float32)
    assert ops.histc(Tensor([1.0, 1.0]), 2, 1.0, 1.0).sum() == 2


@pytest.mark.parametrize("correction", [0, 1])
@pytest.mark.parametrize("counts, weights", [(None, None), ([1, 2, 1, 3, 1], None),
                                             (None, [0.5, 1, 2, 1, 1]),
                                             ([1, 2, 1, 3, 1], [0.5, 1, 2, 1, 1])])
def test_covariances(correction, counts, weights):
    given = {"fweights": counts, "aweights": weights}
    found = ops.cov(Tensor(X[0]), correction=correction,
                    **{k: None if v is None else Tensor(v) for k, v in given.items()})
    close(found, np.cov(X[0], ddof=correction, **given))
    assert ops.cov(Tensor(X[0], ms.float16)).dtype is ms.float32
    row = ops.cov(Tensor(X[0, 0]))
    close(row, np.cov(X[0, 0]))
    number = Tensor(2.0)
    assert np.isnan(ops.cov(number).asnumpy()) and number == 2


@pytest.mark.parametrize("axis, kept", [(0, False), (1, True), (-1, False)])
def test_medians(axis, kept):
    """The lower one of two in the middle."""
    values, places = ops.median(T, axis, kept)
    order = np.argsort(X, axis)
    at = np.take(order, [(X.shape[axis] - 1) // 2], axis)
    wanted = np.take_along_axis(X, at, axis)
    close(values, wanted if kept else wanted.squeeze(axis))
    close(places, at if kept else at.squeeze(axis))
    holes = np.where(X > 1.5, np.nan, X)
    close(ops.nanmedian(Tensor(holes), axis, kept)[0], ops.median(T, axis, kept)[0].asnumpy()
          if not np.isnan(holes).any() else np.take_along_axis(
              np.sort(holes, axis), np.expand_dims((np.sum(~np.isnan(holes), axis) - 1) // 2, axis),
              axis).squeeze(() if kept else axis))
    assert ops.median(Tensor(3.0))[0] == 3 and ops.nanmedian(Tensor(3.0), 0)[1] == 0
