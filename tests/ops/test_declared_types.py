"""Primitives refuse the types that MindSpore 2.10 declares no input for."""

from typing import Any

import pytest

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives.declared_types import _FILE, read

X, IDS = [[0.5, 0.25], [0.75, 1.0]], [0, 0]


@pytest.mark.parametrize(("make", "values", "wrong"), [
    (ops.BesselJ0, [(X, ms.float32)], [(0, ms.int32), (0, ms.bool_), (0, ms.complex64)]),
    (ops.Zeta, [(X, ms.float32), (X, ms.float32)], [(0, ms.float16), (1, ms.int64)]),
    (ops.SegmentSum, [(X, ms.float32), (IDS, ms.int32)], [(0, ms.bool_), (1, ms.float32)]),
    (ops.Addcdiv, [(X, ms.float32)] * 3 + [(1.0, ms.float32)], [(0, ms.int8), (2, ms.bool_)]),
    (ops.Digamma, [(X, ms.float32)], [(0, ms.int32), (0, ms.bfloat16)]),
    (ops.Igamma, [(X, ms.float32)] * 2, [(0, ms.float16), (1, ms.int32)]),
    (ops.Polygamma, [(1, ms.int64), (X, ms.float32)], [(0, ms.uint8), (1, ms.bool_)]),
    (ops.BitwiseAnd, [(IDS, ms.int32)] * 2, [(0, ms.float32)]),
])
def test_declared_types(make: Any, values: Any, wrong: Any) -> None:
    """As in 2.10, where each of the wrong ones is a TypeError."""
    right = [Tensor(data, dtype) for data, dtype in values]
    make()(*right)
    for place, dtype in wrong:
        given = [*right[:place], right[place].astype(dtype), *right[place + 1:]]
        with pytest.raises(TypeError, match=f"{make.__name__}.*{str(dtype).split('.')[-1][:4]}"):
            make()(*given)


def test_inputs_of_one_type() -> None:
    with pytest.raises(TypeError, match=r"primitive\[Zeta\], the input type must be same"):
        ops.Zeta()(Tensor([2.0]), Tensor([2.0], ms.float64))


def test_inputs_that_are_promoted_first() -> None:
    """As in 2.10: int8 beside int32 is int32, and two booleans are neither."""
    assert ops.TruncateMod()(Tensor([5], ms.int8), Tensor([3], ms.int32)).tolist() == [2]
    for dtype in (ms.bool_, ms.int64):
        with pytest.raises(TypeError, match=r"TruncateMod.* must be a type of"):
            ops.TruncateMod()(Tensor([1], dtype), Tensor([1], dtype))


def test_the_table_names_primitives() -> None:
    """A line of a class that isn't there would check nothing."""
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        name, declared = read(line)
        assert getattr(ops, name).__call__.__code__.co_name == "checked", name
        assert declared.kinds or declared.alike or declared.promoted, name
