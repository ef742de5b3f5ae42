"""The ends of what `numpy` takes: the last value inside each limit works, the next is refused."""

import math

import pytest

import lamella as ms
import lamella.numpy as mnp
from lamella import Tensor, ops

from ..limits import check_limits

M, V, S = ops.ones((3, 4)), ops.ones(4), Tensor(1.0)
INTS = Tensor([1, 2, 3], ms.int32)


def cube(rank, length=3):
    return ops.ones((length,) * rank)


LIMITS = {
    # (a call, arguments that it takes, arguments that it refuses)
    "take_along_axis": (lambda i: mnp.take_along_axis(M, i, 1), (ops.zeros((3, 2), ms.int32),),
                        (INTS, ops.zeros((2, 2), ms.int32))),
    "select": (lambda p: mnp.select(*p), (([V > 0], [V]), ([V > 0, V < 0], [V, V])),
               ((True, [V]), ([V > 0], 1), ([V > 0, V < 0], [V]), ([V > 0], [V, V]))),
    "choose": (lambda a: mnp.choose(a, [1, 2]), (INTS, ops.ones(2, ms.int8)), (V, V > 0)),
    "choose mode": (lambda mode: mnp.choose(INTS, [1, 2], mode), ("clip", "wrap"), ("none",)),
    "piecewise": (lambda n: mnp.piecewise(V, [V > 0, V < 0], [1.0] * n), (2, 3), (1, 4)),
    "apply_along_axis": (lambda axis: mnp.apply_along_axis(mnp.sum, axis, M), (-2, 1), (-3, 2)),
    "apply_over_axes": (lambda f: mnp.apply_over_axes(f, M, 0),
                        (mnp.sum, lambda a, axis: a), (lambda a, axis: mnp.sum(a),)),
    "unravel_index": (lambda s: mnp.unravel_index(INTS, s), ((1,), (2, 3)), ((), (0,), (2, 0))),
    "unravel_index order": (lambda o: mnp.unravel_index(INTS, (2,), o), ("C", "F"), ("A",)),
    "ravel_multi_index": (lambda d: mnp.ravel_multi_index((INTS, INTS), d), ((4, 4),),
                          ((4,), (4, 4, 4))),
    "ravel_multi_index mode": (lambda o: mnp.ravel_multi_index((INTS,), (4,), *o),
                               (("clip", "C"), ("wrap", "F")), (("none", "C"), ("clip", "A"))),
    "ravel_multi_index type": (lambda i: mnp.ravel_multi_index(i, (4,)), ((INTS,),), ((V,), 3)),
    "searchsorted rank": (lambda n: mnp.searchsorted(cube(n), 1.0), (1,), (0, 2)),
    "searchsorted side": (lambda s: mnp.searchsorted(V, 1.0, s), ("left", "right"), ("middle",)),
    "digitize rank": (lambda n: mnp.digitize(V, cube(n)), (1,), (0, 2)),
    "bincount rank": (lambda n: mnp.bincount(ops.ones((2,) * n, ms.int32)), (1,), (0, 2)),
    "bincount type": (lambda x: mnp.bincount(x), (INTS,), (V, V > 0)),
    "bincount weights": (lambda w: mnp.bincount(INTS, w), (INTS,), (V, M)),
    "histogram_bin_edges range": (lambda r: mnp.histogram_bin_edges(V, 2, r),
                                  ((0, 1), [1, 1]), ((1, 0), (0,), (0, 1, 2), 3)),
    "histogram_bin_edges rank": (lambda n: mnp.histogram_bin_edges(V, cube(n)), (1,), (0, 2)),
    "histogram weights": (lambda w: mnp.histogram(V, 2, None, w), (V,), (M, INTS)),
    "histogramdd sample": (lambda s: mnp.histogramdd(s, 2), (M, (V, V), [V, V]), (V, cube(3))),
    "histogramdd bins": (lambda b: mnp.histogramdd((V, V), b), (1, (2, 3), Tensor([2, 3])),
                         ((2,), (2, 3, 4), None)),
    "histogramdd range": (lambda r: mnp.histogramdd((V, V), 2, r), (None, [(0, 1), None]),
                          ([(0, 1)], [(0, 1)] * 3)),
    "diff": (lambda n: mnp.diff(V, n), (0, 1, 3), (-1, 4, 1.0)),
    "gradient steps": (lambda s: mnp.gradient(M, *s), ((), (1.0,), (1, Tensor(2.0))),
                       ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0))),
    "gradient length": (lambda n: mnp.gradient(ops.ones((3, n))), (2,), (1,)),
    "unwrap": (lambda d: mnp.unwrap(V, d), (1, 2.5), ("a", None)),
    "interp": (lambda p: mnp.interp(1.0, *p), ((V, V), ([1], [2])), ((V, INTS), (M, M), (V, M))),
    "average": (lambda p: mnp.average(M, *p), ((None, M), (1, V), (-1, V), (0, INTS)),
                ((None, V), ((1,), V), (0, cube(2)))),
    "cov rank": (lambda n: mnp.cov(cube(n)), (0, 1, 2), (3,)),
    "cov size": (lambda n: mnp.cov(ops.ones((2, n))), (2,), (0,)),
    "cov rowvar": (lambda r: mnp.cov(M, rowvar=r), (True, False), (1, None)),
    "cov weights": (lambda w: mnp.cov(M, aweights=w), ([1, 2, 3, 4],), ([1.0, 2.0, 3.0, 4.0],)),
    "polynomial": (lambda n: mnp.polyadd(cube(n), 1), (0, 1), (2,)),
    "polyder": (lambda m: mnp.polyder(V, m), (0, 1, 4), (-1,)),
    "polyint": (lambda m: mnp.polyint(V, m, [1, 2]), (0, 1, 2), (-1, 3)),
    "setdiff1d": (lambda u: mnp.setdiff1d(INTS, INTS, u), (True, False), (1,)),
    "intersect1d": (lambda u: mnp.intersect1d(INTS, INTS, False, u), (True, False), (1,)),
    "meshgrid": (lambda i: mnp.meshgrid(V, V, indexing=i), ("xy", "ij"), ("yx",)),
    "mgrid": (lambda s: mnp.mgrid[s], (slice(1, 3), slice(0, 2)),
              (slice(None, 3), slice(1, None), 3, slice(0.5, 3), slice(0, 3.5))),
    "indices": (lambda d: mnp.indices(d), ((2,), [2, 3]), (2,)),
    "ix_ rank": (lambda n: mnp.ix_(cube(n)), (1,), (0, 2)),
    "hanning": (lambda n: mnp.hanning(n), (0, 1, 2), (1.5,)),
    "bartlett": (lambda n: mnp.bartlett(n), (0, 1, 2), (1.5,)),
    "pad pairs": (lambda w: mnp.pad(M, w), (0, (1, 2), ((1, 2), (3, 4)), ((1, 2),), Tensor([1, 2])),
                  (-1, (1, 2, 3), ((1, 2),) * 3, ((1,), (2,)), ((1, 2), 3), ((0, 0), (0, -1)))),
    "pad mode": (lambda m: mnp.pad(M, 1, m), ("edge", "wrap"), ("ends",)),
    "arange": (lambda p: mnp.arange(*p), ((1,), (0, 1), (3, 2, -1), (0, 0.5)),
               ((0,), (1, 1), (2, 3, -1), (0, 3, 0))),
    "linspace num": (lambda n: mnp.linspace(0, 1, n), (1, 2), (0, 1.0)),
    "linspace endpoint": (lambda e: mnp.linspace(0, 1, 3, e), (True, False), (1,)),
    "linspace axis": (lambda a: mnp.linspace(V, V, 3, axis=a), (-2, 1), (-3, 2)),
    "logspace": (lambda b: mnp.logspace(0, 1, 3, base=b), (2, 2.5), ("a",)),
    "eye": (lambda p: mnp.eye(*p), ((1,), (0,), (2, 3, -1)),
            ((1.0,), (1, 2.0), (1, 2, 0.5), (-1,))),
    "rand": (lambda t: mnp.rand(2, dtype=t), (ms.float16, ms.float32, "float64"),
             (ms.int32, "none")),
    "randint range": (lambda p: mnp.randint(*p), ((1,), (2, 3), (-1, 0)), ((0,), (3, 3), (1.0,),
                                                                        (0, 1.0))),
    "randint type": (lambda t: mnp.randint(2, dtype=t), (ms.int8, ms.int16, ms.int32, ms.int64),
                     (ms.uint8, ms.float32)),
    "dot": (lambda n: mnp.dot(M, ops.ones((n, 5))), (4,), (3, 5)),
    "inner": (lambda n: mnp.inner(M, ops.ones((5, n))), (4,), (3, 5)),
    "cross": (lambda n: mnp.cross(ops.ones((2, n)), ops.ones((2, 3))), (2, 3), (1, 4)),
    "cross second": (lambda n: mnp.cross(ops.ones((2, 3)), ops.ones((2, n))), (2, 3), (1, 4)),
    "multi_dot": (lambda n: mnp.multi_dot([cube(2)] * n), (2, 3), (1, 0)),
    "matrix_power": (lambda n: mnp.matrix_power(cube(2), n), (0, 1, 3), (-1, 0.5)),
    "matrix_power shape": (lambda s: mnp.matrix_power(ops.ones(s), 2), ((2, 2), (4, 3, 3)),
                           ((3,), (2, 3), (3, 3, 2))),
    "norm rank": (lambda n: mnp.norm(cube(n), 1), (1, 2), (0, 3)),
    "norm axes": (lambda a: mnp.norm(cube(3), None, a), (0, (1, 2)), ((0, 1, 2), ())),
    "norm of vectors": (lambda o: mnp.norm(V, o), (None, 0, 1, 2, 3.5, math.inf), ("fro", "nuc")),
    "norm of matrices": (lambda o: mnp.norm(M, o), (None, "fro", 1, -1, math.inf, -math.inf),
                         (0, 3, "all")),
    "convolve": (lambda n: mnp.convolve(cube(n), V), (0, 1), (2,)),
    "convolve empty": (lambda n: mnp.convolve(V, ops.ones(n)), (1,), (0,)),
    "convolve mode": (lambda m: mnp.convolve(V, V, m), ("full", "same", "valid"), ("all",)),
    "expand_dims": (lambda a: mnp.expand_dims(M, a), (-3, 2, (0, 3), (-4, 1)),
                    (-4, 3, (0, 4), (0, 0), 0.5)),
    "moveaxis": (lambda p: mnp.moveaxis(cube(3), *p), ((0, 2), ((0, 1), (1, 2))),
                 ((0, 3), ((0, 1), 2), ((0, 0), (1, 2)))),
    "rollaxis": (lambda n: mnp.rollaxis(cube(3), 1, n), (-3, 0, 3), (-4, 4, 1.5)),
    "rot90": (lambda a: mnp.rot90(cube(3), 1, a), ((0, 2), [1, 2]), ((0,), (0, 1, 2), (0, 3), 1)),
    "roll": (lambda p: mnp.roll(M, *p), ((1, (0, 1)), ((1, 2), 0), ((1, 2), (0, 1))),
             (((1, 2), (0, 1, 1)), ((1, 2, 3), (0, 1)), (1.5,), (1, 0.5), (1, 2), (1, -3))),
    "size": (lambda a: mnp.size(M, a), (None, -2, 1), (-3, 2)),
    "amax initial": (lambda v: mnp.amax(M, initial=v), (1, Tensor(2.0)), ([1], V)),
    "cumprod": (lambda a: mnp.cumprod(M, a), (None, 0, -1), (0.5, (0,))),
    "nanmax": (lambda k: mnp.nanmax(M, 0, None, k), (True, False, 1), ("a", None)),
    "diag rank": (lambda n: mnp.diag(cube(n)), (1, 2), (0, 3)),
    "tril rank": (lambda n: mnp.tril(cube(n)), (1, 2, 3), (0,)),
    "diag_indices": (lambda n: mnp.diag_indices(n), (0, 1), (-1, 1.0)),
    "diag_indices axes": (lambda n: mnp.diag_indices(2, n), (1, 2), (1.0,)),
    "around": (lambda n: mnp.around(V, n), (0, 1), (-1, 0.5)),
    "signbit": (lambda t: mnp.signbit(V, t), (None, bool, ms.bool_, "bool"), (ms.int32,)),
    "array_equal": (lambda e: mnp.array_equal(V, V, e), (True, False), (1,)),
    "result_type": (lambda t: mnp.result_type(*t), ((1,), (1, 2.0), (V, "int8")), ((),)),
    "as_type": (lambda t: mnp.ones(2, t), ("int", "i2", int, float, bool, ms.int8),
                ("nothing", "c8" * 2, 5)),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits(name):
    check_limits(*LIMITS[name])


@pytest.mark.parametrize(("numbers", "kind"), [
    ([2**31 - 1, -2**31], ms.int32), ([[2**31]], ms.int64), ([0, -2**31 - 1], ms.int64)])
def test_integers_take_32_bits_if_they_fit(numbers, kind):
    assert mnp.array(numbers).dtype is kind


@pytest.mark.parametrize(("parameters", "kind"), [
    ((2**31 - 2, 2**31), ms.int32), ((2**31 - 1, 2**31 + 1), ms.int64),
    ((-2**31, -2**31 + 2), ms.int32), ((-2**31 - 1, -2**31), ms.int64),
    ((0, 2**31 + 5, 2**31 - 1), ms.int32)])
def test_ranges_take_32_bits_if_they_fit(parameters, kind):
    found = mnp.arange(*parameters)
    assert found.dtype is kind and found.asnumpy().tolist() == list(range(*parameters))
