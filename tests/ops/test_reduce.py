"""Reductions, extremes, statistics, norms and scans against NumPy and SciPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.special as sp

import lamella as ms
from lamella import Tensor, ops
from tests.contracts import check_op

RNG = np.random.default_rng(3)
X = RNG.standard_normal((2, 3, 4)).astype(np.float32)
AXES = [None, (), 0, -1, (0, 2), [1], (0, 1, 2)]


def np_axis(axis):
    return None if axis is None or axis == () else tuple(axis) if isinstance(axis, list) else axis


REDUCTIONS = [
    (ops.mean, np.mean, "keep_dims"), (ops.prod, np.prod, "keep_dims"),
    (ops.amax, np.max, "keepdims"), (ops.amin, np.min, "keepdims"),
    (ops.std, np.std, "keepdims"), (ops.var, np.var, "keepdims"),
    (ops.nansum, np.nansum, "keepdims"), (ops.nanmean, np.nanmean, "keepdims"),
]


@pytest.mark.parametrize(("function", "reference", "keep"), REDUCTIONS,
                         ids=lambda f: getattr(f, "__name__", ""))
def test_reduction(function, reference, keep):
    for axis, kept in itertools.product(AXES, (False, True)):
        if function is ops.prod and axis is None and kept:
            continue
        got = function(Tensor(X), axis=axis, **{keep: kept})
        np.testing.assert_allclose(got.asnumpy(), reference(X, axis=np_axis(axis), keepdims=kept),
                                   rtol=1e-5, atol=1e-6)
    check_op(function, None, (X, 1), (X, (0, 2)))


@pytest.mark.parametrize("axis", AXES)
def test_sum_any_all_count(axis):
    n = np_axis(axis)
    np.testing.assert_allclose(ops.sum(Tensor(X), axis).asnumpy(), X.sum(n), rtol=1e-5)
    np.testing.assert_array_equal(ops.any(Tensor(X > 1), axis).asnumpy(), (X > 1).any(n))
    np.testing.assert_array_equal(ops.all(Tensor(X > -1), axis).asnumpy(), (X > -1).all(n))
    np.testing.assert_array_equal(ops.count_nonzero(Tensor(X > 0), axis).asnumpy(),
                                  np.count_nonzero(X > 0, n))
    np.testing.assert_allclose(ops.logsumexp(Tensor(X), axis).asnumpy() if axis is not None
                               else sp.logsumexp(X), sp.logsumexp(X, n), rtol=1e-5)


def test_forms_of_axes():
    for axis in (np.int64(1), Tensor(1), Tensor([1]), (np.int64(1),)):
        np.testing.assert_allclose(ops.sum(Tensor(X), axis).asnumpy(), X.sum(1), rtol=1e-5)


def test_any_of_numbers():
    # MindSpore 2.10 on a CPU answers False here
    assert bool(ops.any(Tensor([0, 2])))
    assert bool(ops.ReduceAny()(Tensor([0.0, 2.0])))
    assert ops.all(Tensor(np.uint8([1, 2]))).dtype is ms.bool_


def test_types():
    whole = Tensor(np.int32([[1, 2], [3, 5]]))
    assert ops.sum(whole).dtype is ms.int64
    assert ops.ReduceSum()(whole).dtype is ms.int32
    assert ops.mean(whole).dtype is ms.int32 and int(ops.mean(whole)) == 2
    assert int(ops.mean(Tensor(np.int32([-3, -4])))) == -3
    assert ops.cumsum(whole, 0).dtype is ms.int32
    assert ops.prod(whole).dtype is ms.int64
    assert ops.sum(whole, dtype=ms.float16).dtype is ms.float16
    assert ops.argmax(whole).dtype is ms.int64 and ops.argmin(whole).dtype is ms.int32
    assert ops.Argmax()(whole).dtype is ms.int32
    assert ops.bincount(Tensor([1, 2])).dtype is ms.float32


def test_extremes():
    for name in ("max", "min"):
        function, reference = getattr(ops, name), getattr(np, name)
        values, indices = function(Tensor(X), 1, True)
        np.testing.assert_array_equal(values.asnumpy(), reference(X, axis=1, keepdims=True))
        np.testing.assert_array_equal(indices.asnumpy(),
                                      getattr(np, f"arg{name}")(X, axis=1, keepdims=True))
        values, index = function(Tensor(X))
        assert float(values) == reference(X) and int(index) == 0 and index.dtype is ms.int64
        check_op(lambda x, f=function: f(x, 1)[0], None, (X,))
    low, high = ops.aminmax(Tensor(X), axis=2)
    np.testing.assert_array_equal(high.asnumpy() - low.asnumpy(), np.ptp(X, 2))
    np.testing.assert_array_equal(Tensor(X).ptp(2).asnumpy(), np.ptp(X, 2))


def test_max_method_has_three_forms():
    x = Tensor([[1.0, 4.0], [3.0, 2.0]])
    assert float(x.max()) == 4.0
    assert x.max(axis=0).tolist() == [3.0, 4.0]
    values, indices = x.max(0)
    assert values.tolist() == [3.0, 4.0] and indices.tolist() == [1, 0]
    assert x.max(axis=1, return_indices=True)[1].tolist() == [1, 0]
    assert x.min((0, 1)).tolist() == 1.0
    assert x.min(dim=1, keepdim=True)[0].shape == (2, 1)


def test_initial_and_where():
    x, mask = Tensor([1.0, 3.0, 2.0]), Tensor([True, False, True])
    assert float(ops.amax(x, initial=5.0)) == 5.0
    assert float(ops.amax(x, initial=0.0, where=mask)) == 2.0
    assert [float(t) for t in ops.max(x, 0, initial=0.0, where=mask)] == [2.0, 2.0]


def test_gradients_at_ties():
    # of the whole tensor equal elements share the gradient, along an axis the first gets it
    x = Tensor([1.0, 3.0, 3.0])
    for function in (ops.amax, lambda t: ops.max(t)[0], ops.ReduceMax(), lambda t: t.max()):
        assert ms.grad(function)(x).tolist() == [0.0, 0.5, 0.5]
    for function in (lambda t: ops.max(t, 0)[0], lambda t: t.max(axis=0),
                     lambda t: ops.ArgMaxWithValue()(t)[1]):
        assert ms.grad(function)(x).tolist() == [0.0, 1.0, 0.0]
    assert ms.grad(ops.maximum, (0, 1))(x, x)[1].tolist() == [0.5, 0.5, 0.5]
    assert ms.grad(ops.prod)(Tensor([0.0, 2.0, 3.0])).tolist() == [6.0, 0.0, 0.0]
    for function in (ops.norm, ops.std, ops.vector_norm):
        assert np.isnan(ms.grad(function)(Tensor([0.0, 0.0])).asnumpy()).all()


def test_statistics():
    x = X[0]
    for q in (0.3, [0.25, 0.75]):
        np.testing.assert_allclose(ops.quantile(Tensor(x), q, axis=1).asnumpy(),
                                   np.quantile(x, q, axis=1), rtol=1e-5)
    np.testing.assert_allclose(ops.std(Tensor(x), ddof=1).asnumpy(), x.std(ddof=1), rtol=1e-5)
    np.testing.assert_allclose(Tensor(x).var(axis=0, ddof=True).asnumpy(), x.var(0, ddof=1),
                               rtol=1e-5)
    np.testing.assert_allclose(ops.cov(Tensor(x)).asnumpy(), np.cov(x), rtol=1e-5)
    np.testing.assert_allclose(ops.nanquantile(Tensor([1.0, np.nan, 3.0]), 0.5).asnumpy(), 2.0)
    values, indices = ops.median(Tensor(x), 0)
    np.testing.assert_array_equal(values.asnumpy(), np.take_along_axis(
        x, indices.asnumpy()[None], 0)[0])
    np.testing.assert_array_equal(ops.bincount(Tensor([0, 3, 3]), Tensor([1.0, 2.0, 3.0]), 6)
                                  .asnumpy(), np.bincount([0, 3, 3], [1.0, 2.0, 3.0], 6))
    np.testing.assert_array_equal(ops.histc(Tensor(x), 5, -1.0, 1.0).asnumpy(),
                                  np.histogram(x, 5, (-1, 1))[0])
    for mean_of in (ops.var_mean, ops.std_mean):
        assert float(mean_of(Tensor(x))[1]) == pytest.approx(x.mean(), rel=1e-5)


@pytest.mark.parametrize("order", [None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc"])
def test_matrix_norm(order):
    x = X[0]
    got = ops.norm(Tensor(x), order) if order != "fro" else ops.matrix_norm(Tensor(x))
    np.testing.assert_allclose(got.asnumpy(), np.linalg.norm(x, order), rtol=1e-4)
    check_op(lambda t: ops.norm(t, order, (0, 1), True), None, (x,))


@pytest.mark.parametrize("order", [0, 1, 2, 3, 0.5, np.inf, -np.inf])
def test_vector_norm(order):
    np.testing.assert_allclose(ops.norm(Tensor(X), order, 1).asnumpy(),
                               np.linalg.norm(X, order, 1), rtol=1e-4)
    np.testing.assert_allclose(ops.vector_norm(Tensor(X), order).asnumpy(),
                               np.linalg.norm(X.ravel(), order), rtol=1e-4)


def test_distances():
    a, b = X[0], X[1]
    check_op(ops.cdist, lambda x, y, p: np.linalg.norm(x[:, None] - y[None], p, -1),
             (a, b, 3.0), order=1)
    check_op(ops.dist, lambda x, y: np.linalg.norm((x - y).ravel()), (a, b))
    check_op(ops.cosine_similarity, lambda x, y: (x * y).sum(1) / (
        np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)), (a, b))
    for eps, cosines in ((1.0, [1.0, 0.05]), (0.5, [1.0, 0.1])):  # of the lengths' product
        long, short = Tensor([[4.0, 0.0], [0.1, 0.2]]), Tensor([[0.5, 0.0], [0.3, 0.1]])
        np.testing.assert_allclose(ops.cosine_similarity(long, short, 1, eps).asnumpy(), cosines,
                                   rtol=1e-5)
    renormed = ops.renorm(Tensor(a), 2, 0, 1.0).asnumpy()
    assert (np.linalg.norm(renormed, axis=1) <= 1.0001).all()
    check_op(ops.Pdist(), lambda x: np.linalg.norm(x[[0, 0, 1]] - x[[1, 2, 2]], axis=1), (a,),
             order=1)


SCANS = [(ops.cumsum, np.cumsum), (ops.cumprod, np.cumprod),
         (ops.logcumsumexp, lambda a, d: np.log(np.cumsum(np.exp(a), d))),
         (lambda x, d: ops.cummax(x, d)[0], np.maximum.accumulate),
         (lambda x, d: ops.cummin(x, d)[0], np.minimum.accumulate)]


@pytest.mark.parametrize(("function", "reference"), SCANS)
def test_scan(function, reference):
    check_op(function, reference, (X, 1), (X, -1))


def test_scan_primitives():
    x = Tensor([1.0, 2.0, 4.0])
    assert ops.CumSum(exclusive=True)(x, 0).tolist() == [0.0, 1.0, 3.0]
    assert ops.CumSum(reverse=True)(x, 0).tolist() == [7.0, 6.0, 4.0]
    assert ops.CumProd(True, True)(x, 0).tolist() == [8.0, 4.0, 1.0]
    assert ops.Cummin(0)(x)[1].dtype is ms.int32
    with pytest.raises(ValueError, match="must have 1 dimension or more"):
        ops.CumSum(exclusive=True)(Tensor(1.0), 0)
    check_op(ops.diff, np.diff, (X,), (X, 2, 0))
    check_op(ops.trapz, lambda y: (y[..., 1:] + y[..., :-1]).sum(-1) / 2, (X,))
    assert Tensor([[1, 2], [3, 4]]).cumsum().tolist() == [1, 3, 6, 10]


def test_normalizing_primitives():
    check_op(ops.L2Normalize(1), lambda a: a / np.linalg.norm(a, axis=1, keepdims=True), (X,))
    check_op(ops.LpNorm(1, 3, True), lambda a: np.linalg.norm(a, 3, 1, True), (X,))
    std, mean = ops.ReduceStd(1, False)(Tensor(X))
    np.testing.assert_allclose(std.asnumpy(), X.std(1), rtol=1e-4)
    np.testing.assert_allclose(mean.asnumpy(), X.mean(1), rtol=1e-4, atol=1e-6)
    assert ops.Bincount()(Tensor([1, 2, 9], ms.int32), Tensor(3, ms.int32),
                          Tensor([1.0, 1.0, 1.0])).tolist() == [0.0, 1.0, 1.0]
    assert ops.HistogramFixedWidth(5)(Tensor([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]),
                                      Tensor([0.0, 5.0])).tolist() == [2, 1, 1, 0, 2]
    assert str(ops.ReduceSum(True)) == "Prim[ReduceSum]<keep_dims=True, skip_mode=False>"


@pytest.mark.parametrize(("call", "error", "match"), [
    (lambda: ops.sum(Tensor(X), 5), ValueError, r"For 'sum'.*\[-3, 2\].*got 5"),
    (lambda: ops.sum(Tensor(X), 1.5), TypeError, "For 'sum', an axis must be an int.*1.5"),
    (lambda: ops.mean(2.0), TypeError, "For 'mean', the argument 'x'"),
    (lambda: ops.max(Tensor(X), (0, 1)), TypeError, r"'axis' must be an int or None.*\(0, 1\)"),
    (lambda: ops.max(Tensor(np.zeros((0, 2)))), ValueError, r"must have elements.*\(0, 2\)"),
    (lambda: ops.argmax(Tensor(X), (0,)), TypeError, "For 'argmax', the axis must be an int"),
    (lambda: ops.amax(Tensor(X), where=Tensor([True])), ValueError, "'initial' must be given"),
    (lambda: ops.quantile(Tensor(X), 2.0), ValueError, r"'q' must be in \[0, 1\], but got 2.0"),
    (lambda: ops.norm(Tensor(X[0]), 3), ValueError, "For 'norm', 'ord' of a matrix.*got 3"),
    (lambda: ops.norm(Tensor(X), "fro", 1), TypeError, "'ord' of a vector must be a number"),
    (lambda: ops.vector_norm(Tensor(X), "fro"), ValueError, "For 'vector_norm', 'ord'"),
    (lambda: ops.cumsum(Tensor(X), 4), ValueError, "For 'cumsum'.*got 4"),
    (lambda: ops.cumsum(Tensor(X), 1.5), TypeError, "'axis' must be an int, but got 1.5"),
    (lambda: ops.bincount(Tensor([[1]])), ValueError, "For 'bincount'.*one dimension"),
    (lambda: ops.histc(Tensor(X), 0), ValueError, "'bins' must be positive.*bins=0"),
    (lambda: ops.ReduceSum(2), TypeError, "For 'ReduceSum', 'keep_dims' must be a bool, but got 2"),
    (lambda: ops.LpNorm(), TypeError, "For 'LpNorm'.*'axis'"),
])
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call()


@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("total", [
    lambda x: ops.sum(x, dtype=ms.complex64), lambda x: ops.prod(x, dtype=ms.complex64),
    lambda x: ops.cumprod(x, 0, ms.complex64)[-1], lambda x: ops.cumsum(x, 0, ms.complex64)[-1]])
def test_gradients_of_real_numbers_in_a_complex_type(total):
    x = ms.Tensor([1.0, 2.0, 3.0])
    wanted = ms.grad(lambda x: total(x.astype(ms.complex64)).real())(x)
    np.testing.assert_allclose(ms.grad(lambda x: total(x).real())(x).asnumpy(), wanted.asnumpy())


def test_types_that_only_numpy_promotes():
    with pytest.raises(TypeError, match="For primitive\\[Lcm\\]"):
        ops.Lcm()(ms.Tensor([7], ms.uint64), ms.Tensor([6], ms.int64))
    found = ops.searchsorted(ms.Tensor([1, 3], ms.uint64), ms.Tensor([2], ms.int64))
    assert found.tolist() == [1]


@pytest.mark.parametrize("call", [ops.sum, ops.mean, Tensor.sum, Tensor.mean])
def test_all_axes_may_stay(call):
    found = call(Tensor(X), None, True)
    assert found.shape == (1,) * X.ndim and call(Tensor(X), None, False).shape == ()
    np.testing.assert_allclose(found.asnumpy().item(), float(call(Tensor(X))), rtol=1e-6)


@pytest.mark.parametrize("axes", [(0, 3), (-4, 0), (3, 1)])
def test_products_along_axes_that_there_are_not(axes):
    x = ops.ones((2, 3, 4))
    with pytest.raises(ValueError, match=r"'axis' must be in \[-3, 3\)"):
        ops.prod(x, axes)
    assert ops.prod(x, (-3, 2)).shape == (3,) and ops.prod(x, (0, -1), True).shape == (1, 3, 1)
