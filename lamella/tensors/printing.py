"""Tensors as text, character for character as MindSpore 2.10 prints them.

There are two forms. `to_str` (``print(x)``) is NumPy's, by the rules of NumPy 1.26: later versions
turn to exponents sooner. `to_repr` (inside tuples, lists, dicts and interactive sessions) is a form
of MindSpore's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..core.dtype import NARROW, Type
from ..core.wrappers import functorch, of_all_examples
from .construction import as_array

_EDGE = 3  # elements shown on each side of an ellipsis


def _array(raw: torch.Tensor) -> np.ndarray:
    if functorch.is_functorch_wrapped_tensor(raw):
        raw = of_all_examples(raw)
    with torch._C._DisableFuncTorch():
        return as_array(raw)


def to_str(raw: torch.Tensor) -> str:
    """The printed form of a tensor."""
    array = _array(raw)
    if raw.dtype in NARROW:
        if array.ndim == 0:
            return f"{float(array):f}"
        return np.array2string(array, formatter={"float_kind": lambda v: f"{v:f}"})
    if array.ndim == 0 or array.dtype not in (np.float16, np.float32, np.complex64):
        return str(array)
    options: Any = np.get_printoptions()
    if options["floatmode"] != "maxprec" or options["suppress"] or options["sign"] != "-":
        return str(array)
    if array.size > options["threshold"]:
        shown = _edges(array, options["edgeitems"])
    else:
        shown = array
    if array.dtype.kind == "c":
        real, imag = _Float(np.real(shown), options), _Float(np.imag(shown), options, sign=True)
        return np.array2string(array, formatter={
            "complex_kind": lambda v: real(v.real) + _attach_j(imag(v.imag))})
    return np.array2string(array, formatter={"float_kind": _Float(shown, options)})


def _edges(array: np.ndarray, edge: int) -> np.ndarray:
    """The elements that a summary shows."""
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            array = np.take(array, [*range(edge), *range(length - edge, length)], axis)
    return array


def _attach_j(text: str) -> str:
    digits = text.rstrip()
    return f"{digits}j{' ' * (len(text) - len(digits))}"


class _Float:
    """Formats numbers of one array to one width, with as many digits as distinguish them."""

    def __init__(self, values: np.ndarray, options: Any, sign: bool = False):
        self.sign, self.precision = sign, options["precision"]
        self.nan, self.inf = options["nanstr"], options["infstr"]
        finite = values[np.isfinite(values)]
        sizes = np.abs(finite[finite != 0])
        self.exponent = False
        if sizes.size:
            largest, smallest = sizes.max(), sizes.min()
            with np.errstate(over="ignore"):
                self.exponent = bool(float(largest) >= 1e8 or float(smallest) < 1e-4
                                     or float(largest / smallest) > 1000.0)
        self.left = self.right = self.digits = self.exponent_digits = 0
        if finite.size:
            texts = [self._shortest(v) for v in finite]
            parts = [text.partition("e") for text in texts]
            whole = [number.split(".") for number, _, _ in parts]
            self.left = max(len(w[0]) for w in whole)
            self.digits = self.right = max(len(w[1]) for w in whole)
            if self.exponent:
                self.exponent_digits = max(len(p[2]) for p in parts) - 1
                self.precision = self.digits
                self.right += self.exponent_digits + 2
        if finite.size < values.size:
            odd = len(self.inf) + bool(sign or (values == -np.inf).any())
            self.left = max(self.left, len(self.nan) - self.right - 1, odd - self.right - 1)

    def _shortest(self, value: Any) -> str:
        write = np.format_float_scientific if self.exponent else np.format_float_positional
        return write(value, precision=self.precision, unique=True, trim=".", sign=self.sign)

    def __call__(self, value: Any) -> str:
        if not np.isfinite(value):
            text = self.nan if np.isnan(value) else ("-" if value < 0 else "") + self.inf
            if self.sign and not text.startswith("-"):
                text = "+" + text
            return text.rjust(self.left + self.right + 1)
        if self.exponent:
            return np.format_float_scientific(
                value, precision=self.precision, min_digits=self.digits, unique=True, trim="k",
                sign=self.sign, pad_left=self.left, exp_digits=self.exponent_digits)
        return np.format_float_positional(
            value, precision=self.precision, min_digits=0, unique=True, fractional=True, trim=".",
            sign=self.sign, pad_left=self.left, pad_right=self.right)


# -- the form inside containers -------------------------------------------------------------------


def to_repr(raw: torch.Tensor, dtype: Type) -> str:
    """The form of a tensor inside tuples and lists."""
    array = _array(raw)
    start = " " if array.ndim < 2 else "\n"
    values = start + _values(array, raw.dtype)
    return f"Tensor(shape={list(raw.shape)}, dtype={dtype}, value={values})"


def _values(array: np.ndarray, kind: torch.dtype) -> str:
    if array.size == 0:
        return ""
    if array.ndim == 0:
        return _general(array[()]) if array.dtype.kind in "fc" else str(array[()])
    shown = array if array.ndim == 1 and array.size <= 1000 else _edges(array, _EDGE)
    write, width = _element_writer(shown, kind)
    per_line = 12 if kind is torch.bool or (array.dtype.kind == "f" and kind not in NARROW) else 24

    def lines(part: np.ndarray, depth: int) -> str:
        lengths = array.shape[depth]
        cut = len(part) < lengths
        if depth == array.ndim - 1:
            texts = [write(v).rjust(width) for v in part.tolist()]
            if cut:
                return f"[{', '.join(texts[:_EDGE])} ... {', '.join(texts[_EDGE:])}]"
            indent = "\n" + " " * (depth + 1)
            rows = [", ".join(texts[i:i + per_line]) for i in range(0, len(texts), per_line)]
            return f"[{f', {indent}'.join(rows)}{indent if len(texts) % per_line == 0 else ''}]"
        texts = [lines(p, depth + 1) for p in part]
        between = ",\n" + " " * (depth + 1)
        if cut:
            head, tail = between.join(texts[:_EDGE]), between.join(texts[_EDGE:])
            return f"[{head}{between}...{between[1:]}{tail}]"
        return f"[{between.join(texts)}]"

    return lines(shown, 0)


def _element_writer(shown: np.ndarray, kind: torch.dtype) -> tuple[Callable[[Any], str], int]:
    """How an element is written, and to what width."""
    if kind is torch.bool:
        return str, 5
    if kind.is_complex:
        return _general, 0
    if kind.is_floating_point and kind not in NARROW:
        digits = 4 if kind is torch.float16 else 8
        return (lambda v: f"{v:.{digits}e}"), digits + 7
    write = _general if kind in NARROW else str
    return write, max(len(write(v)) for v in shown.ravel().tolist())


def _general(value: Any) -> str:
    """A number with six digits, as C's ``%g`` writes it."""
    if isinstance(value, (complex, np.complexfloating)):
        return f"{value.real:g}{value.imag:+g}j"
    return f"{float(value):g}"
