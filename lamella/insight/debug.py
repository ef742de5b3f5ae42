"""Finding out where numbers go wrong: `trace_overflow`."""

from __future__ import annotations

__outside__ = True  # what it asks of the system counts as the program's: see `core.outside`

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ..core.dispatch_mode import DispatchMode
from ..core.dtype import is_inexact
from ..core.state import state
from ..graph.guards.search import reachable_from
from ..graph.runtime.compiled import Compiled
from ..graph.tracing.copies import copied
from ..graph.tracing.lines import Line, Lines
from ..graph.tracing.undo import undone

__all__ = ["Overflow", "Range", "trace_overflow"]

# these give memory that holds anything until it is written
_UNWRITTEN = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "resize_")


@dataclass(frozen=True)
class Range:
    """The range of a tensor's elements, and how many are not finite.

    Attributes:
        shape, dtype: of the tensor.
        low, high: the smallest and the largest finite element; nan if there is none.
        nans, infs: how many elements are NaN, and how many are infinite.
    """

    shape: tuple[int, ...]
    dtype: str
    low: float
    high: float
    nans: int
    infs: int

    def __str__(self) -> str:
        size = "x".join(str(n) for n in self.shape) or "scalar"
        text = f"{self.dtype} {size} in [{self.low:.6g}, {self.high:.6g}]"
        if self.nans or self.infs:
            text += f", {self.nans} NaN and {self.infs} Inf"
        return text


@dataclass(frozen=True)
class Overflow:
    """The first operation whose result had a NaN or Inf that none of its inputs had.

    Attributes:
        operation: its name, as PyTorch has it.
        phase: ``"forward"``, ``"backward"`` or ``"update"`` (an optimizer's).
        file, line: the program's line; in the backward pass that of the operation it belongs to.
        inputs, output: what lies in its inputs and its result.
        number: the how manyth operation of the step it was.
    """

    operation: str
    phase: str
    file: str
    line: int
    inputs: tuple[Range, ...]
    output: Range
    number: int

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.file else "no line of the program"
        lines = [f"'{self.operation}' ({self.phase}, operation {self.number}) made "
                 f"{self.output.nans} NaN and {self.output.infs} Inf: {where}"]
        lines += [f"  input {i}: {part}" for i, part in enumerate(self.inputs)]
        return "\n".join([*lines, f"  output: {self.output}"])


def trace_overflow(step: Callable[..., Any], *args: Any, **kwargs: Any) -> Overflow | None:
    """Run a step once, eagerly, and find the first operation that made a NaN or Inf.

    Forward, backward and the optimizer's update are looked at. The run ends at that operation.
    Afterwards Parameters, attributes of Cells and random numbers are as they were.

    Args:
        step: a function, a Cell, or what `jit` has made of them.
        *args, **kwargs: what to call it with.

    Returns:
        The operation, which prints as a report; None if all was finite.

    Raises:
        TypeError: if `step` can't be called.

    Examples:
        >>> import lamella as ms
        >>> def step(x):
        ...     return (ms.ops.log(x) * 2).sum()
        >>> found = ms.debug.trace_overflow(step, ms.Tensor([1.0, 0.0]))
        >>> found.operation, found.phase, found.inputs[0].low, found.output.infs
        ('log', 'forward', 0.0, 1)
        >>> print(ms.debug.trace_overflow(step, ms.Tensor([1.0, 2.0])))
        None
    """
    if not callable(step):
        raise TypeError(f"For 'trace_overflow', 'step' must be a function or a Cell, "
                        f"but got {type(step).__name__}.")
    function = step.fn if isinstance(step, Compiled) else step
    given, named = copied((args, kwargs))
    watching = _Watching()
    before, state.whole = state.whole, True  # nothing in it is compiled by itself
    try:
        with undone(reachable_from(function, (given, named))), watching:
            function(*given, **named)
    except _Found:
        pass
    finally:
        state.whole = before
    return watching.found


class _Found(BaseException):
    """Ends the step; no `except Exception` of the program's holds it up."""


class _Watching(DispatchMode):
    """Looks at the results of each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.found: Overflow | None = None
        self._lines = Lines()
        self._count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (),
                           kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        name = func._schema.name.partition("::")[2]
        line = self._lines.here()  # also for finite values: the backward pass uses it
        self._count += 1
        # what an operation changes in place is looked at before
        given = tree_leaves((args, kwargs))
        sources = [x for x in given if _is_float(x)]
        bad_before = any(not _is_finite(x) for x in sources) or any(
            isinstance(x, float) and not math.isfinite(x) for x in given)
        ranges = None if bad_before else tuple(_range(x) for x in sources if x.numel()) \
            if func._schema.is_mutable else None
        result = func(*args, **kwargs)
        if bad_before or name in _UNWRITTEN:
            return result
        for made in _results(result, func, sources):
            if not _is_finite(made):
                self.found = self._overflow(name, line, ranges, sources, made)
                raise _Found
        return result

    def _overflow(self, name: str, line: Line, ranges: tuple[Range, ...] | None,
                  sources: list[torch.Tensor], made: torch.Tensor) -> Overflow:
        if ranges is None:
            ranges = tuple(_range(x) for x in sources if x.numel())
        return Overflow(name, line.phase, line.file, line.number, ranges, _range(made),
                        self._count)


def _results(result: Any, func: Any, sources: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    """What an operation made, also in place."""
    yield from (x for x in tree_leaves(result) if _is_float(x))
    if func._schema.is_mutable:
        yield from sources


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and is_inexact(value.dtype)


def _is_finite(x: torch.Tensor) -> bool:
    return bool(torch.isfinite(x).all())


def _range(x: torch.Tensor) -> Range:
    x = x.detach()
    dtype = str(x.dtype).removeprefix("torch.")
    real = torch.view_as_real(x).flatten() if x.is_complex() else x.flatten()
    finite = real[torch.isfinite(real)].double()
    low, high = torch.aminmax(finite) if finite.numel() else [torch.tensor(float("nan"))] * 2
    return Range(tuple(x.shape), dtype, float(low), float(high), int(torch.isnan(real).sum()),
                 int(torch.isinf(real).sum()))
