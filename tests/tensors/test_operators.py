"""Python's syntax, the function of `ops`, the method and the in-place syntax: one meaning."""

import functools
import operator
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

TYPES = (ms.bool_, ms.int8, ms.int16, ms.int32, ms.int64, ms.uint8, ms.uint16, ms.uint32, ms.uint64,
         ms.float16, ms.float32, ms.float64, ms.bfloat16, ms.complex64, ms.complex128)
# by sign: the operator of Python's syntax, the function, the method's name
OPERATORS = {
    "+": (operator.add, ops.add, "add"),
    "-": (operator.sub, ops.sub, "sub"),
    "*": (operator.mul, ops.mul, "mul"),
    "/": (operator.truediv, ops.div, "div"),
    "//": (operator.floordiv, ops.floor_divide, "floor_divide"),
    "%": (operator.mod, ops.floor_mod, None),
    "**": (operator.pow, ops.pow, "pow"),
    "@": (operator.matmul, ops.matmul, "matmul"),
    "&": (operator.and_, ops.bitwise_and, "bitwise_and"),
    "|": (operator.or_, ops.bitwise_or, "bitwise_or"),
    "^": (operator.xor, ops.bitwise_xor, "bitwise_xor"),
    "<<": (operator.lshift, ops.bitwise_left_shift, "bitwise_left_shift"),
    ">>": (operator.rshift, ops.bitwise_right_shift, "bitwise_right_shift"),
    "<": (operator.lt, ops.less, "less"),
    "<=": (operator.le, ops.less_equal, "less_equal"),
    ">": (operator.gt, ops.greater, "greater"),
    ">=": (operator.ge, ops.greater_equal, "greater_equal"),
    "==": (operator.eq, ops.equal, "equal"),
    "!=": (operator.ne, ops.not_equal, "not_equal"),
}
IN_PLACE = {"+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
            "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow,
            "@": operator.imatmul, "&": operator.iand, "|": operator.ior, "^": operator.ixor,
            "<<": operator.ilshift, ">>": operator.irshift}
NUMBERS = (True, False, 0, 2, -1, -3, 127, 128, 300, 2**31, 2**40, 2**63 - 1, 2**63, 2**64,
           -2**63, -2**70, 0.0, 0.1, -2.5, 1e40, float("inf"), float("nan"), 2j, 1 + 2j,
           np.float64(0.1), np.int64(3), np.float32(0.5), np.bool_(True), np.complex64(1j),
           np.array([1, 2, 3]), [1, 2.5, 3])
SHAPES = (((3,), (3,)), ((3,), ()), ((), (3,)), ((0,), (1,)), ((2,), (3,)))


def _tensor(dtype: Any, shape: tuple[int, ...]) -> Tensor:
    length = int(np.prod(shape))
    return Tensor(np.array([3, 0, 7])[:length].reshape(shape)).astype(dtype)


@functools.cache
def _pairs() -> list[tuple[Any, Any]]:
    return list(_made_pairs())


def _made_pairs() -> Iterator[tuple[Any, Any]]:
    for dtype in TYPES:
        for other in TYPES:
            for left, right in SHAPES:
                yield _tensor(dtype, left), _tensor(other, right)
        for number in NUMBERS:
            yield _tensor(dtype, (3,)), number
            yield number, _tensor(dtype, (3,))
        for number in (True, 300, 0.1, 1 + 2j):
            for shape in ((), (0,)):
                yield _tensor(dtype, shape), number
                yield number, _tensor(dtype, shape)
        yield _tensor(dtype, (3,)), None


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _outcome(function: Any, *args: Any) -> Any:
    """The type, shape and values of a result, or the type of an error."""
    try:
        out = function(*args)
    except Exception as error:
        return type(error).__name__
    if not isinstance(out, Tensor):
        return out
    return str(out.dtype), out.shape, str(out.tolist())  # as text, where nan is nan


