"""Symbolic scalars: Python numbers that change from call to call, as inputs of one graph.

A dry run has stand-ins for such numbers (see `stand_ins`). Arithmetic is recorded as source text,
which a replay evaluates again; an argument of a kernel becomes a tensor of one element; a
comparison is a guard on its outcome. Any other use is a guard on the value, or, if that was read
off a tensor (`read_scalars`), refuses the run.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ...autodiff.tree import dict_like
from ...core.state import state
from ...tensors.tensor import Tensor
from .stand_ins import StandIn, need_the_value

if TYPE_CHECKING:
    from .scalar_environment import ScalarEnvironment

# the types of numbers that stand-ins stand for
NUMBERS = frozenset((int, float, np.int32, np.int64, np.float32, np.float64))
_PLAIN = NUMBERS | {bool}
LONGEST = 400  # characters of an expression of numbers; of a longer one the value is guarded
_REFLECTED = {  # operators of a scalar of NumPy's with a stand-in on the right
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__",
    np.true_divide: "__rtruediv__", np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__",
    np.power: "__rpow__", np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__",
    np.greater_equal: "__le__", np.equal: "__eq__", np.not_equal: "__ne__"}
_FUNCTIONS_OF_NUMPY = frozenset([getattr(np, name) for name in """
    sqrt square exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh arcsin arccos arctan
    floor ceil trunc rint absolute sign minimum maximum""".split()])
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
              "pow": "**"}
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
TESTS = ("isnan", "isinf", "isfinite")
_TESTS_OF_NUMPY = frozenset([getattr(np, name) for name in TESTS])


class SymbolicScalar(StandIn):
    """A stand-in for a number: computes as the number does, and records this."""

    __slots__ = ("run", "value", "text")
    held: torch.Tensor | None = None  # the tensor that holds it, if the run has read it there
    beside: Callable[..., Any]  # what stands for it beside a tensor: `scalar_kernels` defines it

    def __init__(self, run: ScalarEnvironment, value: Any, text: str):
        self.run, self.value, self.text = run, value, text

    def plain(self, use: str = "the value") -> Any:
        """The number itself, whose value is guarded then."""
        # text, since 0.0 == -0.0
        self.run.condition(f"repr({self.text}) == {repr(self.value)!r}")
        return self.value

    def is_whole(self) -> bool:
        """Whether it is of a type of ints."""
        return isinstance(self.value, (int, np.integer))

    def scalar(self, kind: torch.dtype) -> torch.Tensor:
        """The number as a tensor of one element."""
        return self.run.scalar(self, kind)

    def made(self, value: Any, text: str, of_any_type: bool = False) -> Any:
        """The result of an operation; `of_any_type` if its type depends on the values."""
        if type(value) not in NUMBERS:
            self.plain()
            return value
        if of_any_type:
            self.run.condition(f"type({text}) is {type(value).__name__}")
        found = SymbolicScalar(self.run, value, text)
        return found.plain() if len(text) > LONGEST else found

    def operated(self, name: str, left: Any, right: Any) -> Any:
        """The result of an operator of which it is an operand."""
        function, other = getattr(operator, name), right if left is self else left
        if isinstance(other, torch.Tensor):
            beside = self.beside(other, name == "pow" and right is self)
            if left is self and name not in ("add", "mul"):
                return function(beside, other)
            return function(other, beside)  # kernels of 16 bits don't round a number on the right
        if isinstance(other, Tensor) and left is self:
            return NotImplemented
        if not is_number(other):
            return function(*[self.plain() if x is self else without(x) for x in (left, right)])
        owner = other if isinstance(other, SymbolicScalar) and is_on_tensor(other) else self
        return owner.combined(name, left, right)

    def combined(self, name: str, left: Any, right: Any) -> Any:
        """The result of an operator for two numbers."""
        return self.made(_result(getattr(operator, name), left, right),
                         f"({_source(left)} {_OPERATORS[name]} {_source(right)})", name == "pow")

    def compared(self, name: str, other: Any) -> Any:
        """The outcome of a comparison."""
        function = getattr(operator, name)
        if isinstance(other, torch.Tensor):
            return function(self.beside(other), other)
        if isinstance(other, Tensor):
            return NotImplemented
        return self.decided(name, other) if is_number(other) else function(self.plain(), other)

    def decided(self, name: str, other: Any) -> bool:
        """The outcome of a comparison with a number, which is guarded."""
        found = getattr(operator, name)(self.value, value_of(other))
        self.run.condition(f"({self.text} {_COMPARISONS[name]} {_source(other)}) == {found}")
        return found

    def function_of(self, function: Callable[..., Any], name: str, *operands: Any) -> Any:
        """The result of a function of numbers, of which it is one."""
        return self.made(_result(function, *operands),
                         f"{name}({', '.join(map(_source, operands))})")

    def test(self, name: str) -> bool:
        """The outcome of a test, such as `math.isnan`, which is guarded."""
        found = getattr(math, name)(self.value)
        self.run.condition(f"math.{name}({self.text}) is {found}")
        return found

    def converted(self, kind: type) -> Any:
        """`float` or `int` of it."""
        if type(self.value) is kind:
            return self
        return self.made(_result(kind, self), f"{kind.__name__}({self.text})")

    def __getattr__(self, name: str) -> Any:
        if not hasattr(self.value, name):
            raise AttributeError(f"'{type(self.value).__name__}' object has no attribute '{name}'")
        if name == "item":
            return lambda: self.made(self.value.item(), f"{self.text}.item()")
        return getattr(self.plain(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.plain(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc in _TESTS_OF_NUMPY and method == "__call__" and len(inputs) == 1 and not kwargs:
            return np.bool_(self.test(ufunc.__name__))
        # comparisons give scalars as arrays of rank 0
        operands = [i[()] if isinstance(i, np.ndarray) else i for i in inputs]
        if method == "__call__" and not kwargs and all(map(is_number, operands)):
            if ufunc in _FUNCTIONS_OF_NUMPY:
                return self.function_of(ufunc, f"np.{ufunc.__name__}", *operands)
            if ufunc in _REFLECTED and isinstance(operands[0], np.generic):
                return getattr(self, _REFLECTED[ufunc])(operands[0])
        return getattr(ufunc, method)(*without(inputs), **without(kwargs))

    def __hash__(self) -> int:
        return hash(self.plain())

    def __bool__(self) -> bool:
        self.run.condition(f"bool({self.text}) is {bool(self.value)}")
        return bool(self.value)


def without(value: Any) -> Any:
    """A structure with stand-ins replaced by their numbers, whose values are guarded then."""
    if isinstance(value, SymbolicScalar):
        return value.plain()
    if isinstance(value, tuple):
        parts = [without(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [without(part) for part in value]
    if type(value) in (set, frozenset):
        return type(value)([without(part) for part in value])
    if isinstance(value, slice):
        return slice(without(value.start), without(value.stop), without(value.step))
    if isinstance(value, dict):
        parts = {without(key): without(part) for key, part in value.items()}
        return parts if type(value) is dict else dict_like(value, parts)
    return value


def _source(value: Any) -> str:
    """The source text of an operand; in brackets, since `-2 ** n` is `-(2 ** n)`."""
    if type(value) is SymbolicScalar:
        return value.text
    if isinstance(value, np.generic):  # before NumPy 2 its `repr` doesn't say the type
        return f"{type(value).__name__}({value.item()!r})"
    return f"({value!r})"


def value_of(value: Any) -> Any:
    """The number that a stand-in stands for; anything else as it is."""
    return value.value if isinstance(value, SymbolicScalar) else value


def is_number(value: Any) -> bool:
    """Whether a value is a plain number or stands for one."""
    return isinstance(value, SymbolicScalar) or type(value) in _PLAIN


def is_on_tensor(number: SymbolicScalar) -> bool:
    """Whether a number was read off a tensor, or computed of such numbers."""
    return number.held is not None


def _result(function: Callable[..., Any], *operands: Any) -> Any:
    """The result of a function of the numbers; if it raises an error, their values are guarded."""
    try:
        return function(*map(value_of, operands))
    except Exception:
        without(operands)
        raise


for _name in _OPERATORS:
    setattr(SymbolicScalar, f"__{_name}__",
            lambda self, other, name=_name: self.operated(name, self, other))
    setattr(SymbolicScalar, f"__r{_name}__",
            lambda self, other, name=_name: self.operated(name, other, self))
for _name in _COMPARISONS:
    setattr(SymbolicScalar, f"__{_name}__",
            lambda self, other, name=_name: self.compared(name, other))
need_the_value(SymbolicScalar, {f"__{name}__": function for name, function in {
    "float": float, "int": int, "index": operator.index, "complex": complex, "str": str,
    "repr": repr, "divmod": divmod, "rdivmod": lambda a, b: divmod(b, a),
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "invert": operator.invert,
    "lshift": operator.lshift, "rshift": operator.rshift,
    "reduce_ex": lambda value, protocol: value.__reduce_ex__(protocol),
    "deepcopy": lambda value, memo: value, "copy": lambda value: value}.items()})


def _format(self: SymbolicScalar, spec: str) -> str:
    text = None if state.trace is None else state.trace.printed_text(self, spec)
    return format(self.plain(), spec) if text is None else text


def _neg(self: SymbolicScalar) -> Any:
    return self.made(-self.value, f"(-{self.text})")


def _abs(self: SymbolicScalar) -> Any:
    return self.made(abs(self.value), f"abs({self.text})")


def _rounding(name: str, function: Callable[..., Any]) -> None:
    def rounded(self: SymbolicScalar, *args: Any) -> Any:
        return self.function_of(function, name, self, *without(args))

    setattr(SymbolicScalar, f"__{name.rpartition('.')[2]}__", rounded)


for _name, _function in {"round": round, "math.trunc": math.trunc, "math.floor": math.floor,
                         "math.ceil": math.ceil}.items():
    _rounding(_name, _function)

SymbolicScalar.__format__ = _format  # type: ignore[method-assign]
SymbolicScalar.__neg__ = _neg  # type: ignore[attr-defined]
SymbolicScalar.__pos__ = lambda self: self  # type: ignore[attr-defined]
SymbolicScalar.__abs__ = _abs  # type: ignore[attr-defined]


def checks_classes(codes: Iterable[types.CodeType]) -> bool:
    """Whether code may notice that a stand-in is not a number."""
    return any(not {"type", "__class__"}.isdisjoint(code.co_names) for code in codes)


def alike(tried: Any, real: Any) -> bool:
    """Whether a dry run has the results of the real run."""
    if isinstance(tried, SymbolicScalar):
        return type(tried.value) is type(real) and repr(tried.value) == repr(real)
    if type(tried) is not type(real):
        return False
    if isinstance(real, Tensor):
        a, b = tried._raw, real._raw
        return (a.shape == b.shape and a.dtype is b.dtype
                and torch.allclose(a.detach(), b.detach(), 1e-5, 1e-6, equal_nan=True))
    if isinstance(real, (tuple, list)):
        return len(tried) == len(real) and all(map(alike, tried, real))
    if isinstance(real, dict):
        return list(tried) == list(real) and all(alike(tried[k], real[k]) for k in real)
    return True
