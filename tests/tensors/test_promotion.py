"""The types that operators give, against what MindSpore 2.10 gave."""

# ruff: noqa: E501

import operator
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import lamella as ms
from lamella import Tensor, ops
from lamella.core.dtype import from_raw, promote_types

TYPES = {
    "b": ms.bool_,
    "i8": ms.int8,
    "i16": ms.int16,
    "i32": ms.int32,
    "i64": ms.int64,
    "u8": ms.uint8,
    "u16": ms.uint16,
    "u32": ms.uint32,
    "u64": ms.uint64,
    "f16": ms.float16,
    "f32": ms.float32,
    "f64": ms.float64,
    "bf16": ms.bfloat16,
    "c64": ms.complex64,
    "c128": ms.complex128,
}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
             "//": operator.floordiv, "**": operator.pow, "%": operator.mod, "<": operator.lt,
             "==": operator.eq}
# By operator and type on the left: the result's type for each type on the right in the order of
# TYPES, then for True, 2, 1.5 and 2j on the right, and for them on the left; - where MindSpore's
# CPU kernels refuse.
RECORDED = {
    "+": """
        b: b i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bf16 c64 c128 | b i64 f32 - | b i64 f32 -
        i8: i8 i8 i16 i32 i64 i16 - - - - - f64 bf16 c64 c128 | i8 i8 f32 - | i8 i8 f32 -
        i16: i16 i16 i16 i32 i64 i16 - - - f16 f32 f64 bf16 c64 c128 | i16 i16 f32 - | i16 i16 f32 -
        i32: i32 i32 i32 i32 i64 i32 - - - - f32 f64 bf16 c64 c128 | i32 i32 f32 - | i32 i32 f32 -
        i64: i64 i64 i64 i64 i64 i64 - - - - f32 f64 bf16 c64 c128 | i64 i64 f32 - | i64 i64 f32 -
        u8: u8 i16 i16 i32 i64 u8 - - - f16 f32 f64 bf16 c64 c128 | u8 u8 f32 - | u8 u8 f32 -
        u16: u16 - - - - - u16 - - - - - - - - | u16 - - - | u16 - - -
        u32: u32 - - - - - - u32 - - - - - - - | - - - - | u32 - - -
        u64: u64 - - - - - - - u64 - - - - - - | - - - - | u64 - - -
        f16: f16 f16 f16 f16 f16 f16 - - - f16 f32 f64 f32 c64 c128 | f16 f16 f16 - | f16 f16 f16 -
        f32: f32 f32 f32 f32 f32 f32 - - - - f32 f64 f32 c64 c128 | f32 f32 f32 - | f32 f32 f32 -
        f64: f64 f64 f64 f64 f64 f64 - - - f64 f64 f64 f64 c128 c128 | f64 f64 f64 - | f64 f64 f64 -
        bf16: bf16 bf16 bf16 bf16 bf16 bf16 - - - - f32 f64 bf16 c64 c128 | bf16 bf16 bf16 - | bf16 bf16 bf16 -
        c64: c64 c64 c64 c64 c64 c64 - - - c64 c64 c128 c64 c64 c128 | c64 c64 c64 - | c64 c64 c64 -
        c128: c128 c128 c128 c128 c128 c128 - - - - c128 c128 c128 c128 c128 | c128 c128 c128 - | c128 c128 c128 -
    """,
    "-": """
        b: b i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bf16 c64 c128 | b - f32 - | - i64 f32 -
        i8: i8 i8 i16 i32 i64 i16 - - - - f32 f64 bf16 c64 c128 | i8 i8 f32 - | i8 i8 f32 -
        i16: i16 i16 i16 i32 i64 i16 - - - - - f64 bf16 c64 c128 | i16 i16 f32 - | i16 i16 f32 -
        i32: i32 i32 i32 i32 i64 i32 - - - - f32 f64 bf16 c64 c128 | i32 i32 f32 - | i32 i32 f32 -
        i64: i64 i64 i64 i64 i64 i64 - - - - - f64 bf16 c64 c128 | i64 i64 f32 - | i64 i64 f32 -
        u8: u8 i16 i16 i32 i64 u8 - - - - - f64 bf16 c64 c128 | u8 u8 f32 - | u8 u8 f32 -
        u16: u16 - - - - - u16 - - - - - - - - | u16 - - - | u16 - - -
        u32: u32 - - - - - - u32 - - - - - - - | u32 - - - | - - - -
        u64: u64 - - - - - - - u64 - - - - - - | - - - - | - - - -
        f16: f16 f16 f16 f16 f16 f16 - - - - f32 f64 f32 c64 c128 | f16 f16 f16 - | f16 f16 f16 -
        f32: f32 f32 f32 f32 f32 f32 - - - - - f64 f32 c64 c128 | f32 f32 f32 - | f32 f32 f32 -
        f64: f64 f64 f64 f64 f64 f64 - - - f64 f64 f64 f64 c128 c128 | f64 f64 f64 - | f64 f64 f64 -
        bf16: bf16 bf16 bf16 bf16 bf16 bf16 - - - f32 f32 f64 bf16 c64 c128 | bf16 - - - | - - - -
        c64: c64 c64 c64 c64 c64 c64 - - - c64 c64 c128 c64 c64 c128 | c64 c64 c64 - | c64 c64 c64 -
        c128: c128 c128 c128 c128 c128 c128 - - - - c128 c128 c128 c128 c128 | c128 c128 c128 - | c128 c128 c128 -
    """,
    "*": """
        b: b i8 i16 i32 i64 u8 - - - - - f64 bf16 - - | b i64 f32 - | b i64 f32 -
        i8: i8 i8 i16 i32 i64 i16 - - - f16 f32 f64 bf16 - - | i8 i8 f32 - | i8 i8 f32 -
        i16: i16 i16 i16 i32 i64 i16 - - - - f32 f64 bf16 - - | - i16 f32 - | i16 i16 f32 -
        i32: i32 i32 i32 i32 i64 i32 - - - - f32 f64 bf16 - - | - i32 f32 - | i32 i32 f32 -
        i64: i64 i64 i64 i64 i64 i64 - - - f16 f32 f64 bf16 - - | i64 i64 f32 - | i64 i64 f32 -
        u8: u8 i16 i16 i32 i64 u8 - - - - f32 f64 bf16 - - | u8 u8 f32 - | u8 u8 f32 -
        u16: - - - - - - - - - - - - - - - | - u16 - - | - u16 - -
        u32: - - - - - - - u32 - - - - - - - | - u32 - - | - u32 - -
        u64: - - - - - - - - u64 - - - - - - | u64 u64 - - | u64 u64 - -
        f16: f16 f16 f16 f16 f16 f16 - - - f16 f32 f64 f32 - - | f16 f16 f16 - | f16 f16 f16 -
        f32: f32 f32 f32 f32 f32 f32 - - - f32 f32 f64 f32 - - | f32 f32 f32 - | f32 f32 f32 -
        f64: f64 f64 f64 f64 f64 f64 - - - f64 f64 f64 f64 - - | f64 f64 f64 - | f64 f64 f64 -
        bf16: bf16 bf16 bf16 bf16 bf16 bf16 - - - f32 f32 f64 bf16 - - | bf16 bf16 bf16 - | bf16 bf16 bf16 -
        c64: - - - - - - - - - - - - - c64 - | c64 c64 c64 - | c64 c64 c64 -
        c128: - - - - - - - - - - - - - - c128 | c128 c128 c128 - | c128 c128 c128 -
    """,
    "/": """
        b: f32 f32 f32 f32 f32 f32 - - - - - f64 bf16 - - | - f32 f32 - | - f32 f32 -
        i8: f32 f32 f32 f32 f32 f32 - - - f16 f32 f64 bf16 - - | f32 f32 f32 - | f32 f32 f32 -
        i16: f32 f32 f32 f32 f32 f32 - - - f16 f32 f64 bf16 - - | f32 f32 f32 - | f32 f32 f32 -
        i32: f32 f32 f32 f32 f32 f32 - - - f16 f32 f64 bf16 - - | f32 f32 f32 - | f32 f32 f32 -
        i64: f32 f32 f32 f32 f32 f32 - - - f16 f32 f64 bf16 - - | f32 f32 f32 - | f32 f32 f32 -
        u8: f32 f32 f32 f32 f32 f32 - - - f16 f32 f64 bf16 - - | f32 f32 f32 - | f32 f32 f32 -
        u16: - - - - - - f32 - - - - - - - - | f32 f32 f32 - | f32 f32 f32 -
        u32: - - - - - - - f32 - - - - - - - | f32 f32 f32 - | f32 f32 f32 -
        u64: - - - - - - - - f32 - - - - - - | f32 f32 f32 - | f32 f32 f32 -
        f16: f16 f16 f16 f16 f16 f16 - - - f16 f32 f64 f32 - - | f16 f16 f16 - | f16 f16 f16 -
        f32: f32 f32 f32 f32 f32 f32 - - - f32 f32 f64 f32 - - | f32 f32 f32 - | f32 f32 f32 -
        f64: f64 f64 f64 f64 f64 f64 - - - f64 f64 f64 f64 - - | f64 f64 f64 - | f64 f64 f64 -
        bf16: bf16 bf16 bf16 bf16 bf16 bf16 - - - f32 f32 f64 bf16 - - | bf16 - - - | - - - -
        c64: - - - - - - - - - - - - - c64 - | c64 c64 c64 - | c64 c64 c64 -
        c128: - - - - - - - - - - - - - - c128 | c128 c128 c128 - | c128 c128 c128 -
    """,
    "//": """
        b: b i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 bf16 c64 c128 | b i64 f32 - | b i64 f32 -
        i8: i8 i8 i16 i32 i64 i16 - - - f16 f32 f64 bf16 c64 c128 | i8 i8 f32 - | i8 i8 f32 -
        i16: i16 i16 i16 i32 i64 i16 - - - - f32 f64 bf16 c64 c128 | i16 i16 f32 - | i16 i16 f32 -
        i32: i32 i32 i32 i32 i64 i32 - - - f16 f32 f64 bf16 c64 c128 | i32 i32 f32 - | i32 i32 f32 -
        i64: i64 i64 i64 i64 i64 i64 - - - - f32 f64 bf16 c64 c128 | i64 i64 f32 - | i64 i64 f32 -
        u8: u8 i16 i16 i32 i64 u8 - - - - - f64 bf16 c64 c128 | u8 u8 f32 - | u8 u8 f32 -
        u16: u16 - - - - - u16 - - - - - - - - | u16 - - - | u16 - - -
        u32: u32 - - - - - - u32 - - - - - - - | u32 - - - | u32 - - -
        u64: u64 - - - - - - - u64 - - - - - - | u64 - - - | u64 - - -
        f16: f16 f16 f16 f16 f16 f16 - - - f16 f32 f64 f32 c64 c128 | f16 f16 f16 - | f16 f16 f16 -
        f32: f32 f32 f32 f32 f32 f32 - - - f32 f32 f64 f32 c64 c128 | f32 f32 f32 - | f32 f32 f32 -
        f64: f64 f64 f64 f64 f64 f64 - - - - f64 f64 f64 c128 c128 | f64 f64 f64 - | f64 f64 f64 -
        bf16: bf16 bf16 bf16 bf16 bf16 bf16 - - - - f32 f64 bf16 c64 c128 | bf16 bf16 bf16 - | bf16 bf16 bf16 -
        c64: c64 c64 c64 c64 c64 c64 - - - c64 c64 c128 c64 c64 c128 | c64 c64 c64 - | c64 c64 c64 -
        c128: c128 c128 c128 c128 c128 c128 - - - - c128 c128 c128 c128 c128 | c128 c128 c128 - | c128 c128 c128 -
    """,
    "**": """
        b: - i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64 - c64 c128 | - i64 f32 - | - i64 f32 -
        i8: i8 i8 i16 i32 i64 i16 - - - f16 f32 f64 - c64 c128 | i8 i8 f32 - | i8 i8 f32 -
        i16: i16 i16 i16 i32 i64 i16 - - - - f32 f64 - - - | i16 i16 f32 - | i16 i16 f32 -
        i32: i32 i32 i32 i32 i64 i32 - - - - - f64 - - c128 | i32 i32 f32 - | i32 i32 f32 -
        i64: i64 i64 i64 i64 i64 i64 - - - f16 f32 f64 - - - | i64 i64 f32 - | i64 i64 f32 -
        u8: u8 i16 i16 i32 i64 u8 - - - f16 f32 f64 - - - | u8 u8 f32 - | u8 u8 f32 -
        u16: u16 - - - - - u16 - - - - - - - - | u16 - - - | u16 - - -
        u32: u32 - - - - - - u32 - - - - - - - | u32 - - - | u32 - - -
        u64: u64 - - - - - - - u64 - - - - - - | u64 - - - | u64 - - -
        f16: f16 f16 f16 f16 f16 f16 - - - f16 f32 f64 f32 c64 c128 | f16 f16 f16 - | f16 f16 f16 -
        f32: f32 f32 f32 f32 f32 f32 - - - f32 f32 f64 f32 c64 c128 | f32 f32 f32 - | f32 f32 f32 -
        f64: f64 f64 f64 f64 f64 f64 - - - f64 f64 f64 f64 c128 c128 | f64 f64 f64 - | f64 f64 f64 -
        bf16: - - - - - - - - - f32 f32 f64 - c64 c128 | - - - - | - - - -
        c64: c64 c64 c64 c64 c64 c64 - - - - - c128 c64 c64 c128 | c64 c64 c64 - | c64 c64 c64 -
        c128: c128 c128 c128 c128 c128 c128 - - - c128 c128 c128 c128 c128 c128 | c128 c128 c128 - | c128 c128 c128 -
    """,
    "%": """
        b: - i8 i16 i32 i64 u8 - - - f16 f32 f64 - - - | - i64 f32 - | - i64 f32 -
        i8: i8 i8 i16 i32 i64 i16 - - - f16 f32 f64 - - - | i8 i8 f32 - | i8 i8 f32 -
        i16: i16 i16 i16 i32 i64 i16 - - - f16 f32 f64 - - - | i16 i16 f32 - | i16 i16 f32 -
        i32: i32 i32 i32 i32 i64 i32 - - - f16 f32 f64 - - - | i32 i32 f32 - | i32 i32 f32 -
        i64: i64 i64 i64 i64 i64 i64 - - - f16 f32 f64 - - - | i64 i64 f32 - | i64 i64 f32 -
        u8: u8 i16 i16 i32 i64 u8 - - - f16 f32 f64 - - - | u8 u8 f32 - | u8 u8 f32 -
        u16: - - - - - - - - - - - - - - - | - - - - | - - - -
        u32: - - - - - - - - - - - - - - - | - - - - | - - - -
        u64: - - - - - - - - - - - - - - - | - - - - | - - - -
        f16: f16 f16 f16 f16 f16 f16 - - - f16 f32 f64 f32 - - | f16 f16 f16 - | f16 f16 f16 -
        f32: f32 f32 f32 f32 f32 f32 - - - f32 f32 f64 f32 - - | f32 f32 f32 - | f32 f32 f32 -
        f64: f64 f64 f64 f64 f64 f64 - - - f64 f64 f64 f64 - - | f64 f64 f64 - | f64 f64 f64 -
        bf16: - - - - - - - - - f32 f32 f64 - - - | - - - - | - - - -
        c64: - - - - - - - - - - - - - - - | - - - - | - - - -
        c128: - - - - - - - - - - - - - - - | - - - - | - - - -
    """,
    "<": """
        b: b b b b b b - - - b b b - - - | b b b - | b b b -
        i8: b b b b b b - - - b b b - - - | b b b - | b b b -
        i16: b b b b b b - - - b b b - - - | b b b - | b b b -
        i32: b b b b b b - - - b b b - - - | b b b - | b b b -
        i64: b b b b b b - - - b b b - - - | b b b - | b b b -
        u8: b b b b b b - - - b b b - - - | b b b - | b b b -
        u16: - - - - - - b - - - - - - - - | - - - - | b - - -
        u32: - - - - - - - b - - - - - - - | - - - - | b - - -
        u64: - - - - - - - - b - - - - - - | - - - - | b - - -
        f16: b b b b b b - - - b b b - - - | b b b - | b b b -
        f32: b b b b b b - - - b b b - - - | b b b - | b b b -
        f64: b b b b b b - - - b b b - - - | b b b - | b b b -
        bf16: - - - - - - - - - - - - - - - | - - - - | - - - -
        c64: - - - - - - - - - - - - - - - | - - - - | - - - -
        c128: - - - - - - - - - - - - - - - | - - - - | - - - -
    """,
    "==": """
        b: b b b b b b - - - - b b - - b | b b b - | b b b -
        i8: b b b b b b - - - - b b - - b | b b b - | b b b -
        i16: b b b b b b - - - - b b - - - | - b b - | b b b -
        i32: b b b b b b - - - - b b - - b | b b b - | b b b -
        i64: b b b b b b - - - b b b - - b | b b b - | b b b -
        u8: b b b b b b - - - b b b - b b | b b b - | b b b -
        u16: - - - - - - b - - - - - - - - | b b - - | b b - -
        u32: - - - - - - - b - - - - - - - | b b - - | b b - -
        u64: - - - - - - - - b - - - - - - | b b - - | b b - -
        f16: b b b b b b - - - b b b - b b | b b b - | b b b -
        f32: b b b b b b - - - b b b - b b | b b b - | b b b -
        f64: b b b b b b - - - b b b - b b | b b b - | b b b -
        bf16: - - - - - - - - - - - - - - - | - - - - | - - - -
        c64: b b b b b b - - - b b b - - - | b b b - | b b b -
        c128: b b b b b b - - - b b b - - - | b b b - | b b b -
    """,
}
NUMBERS = (True, 2, 1.5, 1 + 2j)