@pytest.mark.parametrize("sign", OPERATORS)
def test_syntax_function_and_method_agree(sign):
    syntax, function, method = OPERATORS[sign]
    differing = []
    for a, b in _pairs():
        if sign in ("==", "!=") and (b is None or isinstance(a, list) or isinstance(b, list)):
            continue  # to Python these are no equals, whatever they hold
        wanted = _outcome(function, a, b)
        found = {"syntax": _outcome(syntax, a, b)}
        if method is not None and isinstance(a, Tensor):
            found["method"] = _outcome(getattr(a, method), b)
        if sign in IN_PLACE and isinstance(a, Tensor):
            found["in place"] = _outcome(IN_PLACE[sign], a.copy(), b)
        differing += [(way, a, b, got, wanted) for way, got in found.items() if got != wanted]
    assert not differing, f"{len(differing)} differ, the first: {differing[:3]}"


@pytest.mark.parametrize(("syntax", "function"), [(operator.neg, ops.neg), (operator.abs, ops.abs),
                                                  (operator.pos, ops.positive),
                                                  (operator.invert, ops.logical_not),
                                                  (round, ops.round)])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_syntax_of_one_operand_agrees(syntax, function, dtype):
    for shape in ((3,), (), (0,)):
        x = _tensor(dtype, shape)
        assert _outcome(syntax, x) == _outcome(function, x)


# by calls: what MindSpore 2.10 gave
RECORDED = {
    "Tensor([1, 44], ms.int8) & 300": ("Int8", [0, 44]),
    "ops.bitwise_and(300, Tensor([1, 2], ms.int8))": ("Int8", [0, 0]),
    "ops.bitwise_left_shift(300, Tensor([1, 2], ms.int8))": ("Int8", [88, -80]),
    "ops.add(300, Tensor([1, 2], ms.int8))": ("Int8", [45, 46]),
    "ops.sub(300, Tensor([1, 2], ms.int8))": ("Int8", [43, 42]),
    "ops.mul(300, Tensor([1, 2], ms.int8))": ("Int8", [44, 88]),
    "ops.div(300, Tensor([1, 2], ms.int8))": ("Float32", [300.0, 150.0]),
    "300 / Tensor([1, 2], ms.int8)": ("Float32", [300.0, 150.0]),
    "ops.floor_divide(300, Tensor([1, 2], ms.int8))": ("Int8", [44, 22]),
    "300 // Tensor([1, 2], ms.int8)": ("Int8", [44, 22]),
    "300 ** Tensor([1, 2], ms.int8)": ("Int8", [44, -112]),
    "ops.floor_mod(300, Tensor([1, 2], ms.int8))": ("Int8", [0, 0]),
    "Tensor([1, 2], ms.int8) < 300": ("Bool", [True, True]),
    "300 > Tensor([1, 2], ms.int8)": ("Bool", [True, True]),
    "ops.equal(Tensor([44, 2], ms.int8), 300)": ("Bool", [False, False]),
    "ops.add(1e40, Tensor([1.0, 2.0]))": ("Float32", [float("inf")] * 2),
    "Tensor([1, 2], ms.int32) + 1e40": ("Float32", [float("inf")] * 2),
    "Tensor([True, False]).sub(Tensor([True, True]))": ("Bool", [False, True]),
    "Tensor([True, False]).subtract(Tensor([True, True]))": ("Bool", [False, True]),
    "ops.subtract(Tensor([True, False]), Tensor([True, True]))": ("Int64", [0, -1]),
}


@pytest.mark.parametrize("call", RECORDED)
def test_recorded_results(call):
    out = eval(call, {"ms": ms, "ops": ops, "Tensor": Tensor})
    assert (str(out.dtype), out.tolist()) == RECORDED[call]


def test_half_times_complex_is_complex64():
    for right in (1 + 2j, Tensor(1 + 2j, ms.complex64)):
        out = Tensor([1.0, 2.0], ms.float16) * right
        assert out.dtype == ms.complex64 and out.tolist() == [1 + 2j, 2 + 4j]


@pytest.mark.parametrize("number", [300, -300, 2**40, 2**63, -2**63])
@pytest.mark.parametrize("dtype", TYPES[1:8], ids=str)
def test_comparison_is_by_value(dtype, number):
    values = [3, 0, 44]
    x = Tensor(values, dtype)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        assert compare(x, number).tolist() == [compare(v, number) for v in values]
        assert compare(number, x).tolist() == [compare(number, v) for v in values]
