"""Helpers that generate the cases of families: each gives those of many functions at once."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

SIGNED = ("int8", "int16", "int32", "int64")
WIDE = ("uint16", "uint32", "uint64")
WHOLE = (*SIGNED, "uint8", *WIDE)
FLOATS = ("float16", "float32", "float64", "bfloat16")
COMPLEX = ("complex64", "complex128")
ALL = ("bool", *WHOLE, *FLOATS, *COMPLEX)
REAL = (*WHOLE, *FLOATS)
SOME = ("int32", "uint16", "float32", "bool")  # where the type isn't the point
MIXED = (
    ("float16", "float32"),
    ("float32", "float64"),
    ("int32", "float16"),
    ("int8", "uint8"),
    ("int32", "int64"),
    ("bool", "int32"),
    ("uint16", "int32"),
    ("bfloat16", "float16"),
    ("complex64", "float16"),
    ("float32", "bool"),
    ("uint64", "int64"),
    ("int64", "float32"),
)


class Case(NamedTuple):
    """One call: `expression` of `inputs`, as a value, a gradient or compiled."""

    mode: str  # "value", "grad" or "graph"
    expression: str
    inputs: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        about = ", ".join(f"{name} = {text}" for name, text in self.inputs)
        return f"{'' if self.mode == 'value' else self.mode + ' of '}{self.expression}" + (
            f" where {about}" if about else ""
        )


def case(expression: str, mode: str = "value", **inputs: str) -> Case:
    return Case(mode, expression, tuple(inputs.items()))


def each(
    expression: str, types: Iterable[str] = ("float32",), mode: str = "value", **inputs: str
) -> list[Case]:
    """`expression` with inputs of each of `types`: ``x="[2,3]"``; one with a type keeps it."""
    return [
        case(
            expression,
            mode,
            **{name: text if text[0] != "[" else kind + text for name, text in inputs.items()},
        )
        for kind in types
    ]


def many(
    lines: str,
    types: Sequence[str] = ("float32",),
    grad: bool = False,
    graph: bool = False,
    **inputs: str,
) -> list[Case]:
    """Lines of expressions; an input they don't mention is left out."""
    found = []
    for line in filter(None, map(str.strip, lines.splitlines())):
        about = {n: t for n, t in inputs.items() if mentions(line, n)}
        found += each(line, types, **about)
        if grad:
            found += each(line, ("float32",), "grad", **about)
        if graph:
            found += each(line, ("float32",), "graph", **about)
    return found


def programs(
    bodies: Sequence[str], types: Sequence[str] = ("float32",), mode: str = "value", **inputs: str
) -> list[Case]:
    """Bodies of functions, several lines each, the last of which returns."""
    found = []
    for body in bodies:
        about = {n: t for n, t in inputs.items() if mentions(body, n)}
        found += each(body.strip(), types, mode, **about)
    return found


def limits(calls: str) -> list[Case]:
    """For each number that the calls name, which values are taken for it (`Runner.taken`)."""
    found = []
    for line in ast.parse(textwrap.dedent(calls)).body:
        call = line.value if isinstance(line, ast.Expr) else None
        assert isinstance(call, ast.Call), ast.unparse(line)
        for named in call.keywords:
            number = named.value
            if ast.unparse(number).lstrip("-")[0].isdigit():
                named.value = ast.Name("v")
                found.append(case(f"taken(lambda v, p: {ast.unparse(call)})"))
                named.value = number
    return found


def mentions(line: str, name: str) -> bool:
    """Whether an expression has the variable `name` in it."""
    return re.search(rf"(?<![\w.]){name}(?![\w(=]| =)", line) is not None


def put(expression: str, **values: str) -> str:
    """`expression` with variables replaced by what stands for them."""
    for name, value in values.items():
        expression = re.sub(rf"\b{name}\b", value, expression)
    return expression


