"""Graphs for arguments of any size, recorded with symbolic shapes.

The function runs on PyTorch's fake tensors, which have no data. Their sizes are symbols where those
of earlier calls have differed. A decision on a size (``if x.shape[0] > 8``) becomes a guard on the
symbols; the graph holds for all sizes that meet the guards.
"""

from __future__ import annotations

import importlib
import logging
import math
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.fx import Node
from torch.utils._mode_utils import no_dispatch

from ...core.structures import container_leaves as leaves
from ...core.wrappers import functorch
from ...machine import background
from ..guards.reachable import Reachable
from ..ir.operations import Effects
from ..ir.shapes import ShapeGuard
from .asked_sizes import AskedSizes, told
from .changes import Snapshot
from .effects import DeferredCall
from .given import Given
from .recorder import Recorder
from .refusals import CannotTrace, Cause
from .run import run_traced
from .run_kind import RunKind
from .trace import HeldTensor, Trace

# what rules in C++ ask of a tensor
_ASKED = {torch.ops.aten.size.default: torch.Tensor.size,
          torch.ops.aten.stride.default: torch.Tensor.stride}
# gradients of resized images, whose functions for shapes take numbers alone
_RESIZED_BACK = {f"aten::{name}_backward" for name in (
    "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_nearest1d",
    "upsample_nearest3d", "_upsample_nearest_exact1d", "_upsample_nearest_exact3d")}
LEAST = 2  # many operations treat sizes 0 and 1 as special cases


class Preparation:
    """The import of PyTorch's symbolic shapes by a thread, since it takes seconds.

    Attributes:
        finished: set when it is done.
    """

    def __init__(self) -> None:
        self.finished = threading.Event()
        self._begun = False

    @property
    def is_running(self) -> bool:
        """Whether it has begun and isn't done."""
        return self._begun and not self.finished.is_set()

    def begin(self) -> None:
        """Begin it, once."""
        if not self._begun:
            self._begun = True
            background.start("lamella-import", self._run, interrupted=False)

    def _run(self) -> None:
        try:
            for name in ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes",
                         "torch._dynamo.source"):
                importlib.import_module(name)
        finally:  # an error is raised again by the import where they are used
            self.finished.set()

    def forget(self) -> None:
        """In a forked process, which has no such thread: start anew."""
        if not self.finished.is_set():
            self.__init__()


preparation = Preparation()
os.register_at_fork(after_in_child=preparation.forget)


class Observed(NamedTuple):
    """What a run observed of its tensors' values, in order.

    Attributes:
        values: Python values; for each kernel with data-dependent shapes, a tuple of its results'
            metadata.
        varying: for each of these, by result, the dimensions that have differed between runs.
    """

    values: list[Any]
    varying: list[list[set[int]]]


