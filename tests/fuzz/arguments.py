"""Random arguments: what fits, what nearly fits, and what doesn't at all."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import lamella as ms
from lamella import Parameter, Tensor

from .seeds import Call, _copied
from .surface import Target

DTYPES = [ms.float32, ms.float32, ms.float32, ms.int64, ms.int32, ms.bool_, ms.float64, ms.float16,
          ms.bfloat16, ms.int8, ms.uint8, ms.int16, ms.uint16, ms.uint32, ms.uint64, ms.complex64,
          ms.complex128]
LENGTHS = [0, 1, 1, 2, 2, 3, 3, 4, 5, 8]
INTS = [-1, 0, 1, 2, 3, 4, 5, 7, 16, -2, -3, -100, 1000, 2**31 - 1, 2**31, -2**31, 2**40, 2**62,
        2**63 - 1, 2**63, -2**63, 2**70]
FLOATS = [0.0, 0.5, 1.0, -0.5, 2.0, 1e-8, 1e30, 1e308, -1e308, float("nan"), float("inf"),
          float("-inf")]
WORDS = ["mean", "sum", "none", "abc", "", "same", "valid", "pad", "bilinear", "nearest", "bicubic",
         "linear", "area", "zeros", "border", "reflection", "constant", "reflect", "replicate",
         "circular", "fro", "nuc", "inner", "floor", "trunc", "NCHW", "NHWC", "tanh", "amax",
         "prod", "add", "min", "max", "left", "ortho", "backward", "float32", "ij,jk->ik",
         "i...->...", "truncated", "double", "higher"]

_NUMBERS = np.random.RandomState()


class Arguments:
    """Draws arguments from one stream, so that the same number gives the same call."""

    def __init__(self, key: str):
        self.random = random.Random(key)
        self.numbers = _NUMBERS  # seeded anew: to make one costs forty times as much
        self.numbers.seed(self.random.getrandbits(32))
        rank = self.pick([0, 1, 1, 2, 2, 2, 3, 4, 4])
        self.shape = tuple(self.pick(LENGTHS) for _ in range(rank))

    def pick(self, choices: Any) -> Any:
        return choices[self.random.randrange(len(choices))]

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # -- values ----------------------------------------------------------------------------------

    def tensor(self, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Tensor:
        if shape is None:
            shape = self.shape if self.chance(0.7) else tuple(
                self.pick(LENGTHS) for _ in range(self.pick([0, 1, 2, 3, 4, 5])))
        dtype = dtype or self.pick(DTYPES)
        kind = self.pick(["normal", "normal", "small", "small", "edge", "one"])
        if kind == "normal":
            values = self.numbers.randn(*shape)
        elif kind == "small":
            values = self.numbers.randint(-1 if self.chance(0.3) else 0, 5, shape)
        elif kind == "edge":
            pool = FLOATS if dtype.name.startswith(("f", "b", "c")) else INTS[:19]
            values = np.array([self.pick(pool) for _ in range(int(np.prod(shape)))]).reshape(shape)
        else:
            values = np.ones(shape)
        with np.errstate(all="ignore"):
            raw = torch.from_numpy(np.ascontiguousarray(
                values, np.float64 if np.asarray(values).dtype.kind == "f" else np.int64))
            raw = raw.reshape(shape).to(dtype.raw)
        return self.laid(Tensor(raw))

    def laid(self, tensor: Tensor) -> Tensor:
        """The same values, seldom in another layout: transposed, every other, repeated."""
        raw = tensor._raw
        if not raw.dim() or self.chance(0.85):
            return tensor
        kind = self.pick(["transposed", "strided", "expanded"])
        if kind == "transposed":
            raw = raw.mT.contiguous().mT if raw.dim() > 1 else raw
        elif kind == "strided":
            raw = torch.stack((raw, raw), -1)[..., 0]
        elif raw.shape[0]:
            raw = raw[:1].expand(raw.shape)
        return Tensor.from_torch(raw)

    def integer(self) -> int:
        return self.pick(INTS[:9]) if self.chance(0.7) else self.pick(INTS)

    def anything(self) -> Any:
        kinds: list[Callable[[], Any]] = [
            self.tensor, self.tensor, self.tensor, self.integer, self.integer,
            lambda: self.pick(FLOATS), lambda: self.pick([True, False]), lambda: None,
            lambda: self.pick(WORDS), self.integers, self.integers, lambda: self.pick(DTYPES),
            lambda: [self.tensor() for _ in range(self.pick([0, 1, 2, 3]))],
            lambda: tuple(self.tensor() for _ in range(self.pick([0, 1, 2, 3]))),
            lambda: Parameter(self.tensor(), name="p"), lambda: self.tensor().asnumpy(),
            lambda: torch.ones(self.shape), lambda: {}, lambda: {"a": self.tensor()}, object,
            lambda: Tensor, lambda: abs, lambda: slice(self.integer(), None, self.integer()),
            lambda: 1j, lambda: [self.integers(), self.integers()], lambda: Ellipsis,
            lambda: b"abc", lambda: np.float32(1), lambda: (None, self.integer())]
        return self.pick(kinds)()

    def integers(self) -> Any:
        found = [self.integer() for _ in range(self.pick([0, 1, 2, 2, 3, 4, 5]))]
        return found if self.chance(0.3) else tuple(found)

    # -- calls -----------------------------------------------------------------------------------

    def changed(self, value: Any) -> Any:
        """Something near `value`."""
        if self.chance(0.12):
            return self.anything()
        if isinstance(value, Parameter):
            return Parameter(self.changed_tensor(Tensor(value._raw)), name=value.name)
        if isinstance(value, Tensor):
            return self.changed_tensor(value)
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self.pick([value + 1, value - 1, -value, 0, self.integer()])
        if isinstance(value, float):
            return self.pick([-value, value * 2, self.pick(FLOATS), self.integer()])
        if isinstance(value, str):
            return self.pick(WORDS)
        if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
            items = list(value)
            how = self.pick(["one", "one", "less", "more", "none"])
            if how == "one" and items:
                place = self.random.randrange(len(items))
                items[place] = self.changed(items[place])
            elif how == "less" and items:
                items.pop()
            elif how == "more":
                items.append(_copied(items[-1]) if items else self.integer())
            elif how == "none":
                items = []
            return type(value)(items)
        return self.anything()

    def changed_tensor(self, value: Tensor) -> Tensor:
        how = self.pick(["type", "shape", "shape", "values", "values", "lay", "new"])
        raw = value._raw.detach()
        if how == "type":
            return self.laid(Tensor(raw.to(self.pick(DTYPES).raw)))
        if how == "values":
            return self.tensor(tuple(raw.shape), value.dtype)
        if how == "lay":
            return self.laid(value)
        if how == "new":
            return self.tensor()
        shape = list(raw.shape)
        change = self.pick(["length", "length", "more", "less", "turn"])
        if change == "length" and shape:
            shape[self.random.randrange(len(shape))] = self.pick(LENGTHS + [17])
        elif change == "more":
            shape.insert(self.random.randrange(len(shape) + 1), self.pick(LENGTHS))
        elif change == "less" and shape:
            shape.pop(self.random.randrange(len(shape)))
        else:
            shape = shape[::-1]
        return self.tensor(tuple(shape), value.dtype)

    def mutated(self, args: tuple, kwargs: dict, most: int = 2) -> tuple[tuple, dict]:
        """A right call's arguments with up to `most` of them changed."""
        items: list[Any] = [*_copied(args)]
        named = dict(_copied(kwargs))
        for _ in range(self.random.randrange(most + 1)):
            places: list[Any] = [*range(len(items)), *named]
            if not places:
                break
            place = self.pick(places)
            if isinstance(place, int):
                items[place] = self.changed(items[place])
            else:
                named[place] = self.changed(named[place])
        if items and self.chance(0.02):
            items.pop()
        return tuple(items), named

    def fitting(self, parameter: inspect.Parameter) -> Any:
        """A value for a parameter, guessed from its default and its name."""
        default, name = parameter.default, parameter.name
        if self.chance(0.1):
            return self.anything()
        if default is not parameter.empty and default is not None:
            return self.changed(default)
        if any(part in name for part in ("dim", "axis", "axes")):
            return self.integer() if self.chance(0.7) else self.integers()
        if any(part in name for part in ("size", "shape", "stride", "padding", "dilation")):
            return self.integers() if self.chance(0.6) else self.integer()
        if any(part in name for part in ("num", "depth", "groups", "_n", "count", "channels")):
            return self.integer()
        if any(part in name for part in ("indices", "index", "label", "target", "ids")):
            return self.tensor(dtype=self.pick([ms.int32, ms.int64]))
        if name == "dtype":
            return self.pick(DTYPES)
        return self.tensor() if self.chance(0.75) else self.anything()

    def guessed(self, function: Callable[..., Any], skip_self: bool) -> tuple[tuple, dict]:
        """Arguments made from a signature alone."""
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return tuple(self.anything() for _ in range(self.pick([0, 1, 2, 3]))), {}
        args, kwargs = [], {}
        for p in parameters[1 if skip_self else 0:]:
            if p.kind is p.VAR_POSITIONAL:
                args += [self.anything() for _ in range(self.pick([0, 1, 1, 2]))]
            elif p.kind is p.VAR_KEYWORD:
                continue
            elif p.default is p.empty:
                if p.kind is p.KEYWORD_ONLY:
                    kwargs[p.name] = self.fitting(p)
                else:
                    args.append(self.fitting(p))
            elif self.chance(0.3):
                if p.kind is p.POSITIONAL_ONLY:
                    break
                kwargs[p.name] = self.fitting(p)
        return tuple(args), kwargs

    def call(self, target: Target, examples: list[Call]) -> Call:
        """A call of `target`: mostly a right one, made wrong."""
        if examples and self.chance(0.75):
            seed = self.pick(examples)
            args, kwargs = self.mutated(seed.args, seed.kwargs, 3)
            made = seed.made and (self.mutated(*seed.made) if self.chance(0.4)
                                  else _copied(seed.made))
            return Call(made, args, kwargs)
        if not target.is_class:
            args, kwargs = self.guessed(target.thing, False)
            if target.name.startswith("Tensor.") and args:
                args = (self.tensor(), *args[1:])
            return Call(None, args, kwargs)
        cls: Any = target.thing
        step = getattr(cls, "construct", None) or cls.__call__
        made = self.guessed(cls.__init__, True)
        if examples and self.chance(0.5):
            made = _copied(self.pick(examples).made)
        return Call(made, *self.guessed(step, True))
