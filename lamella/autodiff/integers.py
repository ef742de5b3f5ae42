"""Gradients by integers: they are differentiated like real numbers, and stay integers.

MindSpore gives gradients by integer inputs: that of `i * i` is `2 * i`. PyTorch's tape holds none.
So an alias of integers carries a *twin*: the same numbers in float64, which the tape sees. Each
kernel runs on the integers, which decide what the program sees, and again on the twins, for the
derivative. Where a kernel can't run on twins (an index, a mask), or has no derivative there, its
result has no twin.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ..core.cuts import depends
from ..core.dtype import is_inexact
from ..core.state import state

_RANDOM = ("rand", "normal", "bernoulli", "dropout", "multinomial", "poisson", "empty")
_CASTS = frozenset("to type type_as long int short char byte".split())


class Integers(torch.Tensor):
    """A raw tensor of integers or booleans with the `twin` that a gradient flows through."""

    _twin: torch.Tensor
    _known: int  # how often the integers had been written to when they got this twin

    @property
    def twin(self) -> torch.Tensor:
        """The same numbers in float64. No gradient goes to those that were changed under another
        name, such as that of a part."""
        if _writes(self) != self._known:
            exact = plain(self).double()
            self.twin = exact if exact.shape != self._twin.shape else torch.where(
                exact == self._twin.detach(), self._twin, exact)
        return self._twin

    @twin.setter
    def twin(self, twin: torch.Tensor) -> None:
        self._twin, self._known = twin, _writes(self)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        with torch._C.DisableTorchFunctionSubclass():
            if _changes(name, kwargs):
                return _changed(func, args, kwargs)
            exact = func(*args, **kwargs)
            if not torch.is_grad_enabled() or any(word in name for word in _RANDOM):
                return exact
            if isinstance(exact, torch.Tensor):
                return _with_twin(exact, _by_twins(func, args, kwargs, exact), name, args)
            if isinstance(exact, (tuple, list)) and any(
                    isinstance(part, torch.Tensor) and part.dtype is not torch.bool
                    for part in exact):
                first = next(part for part in exact if isinstance(part, torch.Tensor))
                found = _by_twins(func, args, kwargs, first)
                if isinstance(found, type(exact)) and len(found) == len(exact):
                    parts = [_with_twin(part, twin, name, args)
                             for part, twin in zip(exact, found, strict=True)]
                    return type(exact)(parts)
            return exact


@contextlib.contextmanager
def gradients_by_integers(found: list[torch.Tensor] | bool) -> Iterator[None]:
    """A block in which gradients by integers are added to a list, or (False) not computed."""
    before, state.integers = state.integers, found
    try:
        yield
    finally:
        state.integers = before


def with_twin(raw: torch.Tensor, twin: torch.Tensor) -> torch.Tensor:
    """Integers with a twin."""
    made: Any = plain(raw).as_subclass(Integers)
    made.twin = twin
    return made


def twin_of(raw: torch.Tensor) -> torch.Tensor:
    """What the tape sees of a raw tensor: itself, or of integers their twin."""
    return raw.twin if type(raw) is Integers else raw


def carried_by(carrier: torch.Tensor, raw: torch.Tensor) -> torch.Tensor:
    """What the program sees where the tape sees `carrier` instead of a raw tensor or its twin."""
    return with_twin(raw, carrier) if type(raw) is Integers else carrier


def have_twins(raws: Sequence[torch.Tensor]) -> bool:
    """Whether any of these raw tensors are integers with a twin."""
    return any([type(raw) is Integers for raw in raws])


def results_of(inputs: Sequence[torch.Tensor], outs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """What a function with a rule of the user's has computed from inputs: integers have a twin of
    their own, to which the rule gives a derivative, if any of the inputs has one."""
    if not have_twins(inputs):
        return list(outs)
    return [out if is_inexact(out.dtype) or out.dtype is torch.bool
            else with_twin(out, plain(out).double()) for out in outs]


def plain(raw: torch.Tensor) -> torch.Tensor:
    """The raw tensor without a twin."""
    if type(raw) is not Integers:
        return raw
    with torch._C.DisableTorchFunctionSubclass():
        return raw.as_subclass(torch.Tensor)


def _writes(raw: torch.Tensor) -> int:
    """How often a tensor has been written to, under any name."""
    with torch._C.DisableTorchFunctionSubclass():
        return 0 if raw.is_inference() else raw._version


def _changes(name: str, kwargs: dict[str, Any]) -> bool:
    """Whether a function changes its first argument."""
    return (name == "__setitem__" or name.endswith("_") and not name.endswith("__")
            or name.startswith("__i") and name not in ("__index__", "__invert__", "__int__")
            or kwargs.get("out") is not None)


def _changed(func: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    target = args[0] if args else None
    if type(target) is Integers:
        twin = target.twin
        result = func(*args, **kwargs)
        try:
            twin = twin.clone()
            func(twin, *_twins(args[1:]), **_twins(kwargs))
            target.twin = twin
        except (TypeError, IndexError, ValueError, RuntimeError):
            target.twin = plain(target).double()
        return result
    try:
        return func(*_twins(args, getattr(target, "dtype", None)), **_twins(kwargs))
    except (TypeError, IndexError, ValueError, RuntimeError):
        return func(*args, **kwargs)  # an index: nothing has been written


def _by_twins(func: Any, args: tuple, kwargs: dict[str, Any], exact: torch.Tensor) -> Any:
    if exact.dtype is torch.bool:
        return None
    kind = exact.dtype if is_inexact(exact.dtype) else None
    if isinstance(kwargs.get("dtype"), torch.dtype) and kind is None:
        kwargs = {**kwargs, "dtype": None}  # of the integers, as of a sum's result
    named = _twins(kwargs, kind)
    for given in _given(args, kind):
        try:
            return func(*given, **named)
        except (TypeError, IndexError, ValueError, RuntimeError):
            continue
    return None


def _given(args: tuple, kind: torch.dtype | None) -> Iterator[tuple]:
    """The arguments to try, in order: with all twins; with those of the first and the last tensor,
    since what lies between may be an index; with that of the first alone. A first tensor without a
    twin becomes float64, so that twins can be written into it."""
    yield _twins(args, kind)
    places = [i for i, value in enumerate(args) if isinstance(value, torch.Tensor)]
    for chosen in (places[:1] + places[-1:], places[:1]):
        mixed = [_twins(value, kind) if i in chosen else value for i, value in enumerate(args)]
        if places and kind is None and not is_inexact(mixed[places[0]].dtype):
            mixed[places[0]] = mixed[places[0]].double()
        yield tuple(mixed)


def _with_twin(exact: Any, found: Any, name: str, args: tuple) -> Any:
    """The result of a kernel, with that of the same on twins where a gradient flows through it."""
    if not isinstance(found, torch.Tensor) or exact.dtype is torch.bool:
        return exact
    if name in _CASTS and not is_inexact(exact.dtype) and type(args[0]) is Integers:
        found = args[0].twin
    if found.shape != exact.shape or not is_inexact(found.dtype) or not depends(
            found, state.level):
        return exact
    if is_inexact(exact.dtype):
        return found if found.dtype is exact.dtype else found.to(exact.dtype)
    return with_twin(exact, found)


def _twins(value: Any, kind: torch.dtype | None = None) -> Any:
    if type(value) is Integers:
        return value.twin if kind is None else value.twin.to(kind)
    if isinstance(value, (tuple, list)):
        return type(value)([_twins(part, kind) for part in value]) if type(value) in (
            tuple, list) else value
    if isinstance(value, dict):
        return {key: _twins(part, kind) for key, part in value.items()}
    return value
