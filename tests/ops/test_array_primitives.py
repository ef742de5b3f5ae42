"""Primitives for arrays and images; the calls in `recorded_array_primitives.json`, with what
MindSpore 2.10 on a CPU gave for each: types, shapes, elements."""

import json
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor as T
from lamella import mint, ops

from ..contracts import check_op

RECORDED = json.loads(Path(__file__).with_name("recorded_array_primitives.json").read_text())


def R(*shape):  # noqa: N802  (short, as the calls are recorded)
    """Numbers between -2 and 2, the same for a shape at each call."""
    drawn = np.random.RandomState(sum(shape)).rand(*shape) * 4 - 2
    return T(drawn.astype(np.float32).round(3))


@pytest.mark.parametrize("call", list(RECORDED), ids=lambda call: call.split("(")[0][4:])
def test_recorded(call):
    found = eval(call, {"ops": ops, "T": T, "R": R, "ms": ms})  # noqa: S307
    found = found if isinstance(found, tuple) else (found,)
    for got, (kind, shape, elements) in zip(found, RECORDED[call], strict=True):
        assert (str(got.dtype), list(got.shape)) == (kind, shape)
        np.testing.assert_allclose(got.asnumpy().reshape(-1), elements, atol=2e-6)


X = np.random.default_rng(0).uniform(0.1, 0.9, (4, 3))
IDS = np.array([0, 0, 1, 3])


def segments(combine):
    return lambda x: np.stack([combine(x[IDS == n]) if (IDS == n).any() else
                               (np.ones(3) if combine is np.prod else np.zeros(3))
                               for n in range(4)])


@pytest.mark.parametrize("operator, reference", [
    (lambda x: ops.SegmentSum()(x, T(IDS)), segments(lambda p: p.sum(0))),
    (lambda x: ops.SegmentMean()(x, T(IDS)), segments(lambda p: p.mean(0))),
    (lambda x: ops.SegmentMax()(x, T(IDS)), segments(lambda p: p.max(0))),
    (lambda x: ops.HSVToRGB()(ops.RGBToHSV()(x)), lambda x: x),
    (lambda x: ops.AdjustSaturation()(x, T(1.0, ms.float32)), lambda x: x),
    (lambda x: ops.AdjustHue()(x, T(1.0, ms.float32)), lambda x: x),
    (lambda x: ops.SpaceToBatch(2, [[0, 0], [0, 1]])(x.reshape(1, 1, 4, 3)),
     lambda x: np.stack([np.pad(x, ((0, 0), (0, 1)))[a::2, b::2][None]
                         for a in (0, 1) for b in (0, 1)])),
    (lambda x: ops.BatchToSpace(2, [[0, 0], [0, 1]])(ops.SpaceToBatch(2, [[0, 0], [0, 1]])(
        x.reshape(1, 1, 4, 3))), lambda x: x.reshape(1, 1, 4, 3)),
    (lambda x: ops.BatchToSpaceNDV2()(x.reshape(4, 1, 1, 3), (1, 2, 2), ((0, 0), (0, 0), (0, 1))),
     lambda x: x.reshape(2, 2, 1, 3).transpose(2, 0, 3, 1).reshape(1, 1, 2, 6)[..., :5]),
    (lambda x: ops.LerpScalar()(x, x * 2, 0.25), lambda x: x * 1.25),
    (lambda x: ops.NthElement()(x, 1), lambda x: np.sort(x)[:, 1]),
], ids=range(11))
def test_values_and_gradients(operator, reference):
    check_op(operator, reference, [X])


@pytest.mark.parametrize("call, kind, text", [
    (lambda: ops.CheckNumerics()(T([1.0, np.nan])), RuntimeError, "infinite or nan"),
    (lambda: ops.CompareAndBitpack()(ops.ones(7), T(0.0)), ValueError, "multiple of 8"),
    (lambda: ops.DataFormatDimMap("NHWX"), ValueError, "letters N, C, H"),
    (lambda: ops.DataFormatDimMap()(T([4])), ValueError, r"in \[-4, 4\)"),
    (lambda: ops.DataFormatVecPermute()(T([1, 2])), ValueError, r"shape \(4,\)"),
    (lambda: ops.DiagPart()(ops.ones((2, 3))), ValueError, "halves of the shape"),
    (lambda: ops.RGBToHSV()(ops.ones((2, 2))), ValueError, "3 elements"),
    (lambda: ops.RGBToHSV()(ops.ones((2, 3), ms.int32)), TypeError, "type of .*Float32"),
    (lambda: ops.LowerBound(ms.float32), TypeError, "int32 or int64"),
    (lambda: ops.LowerBound()(ops.ones(2), ops.ones(2)), ValueError, "2 dimensions"),
    (lambda: ops.NthElement()(ops.ones(3), 3), ValueError, r"in \[0, 3\)"),
    (lambda: ops.SegmentSum()(ops.ones(3), T([0, 2, 1])), ValueError, "must ascend"),
    (lambda: ops.SegmentSum()(ops.ones(3), T([0, 2])), ValueError, "one number for each"),
    (lambda: ops.MaxPoolWithArgmax(pad_mode="full")(ops.ones((1, 1, 2, 2))), ValueError,
     "'pad_mode' must be"),
    (lambda: ops.UpsampleNearest3D()(ops.ones((1, 1, 2))), ValueError, "5 dimensions"),
    (lambda: ops.UpsampleNearest3D()(ops.ones((1, 1, 2, 2, 2))), ValueError, "either"),
], ids=range(16))
def test_wrong_arguments(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_runs_with_positions_or_counts_alone():
    x = T([1, 1, 2, 2, 2, 1])
    values, inverse, counts = [1, 2, 1], [0, 0, 1, 1, 1, 2], [2, 3, 1]
    for function in (ops.unique_consecutive, mint.unique_consecutive):
        for options, wanted in (((True, True), (values, inverse, counts)),
                                ((True, False), (values, inverse)),
                                ((False, True), (values, counts))):
            assert tuple(v.tolist() for v in function(x, *options)) == wanted
            named = dict(zip(("return_inverse", "return_counts"), options, strict=True))
            assert tuple(v.tolist() for v in function(x, **named, dim=0)) == wanted
        assert function(x).tolist() == values


@pytest.mark.parametrize("k", [-2, 1])
@pytest.mark.parametrize("given", [{}, {"num_rows": 6}, {"num_cols": 6}])
def test_a_matrix_of_a_diagonal_is_as_small_as_can_be(k, given):
    found = ops.matrix_diag(T([1.0, 2.0]), k=k, **given).asnumpy()
    wide, high = 2 + max(k, 0), 2 - min(k, 0)
    side = max(wide, high)
    shape = (given.get("num_rows", high), given.get("num_cols", wide)) if given else (side, side)
    wanted = np.zeros((8, 8), "f4")
    wanted[range(max(-k, 0), max(-k, 0) + 2), range(max(k, 0), max(k, 0) + 2)] = 1, 2
    np.testing.assert_array_equal(found, wanted[:shape[0], :shape[1]])