class Symbolic(RunKind):
    """A run on fake tensors, and their symbols.

    Args:
        varying: for each of the arguments' Tensors, the dimensions whose size is a symbol.
        observed: what an earlier run observed, which this one assumes; the graph guards it.
        run: 1 for a second run like another one, see `asked_sizes`.
    """

    is_fake = True

    def __init__(self, varying: list[set[int]], observed: Observed | None = None, run: int = 0):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        self.varying = varying
        self.environment = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.environment, allow_non_fake_inputs=True)
        self.inputs: list[torch.Tensor] = []
        self.results: list[torch.Tensor] = []  # with data-dependent shapes
        self.guards: list[ShapeGuard] = []  # on these
        self.observed = observed or Observed([], [])
        self.asked = AskedSizes(run)
        self._next = 0

    def again(self) -> Symbolic:
        """The fake tensors and symbols of a second run like this."""
        return Symbolic(self.varying, self.observed, run=1)

    def data(self, raw: torch.Tensor, is_argument: bool) -> torch.Tensor:
        """A fake tensor; for the next argument with symbols for the sizes that vary."""
        if not is_argument:
            return self.mode.from_tensor(raw.detach(), static_shapes=True)
        number = len(self.inputs)
        self.inputs.append(self._stand_in(raw.detach(), f"input_{number}", self.varying[number]))
        return self.inputs[-1]

    def next_observed(self) -> Any:
        """The next value that the earlier run observed.

        Raises:
            CannotTrace: if it observed no more.
        """
        self._next += 1
        if self._next > len(self.observed.values):
            raise CannotTrace("reads other values off tensors than in the recorded run")
        return self.observed.values[self._next - 1]

    def result(self) -> Any:
        """Fake tensors for the results of the next kernel with data-dependent shapes."""
        metas = self.next_observed()
        if not isinstance(metas, tuple):
            raise CannotTrace("reads other values off tensors than in the recorded run")
        found = []
        for meta, dims in zip(metas, self.observed.varying[self._next - 1], strict=True):
            with no_dispatch():  # a real tensor
                raw = meta.empty()
            found.append(self._stand_in(raw, f"result_{len(self.results)}", dims))
            self.results.append(found[-1])
        return found

    def _stand_in(self, raw: torch.Tensor, name: str, varying: Set[int]) -> torch.Tensor:
        from torch._dynamo.source import ConstantSource
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

        sizes = [DimDynamic.DYNAMIC if d in varying else DimDynamic.STATIC
                 for d in range(raw.dim())]
        return self.mode.from_tensor(
            raw, source=ConstantSource(name),
            symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes))

    def trace(self, reach: Reachable, held: list[HeldTensor], inputs: list[torch.Tensor],
              given: Given) -> Trace:
        trace = SymbolicTrace(reach, held, SymbolicRecorder(inputs, self), given)
        trace.symbolic = self
        return trace

    def sizes(self) -> Callable[[Sequence[torch.Tensor]], bool]:
        """A function that checks whether the graph holds for the sizes of given arguments.

        This also sets the guards on the results with data-dependent shapes.

        Raises:
            CannotTrace: if the run needs a fixed number for a size that varies.
        """
        count = len(self.inputs)
        conditions: list[list[str]] = [[] for _ in range(len(self.results) + 1)]
        places: dict[str, str] = {}  # of symbols
        since: dict[str, int] = {}  # the step from which each symbol is known
        stands = [*zip(self.inputs, self.varying, strict=True),
                  *zip(self.results, self._varying_results(), strict=True)]
        relations = []
        for number, (stand_in, varying) in enumerate(stands):
            step = max(0, number - count + 1)
            for d, size in enumerate(stand_in.shape):
                here, text = f"tensors[{number}].shape[{d}]", self.text(size)
                if text.isidentifier():
                    if places.setdefault(text, here) == here:
                        since[text] = step
                elif d in varying and text.isdigit():
                    raise CannotTrace("needs the value of a size that varies")
                relations.append((step, f"{text} == {here}"))
            if step:
                relations.extend((step, f"{self.text(stride)} == tensors[{number}].stride({d})")
                             for d, stride in enumerate(stand_in.stride()))
        for step, text in relations + [(0, text) for text in self._guards_on(places)]:
            used = [since[name] for name in _names(text) if name in since]
            conditions[max(step, *used, 0)].append(text)
        met = [_condition({name: place for name, place in places.items() if since[name] <= step},
                          found) for step, found in enumerate(conditions)]
        for guard, holds in zip(self.guards, met[1:], strict=True):
            guard.holds = holds
        return lambda tensors: all(raw.is_contiguous() for raw in tensors) and met[0](tensors)

    def said(self, trace: Trace) -> list[str]:
        """What a run has recorded, for a comparison with another."""
        assert trace.outcome is not None
        guards = [str(guard.expr) for guard in self.environment.guards]
        return [*told(trace.recorder.graph), *guards,
                *[self.text(value) for value in leaves(trace.outcome.out_tree)
                  if isinstance(value, (int, float, torch.SymInt, torch.SymFloat))]]

    def _varying_results(self) -> list[set[int]]:
        return [dims for several in self.observed.varying[:self._next] for dims in several]

    def _guards_on(self, symbols: Iterable[str]) -> Iterator[str]:
        """The guards on the symbols."""
        yield from (f"{text} >= {LEAST}" for text in symbols)
        for guard in self.environment.guards:
            yield self._printed(guard.expr)
        for symbol, bounds in self.environment.var_to_range.items():
            if str(symbol) in symbols and int(bounds.lower) > LEAST:
                yield f"{symbol} >= {int(bounds.lower)}"
            if str(symbol) in symbols and bounds.upper.is_number and bounds.upper < 2**31:
                yield f"{symbol} <= {int(bounds.upper)}"

    def text(self, value: Any) -> str:
        """A size, or an expression of sizes, as Python source."""
        if not isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return repr(value)
        return self._printed(value.node.expr)

    def _printed(self, expression: Any) -> str:
        from torch.utils._sympy.printers import PythonPrinter

        return PythonPrinter().doprint(self.environment.replace(expression))


