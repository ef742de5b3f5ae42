"""Values, shapes, types and errors of array operators, as MindSpore 2.10 gives them on a CPU.

`recorded_arrays.json` holds expressions with a printed form of their results, and others with the
type of the error they raise.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, mint, ops

RECORDED = json.loads((Path(__file__).parent / "recorded_arrays.json").read_text())
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def names() -> dict[str, Any]:
    """What the recorded expressions refer to."""
    x = Tensor(np.arange(6).reshape(2, 3), ms.float32)
    return {
        "ms": ms, "ops": ops, "mint": mint, "np": np, "Tensor": Tensor, "x": x, "n": x + 0,
        "i": x.astype(ms.int32), "h": x.astype(ms.float16), "i64": Tensor([1, 2]),
        "ix": Tensor([0, 1], ms.int32), "v4": Tensor([1.0, 2.0, 3.0, 4.0]),
        "I": Tensor([[0], [2]]), "U": Tensor([9.0, 8.0]),
        "par": lambda v, dt=ms.float32: ms.Parameter(Tensor(v, dt), name="p"),
    }


def printed(result: Any) -> str:
    """The recorded form of a result: type, shape and values of tensors, types of other values."""
    if isinstance(result, Tensor):
        return f"{result.dtype}{result.shape} {result.tolist() if result.size <= 24 else ''}"
    if isinstance(result, (tuple, list)):
        return f"{type(result).__name__}({', '.join(printed(r) for r in result)})"
    return f"{result!r}:{type(result).__name__}"


@pytest.mark.parametrize("expression, want", RECORDED["values"],
                         ids=[e for e, _ in RECORDED["values"]])
def test_value(expression: str, want: str) -> None:
    got = printed(eval(expression, names()))
    if got == want:
        return
    assert NUMBER.sub("#", got) == NUMBER.sub("#", want), got
    np.testing.assert_allclose([float(v) for v in NUMBER.findall(got)],
                               [float(v) for v in NUMBER.findall(want)], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("expression, error", RECORDED["errors"],
                         ids=[e for e, _ in RECORDED["errors"]])
def test_error(expression: str, error: str) -> None:
    with pytest.raises(Exception, match=".") as caught:
        eval(expression, names())
    assert type(caught.value).__name__ == error, caught.value
