"""Python numbers that change from call to call, as inputs of one graph.

A run is rehearsed with stand-ins for such numbers. What it computes of them in Python is noted as
text, which a replay computes again; what a kernel is given becomes a tensor of one element. A
comparison becomes a condition of the graph. Whatever else asks a stand-in for its value makes that
value a condition: a result never depends on a number that isn't checked or computed again.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ...autodiff.tree import of_its_kind
from ...tensor import Tensor
from ..guards.values import Spot
from .effects import Later
from .recorder import CannotTrace
from .trace import Trace

LONGEST = 400  # characters of what is computed of a number, before its value is a condition
MOST = 2**53  # a whole number beyond is no double
# functions of PyTorch whose operands may be a number or a tensor of one element
_OF_OPERANDS = frozenset(
    getattr(owner, name) for owner in (torch, torch.Tensor)
    for name in ("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "lt",
                 "le", "gt", "ge", "eq", "ne") if hasattr(owner, name)) | frozenset(
    getattr(torch.Tensor, f"__{name}__") for name in (
        "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "div", "rdiv", "lt",
        "le", "gt", "ge", "eq", "ne") if hasattr(torch.Tensor, f"__{name}__"))


class Numbers:
    """The numbers of a run: its inputs, what is computed of them, and the conditions.

    Args:
        given: the arguments' numbers that vary.
        spots: where the program keeps others.
        lists: where it keeps lists that it only appends to.
    """

    def __init__(self, given: Sequence[Any], spots: Sequence[Spot], lists: Sequence[Spot] = ()):
        self.lists = [(spot, Growing()) for spot in lists]
        self.given = [Number(self, value, f"n{i}") for i, value in enumerate(given)]
        self.spots = list(spots)
        self.held = [Number(self, spot.get(), f"n{len(given) + i}") for i, spot in enumerate(spots)]
        self.recorder: Any = None  # of the rehearsal
        self.conditions: dict[str, None] = {}
        self.computed: list[str] = []
        self.tensors: list[tuple[torch.Tensor, int, torch.dtype]] = []
        self._known: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def condition(self, text: str) -> None:
        """Note what has to hold."""
        self.conditions[text] = None

    def place(self, number: Any) -> int | None:
        """The place of a number among those that a replay computes; None for anything else."""
        if type(number) is Growing:
            raise CannotTrace("gives a list that it appends to")
        if type(number) is not Number:
            return None
        if number.text not in self.computed:
            self.computed.append(number.text)
        return self.computed.index(number.text)

    def tensor(self, number: Number, like: torch.Tensor) -> Any:
        """What a kernel gets for a number beside a tensor; the number itself if it must."""
        kind = torch.result_type(like, number.value)
        if (not (like.is_floating_point() or like.dtype in _WHOLE) or isinstance(number.value, int)
                and abs(number.value) > MOST or not like.dim() and like.dtype in _SHORT):
            return number.plain()
        wide = torch.int64 if isinstance(number.value, int) else torch.float64
        # beside a tensor with dimensions the wide type doesn't count, and is exact
        wanted = wide if like.dim() and like.is_floating_point() else kind
        found = self._known.get((number.text, wanted))
        if found is None:
            with self.recorder.pause():
                found = torch.scalar_tensor(number.value, dtype=wanted)
            self._known[number.text, wanted] = found
            self.tensors.append((found, self.place(number) or 0, wanted))
        return found

    def function(self) -> Callable[..., Sequence[Any] | None]:
        """What computes the numbers of a replay from its inputs; None if a condition fails."""
        names = ", ".join(n.text for n in (*self.given, *self.held))
        met = " and ".join(f"({c})" for c in self.conditions) or "True"
        values = "".join(f"{text}, " for text in self.computed)
        return eval(f"lambda {names}: ({values}) if {met} else None",
                    {"inf": math.inf, "nan": math.nan})


_WHOLE = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool)
_SHORT = (torch.float16, torch.bfloat16)


class Number:
    """A stand-in for a number: computes as the number does, and takes notes."""

    __slots__ = ("run", "value", "text")

    def __init__(self, run: Numbers, value: Any, text: str):
        self.run, self.value, self.text = run, value, text

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(self.value)

    def plain(self) -> Any:
        """The number; that it is this one becomes a condition."""
        # text, since 0.0 == -0.0
        self.run.condition(f"repr({self.text}) == {repr(self.value)!r}")
        return self.value

    def made(self, value: Any, text: str) -> Any:
        """The result of an operation."""
        if type(value) not in (int, float):
            return self.plain() and value
        found = Number(self.run, value, text)
        return found.plain() if len(text) > LONGEST else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain(), name)

    def __hash__(self) -> int:
        return hash(self.plain())

    def __bool__(self) -> bool:
        self.run.condition(f"bool({self.text}) is {bool(self.value)}")
        return bool(self.value)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _OF_OPERANDS and len(args) == 2 and not kwargs:
            a, b = args
            if type(a) is Number and isinstance(b, torch.Tensor):
                return func(a.run.tensor(a, b), b)
            if type(b) is Number and isinstance(a, torch.Tensor):
                return func(a, b.run.tensor(b, a))
        return func(*without(args), **without(kwargs))


def without(value: Any) -> Any:
    """A structure with numbers for their stand-ins, whose values become conditions."""
    if type(value) is Number:
        return value.plain()
    if isinstance(value, tuple):
        parts = [without(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [without(part) for part in value]
    if isinstance(value, dict):
        parts = {key: without(part) for key, part in value.items()}
        return parts if type(value) is dict else of_its_kind(value, parts)
    return value


def _source(value: Any) -> str:
    return value.text if type(value) is Number else repr(value)


def _value(value: Any) -> Any:
    return value.value if type(value) is Number else value


def _binary(name: str, sign: str) -> None:
    function: Callable[[Any, Any], Any] = getattr(operator, name)

    def forward(self: Number, other: Any) -> Any:
        if isinstance(other, torch.Tensor):
            return function(self.run.tensor(self, other), other)
        if isinstance(other, Tensor):
            return NotImplemented
        if type(other) not in (int, float, bool, Number) or sign in ("**", "<<"):
            return function(self.plain(), without(other))
        return self.made(function(self.value, _value(other)),
                         f"({self.text} {sign} {_source(other)})")

    def backward(self: Number, other: Any) -> Any:
        if isinstance(other, torch.Tensor):
            return function(other, self.run.tensor(self, other))
        if type(other) not in (int, float, bool) or sign == "**":
            return function(other, self.plain())
        return self.made(function(other, self.value), f"({_source(other)} {sign} {self.text})")

    setattr(Number, f"__{name}__", forward)
    setattr(Number, f"__r{name}__", backward)


def _comparison(name: str, sign: str) -> None:
    function: Callable[[Any, Any], Any] = getattr(operator, name)

    def compare(self: Number, other: Any) -> Any:
        if isinstance(other, torch.Tensor):
            return function(self.run.tensor(self, other), other)
        if isinstance(other, Tensor):
            return NotImplemented
        if type(other) not in (int, float, bool, Number):
            return function(self.plain(), other)
        found = function(self.value, _value(other))
        self.run.condition(f"({self.text} {sign} {_source(other)}) is {found}")
        return found

    setattr(Number, f"__{name}__", compare)


def _asking(name: str, function: Callable[..., Any]) -> None:
    def ask(self: Number, *args: Any) -> Any:
        return function(self.plain(), *args)

    setattr(Number, f"__{name}__", ask)


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//",
                     "mod": "%", "pow": "**"}.items():
    _binary(_name, _sign)
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    _comparison(_name, _sign)
for _name, _function in {
        "float": float, "int": int, "index": operator.index, "complex": complex, "str": str,
        "repr": repr, "format": format, "round": round, "trunc": math.trunc, "floor": math.floor,
        "ceil": math.ceil, "divmod": divmod, "rdivmod": lambda a, b: divmod(b, a),
        "and": operator.and_, "or": operator.or_, "xor": operator.xor, "invert": operator.invert,
        "lshift": operator.lshift, "rshift": operator.rshift,
        "reduce_ex": lambda value, protocol: value.__reduce_ex__(protocol),
        "deepcopy": lambda value, memo: value, "copy": lambda value: value}.items():
    _asking(_name, _function)


def _neg(self: Number) -> Any:
    return self.made(-self.value, f"(-{self.text})")


def _abs(self: Number) -> Any:
    return self.made(abs(self.value), f"abs({self.text})")


Number.__neg__ = _neg  # type: ignore[attr-defined]
Number.__pos__ = lambda self: self  # type: ignore[attr-defined]
Number.__abs__ = _abs  # type: ignore[attr-defined]


class Growing:
    """A stand-in for a list that a run appends to; whatever else is done to it ends the rehearsal.

    Attributes:
        items: what has been appended.
    """

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Any] = []

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return list

    def append(self, item: Any) -> None:
        self.items.append(item)

    def extend(self, items: Any) -> None:
        self.items.extend(items)

    def __iadd__(self, items: Any) -> Growing:
        self.extend(items)
        return self

    def __getattr__(self, name: str) -> Any:
        raise CannotTrace(f"uses {name} of a list that it appends to")


def _reading(name: str) -> None:
    def read(self: Growing, *args: Any) -> Any:
        raise CannotTrace(f"uses {name} of a list that it appends to")

    setattr(Growing, name, read)


for _name in ("__len__", "__iter__", "__getitem__", "__setitem__", "__delitem__", "__contains__",
              "__bool__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__",
              "__repr__", "__add__", "__radd__", "__mul__", "__rmul__", "__imul__", "__reversed__",
              "__format__", "__reduce_ex__", "__copy__", "__deepcopy__"):
    _reading(_name)


class NumberTrace(Trace):
    """A rehearsal: everything that it does is undone, so nothing may reach the outside."""

    numbers: Numbers | None = None

    def refuse(self, what: str) -> None:
        if self.refused is None:
            super().refuse(what)
        raise CannotTrace(what)

    def exchange(self, call: Any, given: Any) -> Any:
        raise CannotTrace("communicates with other processes")

    def put_off(self, function: Callable[..., None], args: tuple, kwargs: dict) -> None:
        self.later.append(Later(function, args, kwargs))


def ask_for_classes(codes: Iterable[types.CodeType]) -> bool:
    """Whether code may see that a stand-in is no number."""
    return any(not {"type", "__class__"}.isdisjoint(code.co_names) for code in codes)


def alike(rehearsed: Any, real: Any) -> bool:
    """Whether a rehearsal gave what the run gives."""
    if type(rehearsed) is Number:
        return type(rehearsed.value) is type(real) and repr(rehearsed.value) == repr(real)
    if type(rehearsed) is not type(real):
        return False
    if isinstance(real, Tensor):
        a, b = rehearsed._raw, real._raw
        return (a.shape == b.shape and a.dtype is b.dtype
                and torch.allclose(a.detach(), b.detach(), 1e-5, 1e-6, equal_nan=True))
    if isinstance(real, (tuple, list)):
        return len(rehearsed) == len(real) and all(map(alike, rehearsed, real))
    if isinstance(real, dict):
        return list(rehearsed) == list(real) and all(alike(rehearsed[k], real[k]) for k in real)
    return True