class SymbolicRecorder(Recorder):
    """A recorder of kernels whose arguments may be sizes."""

    def __init__(self, inputs: list[torch.Tensor], symbolic: Symbolic):
        self.symbolic = symbolic
        self._values: dict[str, Node] = {}
        super().__init__(inputs)

    def _dispatched(self, func: Any, known: Effects, types: Any, args: Any, kwargs: dict) -> Any:
        asked = self.symbolic.asked
        if func in _ASKED:
            return tuple([asked.number(size, self.symbolic.text(size))
                          for size in _ASKED[func](args[0])])
        if asked:
            args, kwargs = asked.symbolic(args), asked.symbolic(kwargs)
        return super()._dispatched(func, known, types, args, kwargs)

    def _run(self, func: Any, args: tuple, kwargs: dict, call: Any = None) -> Any:
        from torch._dispatch.python import enable_python_dispatcher  # imports SymPy

        if func._schema.name in _RESIZED_BACK:
            call = _resized_back
        elif func is torch.ops.aten.index.Tensor and call is None:
            call = _indexed
        with enable_python_dispatcher():  # in C++ the kernels that one calls ask for numbers
            return super()._run(func, args, kwargs, call)

    def _results_of(self, func: Any) -> Any:
        return lambda *args, **kwargs: (
            self.symbolic.result()[0] if len(func._schema.returns) == 1
            else tuple(self.symbolic.result()))

    def _alike(self, raw: torch.Tensor) -> torch.Tensor:
        return raw  # among fake tensors, the contents of real ones can't be read

    def _described(self, value: Any) -> Any:
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self._computed(self.symbolic.text(value))
        return super()._described(value)

    def _computed(self, text: str) -> Any:
        """A node for an expression of sizes, or its value if it has no symbols."""
        found = self._values.get(text)
        if found is None:
            names = _names(text)
            symbols = {name: node for name, node in self._symbols().items() if name in names}
            if any(str(symbol) in names and str(symbol) not in symbols
                   for symbol in self.symbolic.environment.var_to_range):
                raise CannotTrace("computes a size from a size that is not known before the run")
            if not symbols:
                return eval(text, {"torch": torch})
            function = _function(", ".join(symbols), text, f"size_{len(self._values)}")
            function.expression = text
            found = self._values[text] = self.graph.call_function(
                function, tuple(symbols.values()))
        return found

    def _symbols(self) -> dict[str, Node]:
        """For each symbol, a node that reads it from an input."""
        for stand_in in (*self.symbolic.inputs, *self.symbolic.results):
            for d, size in enumerate(stand_in.shape):
                text = self.symbolic.text(size)
                if text.isidentifier() and text not in self._values:
                    self._values[text] = self.graph.call_function(
                        torch.ops.aten.sym_size.int, (self._node_of(stand_in), d))
        return {name: node for name, node in self._values.items() if name.isidentifier()}


def _resized_back(gradient: torch.Tensor, output_size: Any, input_size: Sequence[Any], *_: Any
                  ) -> torch.Tensor:
    """The gradient by an image that was resized."""
    from torch._prims_common import suggest_memory_format  # imports SymPy

    return gradient.new_empty(input_size).to(memory_format=suggest_memory_format(gradient))


