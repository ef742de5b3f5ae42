"""Operators without a kernel for 16-bit floating-point numbers, computed in float32."""

import numpy as np
import pytest

import lamella as ms
from lamella import ops

A = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)


@pytest.mark.parametrize("kind", [ms.float16, ms.bfloat16])
@pytest.mark.parametrize(
    "name", ["cholesky", "det", "inverse", "pinv", "svd", "slogdet"],
)
def test_results_are_those_of_float32_in_the_argument_s_type(name, kind) -> None:
    wide = getattr(ops, name)(ms.Tensor(A))
    narrow = getattr(ops, name)(ms.Tensor(A).astype(kind))
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (wide, narrow)), strict=True):
        assert b.dtype == kind
        assert np.allclose(a.asnumpy(), b.astype(ms.float32).asnumpy(), rtol=2e-2, atol=2e-2)


def test_gradients_pass() -> None:
    gradient = ms.grad(ops.det)(ms.Tensor(A).astype(ms.float16))
    assert gradient.dtype == ms.float16
    assert np.allclose(gradient.asnumpy(), [[3, -1], [-1, 4]])


def test_compiled() -> None:
    x = ms.Tensor(A).astype(ms.float16)
    assert np.allclose(ms.jit(ops.det)(x).asnumpy(), 11)
