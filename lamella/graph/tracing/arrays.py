"""NumPy arrays among the arguments as inputs of a graph.

In a dry run the program gets a stand-in for such an array. A Tensor made of it is an input;
NumPy's arithmetic on it is recorded as source text, which a replay evaluates again. Its shape and
type are part of the call's key. Any other use needs the array itself, and ends the dry run.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import torch

from ...core import context
from ...tensors.construction import holds
from .refusals import CannotTrace
from .stand_ins import StandIn, refuse_uses

LONGEST = 400  # characters of an expression of arrays
_FIXED = ("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides", "flags")
_METHODS = ("astype", "reshape", "transpose", "copy", "squeeze", "ravel", "flatten")
_REDUCTIONS = ("sum", "mean", "max", "min", "std", "var", "argmax", "argmin", "prod", "item")
MOST_NUMBERS = 64  # numbers of an array that `tolist` gives
_PLAIN = (bool, int, float, str, type(None), types.EllipsisType)


def may_be_input(value: Any) -> bool:
    """Whether an argument is an array that a Tensor can hold."""
    return type(value) is np.ndarray and value.dtype.isnative and holds(value.dtype)


def kind_of_array(value: np.ndarray) -> tuple[Any, ...]:
    """What a graph holds for, of an array that is an input."""
    return np.ndarray, value.dtype.str, value.shape, value.strides, value.flags.writeable


def as_input(value: np.ndarray) -> torch.Tensor:
    """The data of an array as an input of a graph; they share memory where they can."""
    shares = value.flags.writeable and all(step >= 0 for step in value.strides)
    return torch.from_numpy(value if shares else value.copy()).to(context.current_device())


class GivenArray(StandIn, np.lib.mixins.NDArrayOperatorsMixin):
    """A stand-in for an array.

    Args:
        run: the numbers of the run.
        value: the array.
        text: the expression that gives it.
    """

    def __init__(self, run: Any, value: np.ndarray, text: str):
        self.run, self.value, self.text = run, value, text
        self._input: torch.Tensor | None = None

    def described(self) -> str:
        """What it stands for, in messages."""
        return "an array that it was given"

    @property
    def _raw(self) -> torch.Tensor:
        """What a new Tensor of it holds."""
        return self.shared().clone()

    def shared(self) -> torch.Tensor:
        """What a Tensor that shares its memory holds: the input itself."""
        if self._input is None:
            with self.run.recorder.pause():
                self._input = torch.from_numpy(self.value.copy()).to(context.current_device())
            self.run.tensors.append((self._input, self.run.index_of(self.text), None))
        return self._input

    def __getattr__(self, name: str) -> Any:
        if name in _FIXED:
            return getattr(self.value, name)
        if not hasattr(self.value, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")
        if name == "T":
            return self._made(self.value.T, f"{self.text}.T")
        if name in _METHODS or name in _REDUCTIONS:
            def called(*args: Any, **kwargs: Any) -> Any:
                given = [_source(arg) for arg in args]
                given += [f"{key}={_source(arg)}" for key, arg in kwargs.items()]
                return self._made(getattr(self.value, name)(*args, **kwargs),
                                  f"{self.text}.{name}({', '.join(given)})")

            return called
        return self.plain(name)

    def tolist(self) -> Any:
        """The numbers, in lists."""
        if self.value.dtype.kind not in "iuf" or self.value.size > MOST_NUMBERS:
            return self.plain("tolist")
        return self.run.standing(self.value.tolist(), f"{self.text}.tolist()")

    def _made(self, value: Any, text: str) -> Any:
        if len(text) <= LONGEST and self.run.holds(value):
            return self.run.standing(value, text)
        if not may_be_input(value) or len(text) > LONGEST:
            raise CannotTrace("computes with the values of a NumPy array argument")
        return GivenArray(self.run, value, text)

    def __len__(self) -> int:
        return len(self.value)

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        return self._made(self.value[key], f"{self.text}[{', '.join(map(_source, parts))},]")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or getattr(np, ufunc.__name__, None) is not ufunc:
            raise CannotTrace("computes with the values of a NumPy array argument")
        found = ufunc(*[i.value if type(i) is GivenArray else i for i in inputs])
        return self._made(found, f"np.{ufunc.__name__}({', '.join(map(_source, inputs))})")


refuse_uses(GivenArray, [f"__{name}__" for name in """
    setitem delitem iter contains bool float int index repr str format reduce_ex copy deepcopy
    array_function iadd isub imul itruediv ifloordiv imod ipow hash""".split()])


def _source(value: Any) -> str:
    """The source text of an operand."""
    if type(value) is GivenArray:
        return value.text
    if isinstance(value, slice) and all(
            part is None or type(part) is int for part in (value.start, value.stop, value.step)):
        return repr(value)
    if isinstance(value, tuple):
        return f"({''.join(f'{_source(part)}, ' for part in value)})"
    if isinstance(value, (np.dtype, type)):
        return f"np.dtype({np.dtype(value).str!r})"
    if type(value) not in _PLAIN:
        raise CannotTrace("computes with the values of a NumPy array argument")
    return "Ellipsis" if value is ... else f"({value!r})"
