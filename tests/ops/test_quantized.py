"""int8 primitives against NumPy."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.ops.primitives.quantized import DynamicQuantExt, QuantBatchMatmul, QuantV2

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6)).astype(np.float32)
A = RNG.integers(-128, 128, (2, 3, 5)).astype(np.int8)
B = RNG.integers(-128, 128, (2, 5, 4)).astype(np.int8)
SCALE = RNG.random(4).astype(np.float32) / 100


def test_quant():
    scale, offset = RNG.random(6).astype(np.float32) * 99, RNG.random(6).astype(np.float32)
    for root, factor in ((False, scale), (True, scale * scale)):
        found = QuantV2()(Tensor(X), Tensor(scale), Tensor(offset), root)
        expected = np.clip(np.round(X * factor + offset), -128, 127).astype(np.int8)
        assert np.abs(found.asnumpy().astype(int) - expected).max() <= (1 if root else 0)
        assert found.dtype is ms.int8
    with pytest.raises(ValueError, match="'rounding_mode' must be 'ROUND'"):
        QuantV2()(Tensor(X), Tensor(scale), Tensor(offset), False, "FLOOR")


def test_dynamic_quant():
    smooth = RNG.random(6).astype(np.float32)
    for given, x in ((None, X), (Tensor(smooth), X * smooth)):
        numbers, scale = DynamicQuantExt()(Tensor(X), given)
        np.testing.assert_allclose(scale.asnumpy(), np.abs(x).max(1) / 127, rtol=1e-6)
        np.testing.assert_allclose(numbers.asnumpy() * scale.asnumpy()[:, None], x,
                                   atol=float(scale.max()) / 2 + 1e-6)
    numbers, scale = DynamicQuantExt()(Tensor(np.zeros((1, 3), np.float32)))
    assert numbers.tolist() == [[0, 0, 0]] and scale.tolist() == [0.0]


@pytest.mark.parametrize("kind", [ms.float32, ms.float16, ms.bfloat16])
def test_products(kind):
    bias, rows = np.arange(4, dtype=np.int32) * 100, RNG.random(3).astype(np.float32)
    whole = A.astype(int) @ B.astype(int)
    tolerance = {ms.float32: 1e-5, ms.float16: 1e-3, ms.bfloat16: 1e-2}[kind]
    for extra, expected in (
            ({}, whole * SCALE), ({"bias": Tensor(bias)}, (whole + bias) * SCALE),
            ({"pertokenScaleOptional": Tensor(rows)}, whole * SCALE * rows[:, None]),
            ({"bias": Tensor(SCALE)}, whole * SCALE + SCALE)):
        found = QuantBatchMatmul(dtype=kind)(Tensor(A), Tensor(B), Tensor(SCALE), **extra)
        assert found.dtype is kind
        np.testing.assert_allclose(found.astype(ms.float32).asnumpy(), expected, rtol=tolerance,
                                   atol=tolerance)


def test_exchanged_axes_and_scales_as_bits():
    bits = Tensor(SCALE.view(np.int32).astype(np.int64))
    found = QuantBatchMatmul(True, True, ms.float32)(
        Tensor(A.swapaxes(1, 2).copy()), Tensor(B.swapaxes(1, 2).copy()), bits)
    np.testing.assert_allclose(found.asnumpy(), A.astype(int) @ B.astype(int) * SCALE, rtol=1e-5)
    small = QuantBatchMatmul(dtype=ms.int8)(Tensor(A), Tensor(B), bits, Tensor([1.0]))
    assert small.dtype is ms.int8
