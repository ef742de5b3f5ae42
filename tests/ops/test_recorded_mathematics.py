"""Values, shapes, types and gradients of mathematics, as MindSpore 2.10 gives them on a CPU.

`recorded_mathematics.json` holds expressions and their results, recorded with float32 kernels.
Left out is what MindSpore gets wrong there: `any` of numbers, extremes next to nan, `std` of
integers, gradients of ReduceProd and cumprod at zeros, reductions of nothing, the gradient of
L2Normalize at 0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

RECORDED = json.loads((Path(__file__).parent / "recorded_mathematics.json").read_text())
# of the recorded float32 and float16 kernels
TOLERANCE = {"Float16": 2e-3, "Float32": 1e-4, "Complex64": 1e-4, "Float64": 1e-6,
             "Complex128": 1e-6}


def make(values: Any, dtype: str = "float32") -> Tensor:
    if dtype == "bfloat16":
        return Tensor(np.array(values, dtype="float32"), ms.bfloat16)
    return Tensor(np.array(values, dtype=dtype))


def gradients(function: Any, *args: Tensor) -> tuple[Tensor, ...]:
    return ms.grad(function, grad_position=tuple(range(len(args))))(*args)


NAMES = {"ops": ops, "T": make, "grad": gradients, "np": np, "ms": ms, "Tensor": Tensor}


def check(got: Any, want: Any) -> None:
    if isinstance(want, list):
        assert isinstance(got, (tuple, list)) and len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            check(g, w)
    elif isinstance(want, dict):
        assert str(got.dtype) == want["dtype"]
        assert list(got.shape) == want["shape"]
        values = got.asnumpy().ravel()
        if values.dtype.kind == "c":
            values = np.stack([values.real, values.imag], -1)
        tolerance = TOLERANCE.get(want["dtype"], 0)
        expected = np.array(want["values"], dtype=np.float64).reshape(values.shape)
        np.testing.assert_allclose(values.astype(np.float64), expected, rtol=tolerance,
                                   atol=tolerance * 1e-2)
    else:
        assert repr(got) == want


@pytest.mark.parametrize("family", list(RECORDED))
def test_recorded(family: str) -> None:
    wrong = []
    for source, want in RECORDED[family].items():
        try:
            got = eval(source, dict(NAMES))
            check(got if family != "grads" or isinstance(got, tuple) else (got,), want)
        except (AssertionError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            wrong.append(f"{source}: {type(error).__name__} {str(error)[:300]}")
    assert not wrong, "\n".join(wrong[:20]) + f"\n{len(wrong)} of {len(RECORDED[family])}"