def _rows():
    for name, table in RECORDED.items():
        for line in table.strip().splitlines():
            left, cells = line.strip().split(": ")
            yield name, left, [part.split() for part in cells.split(" | ")]


def _of(left):
    return Tensor([1], TYPES[left])


@pytest.mark.parametrize(("name", "left", "cells"), list(_rows()))
def test_recorded_types(name, left, cells):
    run = OPERATORS[name]
    pairs = [(_of(left), _of(t), cell) for t, cell in zip(TYPES, cells[0], strict=True)]
    pairs += [(_of(left), n, cell) for n, cell in zip(NUMBERS, cells[1], strict=True)]
    pairs += [(n, _of(left), cell) for n, cell in zip(NUMBERS, cells[2], strict=True)]
    wrong = []
    for a, b, cell in pairs:
        # MindSpore's floor of a complex quotient has no defined meaning
        if cell == "-" or name == "//" and cell.startswith("c"):
            continue
        found = run(a, b).dtype
        if found is not TYPES[cell]:
            wrong.append((a, b, found, cell))
    assert not wrong


@pytest.mark.parametrize("left", TYPES)
def test_where_mindspore_refuses_types_promote_or_are_refused(left):
    for right, kind in TYPES.items():
        common = from_raw[promote_types(TYPES[left].raw, kind.raw)]
        assert (_of(left) * _of(right)).dtype is common