def _indexed(raw: torch.Tensor, places: Sequence[torch.Tensor | None]) -> torch.Tensor:
    """What is at some places: PyTorch's function for shapes is wrong for places of several ranks.
    """
    spread = iter(torch.broadcast_tensors(*[one for one in places if one is not None]))
    return torch.ops.aten.index.Tensor(raw, [one if one is None else next(spread)
                                             for one in places])


def _names(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def _condition(places: Mapping[str, str], conditions: list[str]
               ) -> Callable[[Sequence[torch.Tensor]], bool]:
    """A function that checks guards on symbols; `places` tells where tensors have their values."""
    met = _function(", ".join([*places, "tensors"]),
                    " and ".join(f"({c})" for c in conditions) or "True", "met")
    values = _function("tensors", f"({''.join(f'{place}, ' for place in places.values())})",
                       "values")
    return lambda tensors: met(*values(tensors), tensors)


def _function(parameters: str, expression: str, name: str) -> Any:
    """A function of sizes, from its source; graphs show it by its name."""
    found = eval(f"lambda {parameters}: {expression}", {"torch": torch, "math": math})
    found.__name__ = found.__qualname__ = name
    found.__module__ = __name__
    return found


class SymbolicTrace(Trace):
    """A run on fake tensors: it assumes the values that an earlier run observed."""

    symbolic: Symbolic

    def refuse(self, what: str, cause: Cause = Cause.ALWAYS) -> None:
        raise CannotTrace(what, cause)

    def exchange(self, call: Any, given: Any) -> Any:
        raise CannotTrace("communicates with other processes")

    def peek(self, raw: torch.Tensor) -> Any:
        raise CannotTrace("turns a tensor into a Python value")

    def guard(self, raw: torch.Tensor) -> Any:
        value = self.symbolic.next_observed()
        if isinstance(value, tuple):
            raise CannotTrace("reads other values off tensors than in the recorded run")
        self.note_guard(raw.detach(), value)
        return value

    def guard_shape(self, raw: torch.Tensor) -> None:
        guard = ShapeGuard.of(raw)
        self.symbolic.guards.append(guard)
        self.note_guard(raw, guard)

    def from_numpy(self, array: Any) -> torch.Tensor:
        return torch.from_numpy(array)

    def defer(self, function: Callable[..., None], args: tuple, kwargs: dict,
              keep: Callable[[Any], Any] | None = None) -> None:
        self.deferred.append(DeferredCall(function, args, kwargs, keep))


def record(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reachable, symbolic: Symbolic
           ) -> Trace:
    """Run `fn` on fake tensors for its arguments; nothing real is computed or changed.

    Raises:
        CannotTrace: if no graph for several sizes can hold it.
    """
    try:
        trace = _run(fn, args, kwargs, reach, symbolic)
        if symbolic.asked:
            again = symbolic.again()
            if symbolic.said(trace) != again.said(_run(fn, args, kwargs, reach, again)):
                raise CannotTrace(_COMPUTED)
    except RuntimeError as error:
        raise CannotTrace(_COMPUTED) if symbolic.asked else error from error
    return trace


_COMPUTED = "computes with a size that varies in a rule of PyTorch's"


def _run(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reachable, symbolic: Symbolic
         ) -> Trace:
    before, given = Snapshot(reach), Given((args, kwargs))
    try:
        with _rules_alone():
            trace = run_traced(fn, args, kwargs, reach, symbolic, before)
    finally:
        before.restore()
        given.restore()
    names = {str(symbol) for symbol in symbolic.environment.var_to_range}
    assert trace.outcome is not None  # a refusal raises
    for value in leaves(trace.outcome.out_tree):
        if isinstance(value, str) and names.intersection(re.findall(r"\w+", value)):
            raise CannotTrace("returns a size as text")
    return trace


@contextmanager
def _rules_alone() -> Iterator[None]:
    """A block without `vmap`'s fallback (a loop over examples), and without fake tensors' log."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    before = functorch._is_vmap_fallback_enabled(), logger.disabled
    functorch._set_vmap_fallback_enabled(False)
    logger.disabled = True  # what they raise is the reason why there is no such graph
    try:
        yield
    finally:
        functorch._set_vmap_fallback_enabled(before[0])
        logger.disabled = before[1]
