"""Numbers as int8 and products of them, with every input that may be left out."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives import quantized

RNG = np.random.default_rng(3)
X = RNG.normal(size=(2, 3, 4)).astype(np.float32) * 40


def as_int8(x):
    return np.clip(np.rint(x), -128, 127).astype(np.int8)


@pytest.mark.parametrize("twice", [False, True])
def test_scaled_and_moved(twice):
    scale, offset = np.float32([1, 2, 0.5, 3]), np.float32([0, 1, -2, 3.5])
    found = quantized.QuantV2()(Tensor(X), Tensor(scale), Tensor(offset), twice)
    np.testing.assert_array_equal(found.asnumpy(), as_int8(
        X * (scale * scale if twice else scale) + offset))
    assert found.dtype is ms.int8
    ends = Tensor(np.float32([-300, -128.4, -127.5, 0.5, 1.5, 127.4, 300]))
    one, none = Tensor([1.0]), Tensor([0.0])
    found = quantized.QuantV2()(ends, one, none)
    assert found.tolist() == [-128, -128, -128, 0, 2, 127, 127]
    for options in ({"rounding_mode": "FLOOR"}, {"dst_type": ms.int32}):
        with pytest.raises(ValueError, match="must be 'ROUND' and"):
            quantized.QuantV2()(ends, one, none, **options)
    assert quantized.QuantV2()(ends, one, none, rounding_mode="round").shape == (7,)


@pytest.mark.parametrize("smooth", [None, np.float32([1, 2, 0.5, 3])])
def test_rows_with_scales_of_their_own(smooth):
    x = X.copy()
    x[1, 2] = 0
    found, scales = quantized.DynamicQuantExt()(Tensor(x), None if smooth is None else
                                                Tensor(smooth))
    moved = x if smooth is None else x * smooth
    wanted = abs(moved).max(-1) / 127
    np.testing.assert_allclose(scales.asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_array_equal(found.asnumpy(), as_int8(
        moved / np.where(wanted == 0, 1, wanted)[..., None]))
    assert abs(found.asnumpy()).max(-1).tolist() == [[127] * 3, [127, 127, 0]]


A, B = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((2, 3, 4), (2, 4, 5)))
SCALE = np.float32([0.5, 0.25, 1, 2, 0.125]) * 0.01


@pytest.mark.parametrize("kind", [ms.float32, ms.float16, ms.int8])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)], ids=str)
@pytest.mark.parametrize("bias, row, offset", [
    (None, None, None), (np.arange(5, dtype=np.int32) * 100, None, 1.5),
    (np.arange(5, dtype=np.float32), np.float32([1, 2, 3]), None),
    (None, np.float32([1, 2, 3]), -2.5)], ids=range(4))
def test_products(bias, row, offset, turned, kind):
    a, b = (x.swapaxes(1, 2).copy() if flag else x for x, flag in zip((A, B), turned, strict=True))
    given = [None if v is None else Tensor(v) for v in (bias, row)]
    shift = None if offset is None else Tensor(np.float32([offset]))
    found = quantized.QuantBatchMatmul(*turned, kind)(Tensor(a), Tensor(b), Tensor(SCALE), shift,
                                                      *given)
    wanted = A.astype(np.int64) @ B.astype(np.int64)
    if bias is not None and bias.dtype == np.int32:
        wanted = wanted + bias
    wanted = wanted.astype(np.float32) * SCALE
    wanted = wanted if row is None else wanted * row[:, None]
    if bias is not None and bias.dtype == np.float32:
        wanted = wanted + bias
    if kind is ms.int8:  # the offset counts there alone
        wanted = as_int8(wanted + (offset or 0))
    assert found.dtype is kind
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5 if kind is ms.float32 else 1e-3,
                               atol=1e-5)


def test_scales_in_the_bits_of_whole_numbers():
    bits = SCALE.view(np.int32).astype(np.int64)
    plain = quantized.QuantBatchMatmul(dtype=ms.float32)(Tensor(A), Tensor(B), Tensor(SCALE))
    for kind in (np.int64, np.uint64):
        found = quantized.QuantBatchMatmul(dtype=ms.float32)(Tensor(A), Tensor(B),
                                                             Tensor(bits.astype(kind)))
        np.testing.assert_array_equal(found.asnumpy(), plain.asnumpy())