def unary(
    names: str,
    types: Sequence[str] = ALL,
    form: str = "ops.{}(x)",
    grad: bool = True,
    graph: bool = True,
) -> list[Case]:
    """Functions of one tensor: all types, special values, rank 0, empty, views, wrong arguments."""
    found = []
    for name in names.split():
        f = form.format(name)
        for kind in types:
            found += [case(f, x=f"{kind}[2,3]"), case(f, x=f"{kind}[16]!")]
        for kind in ("float32", "int32", "uint16"):
            found += [case(f, x=f"{kind}[]"), case(f, x=f"{kind}[0,2]"), case(f, x=f"{kind}[2,3]~")]
        found += [case(f, x="float32[2,2]/"), case(f, x="bool[]")]
        found += [case(put(f, x=wrong)) for wrong in ("2.5", "'a'", "None", "[1.0]")]
        if grad:
            found += [
                case(f, "grad", x="float32[2,3]"),
                case(f, "grad", x="float32[16]!"),
                case(f, "grad", x="float64[3]"),
                case(f, "grad", x="float32[]"),
            ]
        if graph:
            found += [case(f, "graph", x="float32[2,3]")]
    return found


def binary(
    names: str,
    types: Sequence[str] = ALL,
    form: str = "ops.{}(x, y)",
    grad: bool = True,
    mixed: Sequence[tuple[str, str]] = MIXED,
    numbers: bool = True,
) -> list[Case]:
    """Functions of two tensors: types, broadcasting, special values, mixed types, numbers."""
    found = []
    for name in names.split():
        f = form.format(name)
        for kind in types:
            found += [
                case(f, x=f"{kind}[2,3]", y=f"{kind}[2,3]"),
                case(f, x=f"{kind}[8,1]!", y=f"{kind}[8]!"),
            ]
            if numbers:
                found += [case(put(f, y=n), x=f"{kind}[4]") for n in ("2", "-1", "0", "2.5")]
                found += [case(put(f, x=n), y=f"{kind}[4]") for n in ("-1", "2.5")]
        for left, right in mixed:
            found += [
                case(f, x=f"{left}[2,3]", y=f"{right}[3]"),
                case(f, x=f"{right}[2]", y=f"{left}[]"),
                case(f, x=f"{left}[]", y=f"{right}[2]"),
            ]
        for kind in ("float32", "int32"):
            found += [
                case(f, x=f"{kind}[]", y=f"{kind}[]"),
                case(f, x=f"{kind}[0,2]", y=f"{kind}[2]"),
                case(f, x=f"{kind}[2,3]~", y=f"{kind}[2,3]"),
                case(f, x=f"{kind}[3]/", y=f"{kind}[2,1]"),
                case(f, x=f"{kind}[2]", y=f"{kind}[3]"),
            ]
        found += [
            case(put(f, y=wrong), x="float32[2]")
            for wrong in ("'a'", "None", "True", "[1.0, 2.0]", "1j")
        ]
        found += [case(put(f, x="1.0", y="2.0"))]
        if grad:
            found += [
                case(f, "grad", x="float32[2,3]", y="float32[3]"),
                case(f, "grad", x="float32[8,1]!", y="float32[8]!"),
                case(f, "grad", x="float32[2,3]+", y="float32[]+"),
            ]
        found += [case(f, "graph", x="float32[2,3]", y="float32[3]")]
    return found


def reduction(
    names: str,
    types: Sequence[str] = ALL,
    form: str = "ops.{}(x{})",
    axis: str = "axis",
    keep: str = "keepdims",
    grad: bool = True,
    several: bool = True,
    whole: bool = True,
) -> list[Case]:
    """Functions that reduce axes: which, kept or not, wrong ones."""
    found = []
    for name in names.split():
        calls = [
            form.format(name, tail)
            for tail in (
                *([""] if whole else []),
                f", {axis}=0",
                f", {axis}=-1",
                *([f", {axis}=(0, 1)", f", {axis}=()"] if several else []),
                *([f", {axis}=1, {keep}=True"] if keep else []),
            )
        ]
        for call in calls:
            found += each(call, types, x="[2,3]^")
        for kind in types:
            found += [case(calls[0], x=f"{kind}[11]!")]
        for kind in ("float32", "int32", "uint16"):
            found += [
                case(calls[0], x=f"{kind}[]"),
                case(calls[-1], x=f"{kind}[2,3,2]^"),
                case(calls[1], x=f"{kind}[2,3]~^"),
                case(calls[1], x=f"{kind}[0,2]"),
            ]
        for wrong in (2, -3, "1.5", "'a'", "(0, 0)", "(0, 2)", "[0]", "True"):
            found += [case(form.format(name, f", {axis}={wrong}"), x="float32[2,3]")]
        if grad:
            found += [case(call, "grad", x="float32[2,3]^") for call in calls]
        found += [
            case(calls[1], "graph", x="float32[2,3]^"),
            case(calls[0], "graph", x="int32[2,3]^"),
        ]
    return found