@given(st.sampled_from(list(TYPES)), st.sampled_from(list(TYPES)), st.sampled_from(list(TYPES)))
def test_promotion_is_symmetric_and_idempotent(a, b, c):
    a, b, c = (TYPES[t].raw for t in (a, b, c))
    assert promote_types(a, a) is a
    assert promote_types(a, b) is promote_types(b, a)
    wide = promote_types(a, b)
    assert promote_types(wide, a) is wide
    if torch.uint16 not in (a, b, c) and torch.uint32 not in (a, b, c) and torch.uint64 not in (
            a, b, c):
        assert promote_types(wide, c) in (promote_types(a, promote_types(b, c)), torch.float32)


@given(st.integers(-10, 10), st.integers(-10, 10).filter(bool))
def test_whole_division_rounds_down(a, b):
    x, y = Tensor([a]), Tensor([b])
    assert (x // y).item() == a // b and (x % y).item() == a % b
    assert (a // y).item() == a // b and (x % b).item() == a % b
    quotient, rest = divmod(x, y) if hasattr(Tensor, "__divmod__") else (x // y, x % y)
    assert (quotient * y + rest).item() == a


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("name", ["+", "-", "*", "//", "%", "<", "=="])
def test_wide_unsigned_types_compute_as_numpy(dtype, name):
    a, b = np.array([7, 3, 65535], dtype), np.array([2, 5, 65534], dtype)
    expected = OPERATORS[name](a, b)
    found = OPERATORS[name](Tensor(a), Tensor(b)).asnumpy()
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


def test_numbers_are_weak_and_rank_zero_tensors_are_not():
    half = Tensor([1.0], ms.float16)
    assert (half * 2.5).dtype is ms.float16
    assert (half + Tensor(2.5)).dtype is ms.float32
    assert (Tensor([1], ms.int8) + 1000).dtype is ms.int8
    assert (Tensor([1], ms.int8) + Tensor(1)).dtype is ms.int64


def test_whole_powers():
    assert (Tensor([1, 2, -1]) ** -1).tolist() == [1, 0, -1]
    assert (Tensor([1, 2, 3]) ** Tensor([-1, 0, 2])).tolist() == [1, 1, 9]


def test_integers_divided_by_zero_are_what_mindspore_gives():
    most, least = 2**31 - 1, -2**31
    x, zero = Tensor([7, -7, 0], ms.int32), Tensor(0, ms.int32)
    assert (x // zero).tolist() == (x // 0).tolist() == [most, least, 0]
    assert (x % zero).tolist() == (x % 0).tolist() == [least] * 3
    assert ops.remainder(x, 0).tolist() == ops.fmod(x, zero).tolist() == [7, -7, 0]
    assert (Tensor([7, 0], ms.uint8) // 0).tolist() == [255, 0]
    assert (Tensor([True, False]) // Tensor([False, False])).tolist() == [True, False]
    assert str(Tensor([7, -7]) / 0) == "[ inf -inf]"


def test_divisors_and_multiples_of_the_least_numbers():
    for kind, bits in ((ms.int16, 16), (ms.int32, 32), (ms.int64, 64)):
        least, most = -2**(bits - 1), 2**(bits - 1) - 1
        a, b = Tensor([least, 7, least], kind), Tensor([most, least, 6], kind)
        assert ops.gcd(a, b).tolist() == [1, 1, 2]
        assert ops.lcm(a, b).tolist() == [least] * 3
    assert ops.lcm(Tensor([4, 0]), Tensor([6, 0])).tolist() == [12, 0]


def test_no_warning_slips_out():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Tensor([1j]) * Tensor([1])


@pytest.mark.parametrize("name, expected", [
    # MindSpore 2.10: a tensor of rank 0 yields in products and quotients, and nowhere else
    ("mul", ["Float16", "Float16", "Float32", "Int32", "Float32", "Float16"]),
    ("div", ["Float16", "Float16", "Float32", "Float32", "Float32", "Float16"]),
    ("add", ["Float32", "Float32", "Float64", "Int64", "Float32", "Float64"]),
    ("pow", ["Float32", "Float32", "Float64", "Int64", "Float32", "Float64"]),
])
def test_tensors_of_rank_0(name, expected):
    half, single = Tensor([1.0, 2.0], ms.float16), Tensor([1.0, 2.0], ms.float32)
    whole, scalar = Tensor([1, 2], ms.int32), Tensor(1.0, ms.float32)
    double, long = Tensor(1.0, ms.float64), Tensor(1, ms.int64)
    pairs = [(half, scalar), (scalar, half), (single, double), (whole, long), (whole, scalar),
             (half, double)]
    symbol = {"mul": operator.mul, "div": operator.truediv, "add": operator.add,
              "pow": operator.pow}[name]
    for function in (symbol, getattr(ms.ops, name)):
        assert [str(function(a, b).dtype) for a, b in pairs] == expected
