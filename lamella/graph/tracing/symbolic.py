"""Graphs for arguments of any size, recorded with symbols where sizes vary.

The function runs on tensors without data (PyTorch's fake tensors), whose sizes are symbols where
those of earlier calls have differed. What the run asks about a size (``if x.shape[0] > 8``) becomes
a condition on it; the graph holds for all sizes that meet the conditions.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from ...autodiff.tree import leaves
from ..guards.reach import Reach
from .changes import Before
from .recorder import CannotTrace, Recorder
from .trace import Trace, run_traced

LEAST = 2  # a size of 0 or 1 is a case of its own to many operations


class Preparation:
    """The import of what symbols need: seconds, so it is done by a thread while work goes on.

    Attributes:
        over: set when it has been done.
    """

    def __init__(self) -> None:
        self.over = threading.Event()
        self._begun = False

    def begin(self) -> None:
        """Begin it, unless that has been done."""
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._run, name="lamella-import", daemon=True).start()

    def _run(self) -> None:
        for name in ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes",
                     "torch._dynamo.source"):
            importlib.import_module(name)
        self.over.set()


    def forget(self) -> None:
        """In a forked process: the thread is the parent's."""
        if not self.over.is_set():
            self.__init__()


preparation = Preparation()
os.register_at_fork(after_in_child=preparation.forget)


class Symbolic:
    """What stands for the inputs of one symbolic run.

    Args:
        varying: for each of the arguments' Tensors, the dimensions whose size is a symbol.
    """

    def __init__(self, varying: list[set[int]]):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        self.varying = varying
        self.environment = ShapeEnv()
        self.mode = FakeTensorMode(shape_env=self.environment, allow_non_fake_inputs=True)
        self.inputs: list[torch.Tensor] = []

    def argument(self, raw: torch.Tensor) -> torch.Tensor:
        """What stands for the next argument, with symbols for its sizes that vary."""
        from torch._dynamo.source import ConstantSource
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

        number = len(self.inputs)
        sizes = [DimDynamic.DYNAMIC if d in self.varying[number] else DimDynamic.STATIC
                 for d in range(raw.dim())]
        self.inputs.append(self.mode.from_tensor(
            raw.detach(), source=ConstantSource(f"input_{number}"),
            symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)))
        return self.inputs[-1]

    def held(self, raw: torch.Tensor) -> torch.Tensor:
        """What stands for data of a form that doesn't vary."""
        return self.mode.from_tensor(raw.detach(), static_shapes=True)

    def recorder(self, inputs: list[torch.Tensor]) -> Recorder:
        """A recorder of kernels whose arguments may be sizes."""
        return SymbolicRecorder(inputs, self)

    def trace(self, reach: Reach, held: list, slots: list, recorder: Recorder) -> Trace:
        """A run that has nothing but forms."""
        return SymbolicTrace(reach, held, slots, recorder)

    def sizes(self) -> Callable[[list[torch.Tensor]], bool]:
        """What tells whether arguments have sizes that the graph holds for.

        Raises:
            CannotTrace: if the run has made sizes that vary the numbers they were.
        """
        symbols: dict[str, str] = {}
        conditions = []
        for number, stand_in in enumerate(self.inputs):
            for d, size in enumerate(stand_in.shape):
                here = f"shapes[{number}][{d}]"
                text = self.text(size)
                if text.isidentifier():
                    symbols.setdefault(text, here)
                elif d in self.varying[number] and not isinstance(size, torch.SymInt):
                    raise CannotTrace("needs sizes that are numbers")
                conditions.append(f"{text} == {here}")
        conditions.extend(f"{text} >= {LEAST}" for text in symbols)
        for guard in self.environment.guards:
            conditions.append(self._printed(guard.expr))
        for symbol, bounds in self.environment.var_to_range.items():
            if str(symbol) in symbols and int(bounds.lower) > LEAST:
                conditions.append(f"{symbol} >= {int(bounds.lower)}")
            if str(symbol) in symbols and bounds.upper.is_number and bounds.upper < 2**31:
                conditions.append(f"{symbol} <= {int(bounds.upper)}")
        names = ", ".join(symbols)
        met = _function(names + ", shapes" if names else "shapes",
                        " and ".join(f"({c})" for c in conditions) or "True", "met")
        places = _function("shapes", f"({', '.join(symbols.values())},)" if names else "()",
                           "places")

        def hold(given: list[torch.Tensor]) -> bool:
            shapes = [raw.shape for raw in given]
            return (all(raw.is_contiguous() for raw in given)
                    and met(*places(shapes), shapes))

        return hold

    def text(self, value: Any) -> str:
        """A size, or what is computed of sizes, as Python source."""
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

    def _described(self, value: Any) -> Any:
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self._computed(self.symbolic.text(value))
        return super()._described(value)

    def _computed(self, text: str) -> Any:
        """A node for what is computed of sizes, or the number."""
        found = self._values.get(text)
        if found is None:
            names = set(re.findall(r"[A-Za-z_]\w*", text))
            symbols = {name: node for name, node in self._symbols().items() if name in names}
            if not symbols:
                return eval(text, {"torch": torch})
            function = _function(", ".join(symbols), text, f"size_{len(self._values)}")
            found = self._values[text] = self.graph.call_function(
                function, tuple(symbols.values()))
        return found

    def _symbols(self) -> dict[str, Node]:
        """For each symbol, a node that reads it off an input."""
        for number, stand_in in enumerate(self.symbolic.inputs):
            for d in sorted(self.symbolic.varying[number]):
                text = self.symbolic.text(stand_in.shape[d])
                if text.isidentifier() and text not in self._values:
                    self._values[text] = self.graph.call_function(
                        torch.ops.aten.sym_size.int, (self._nodes[stand_in], d))
        return {name: node for name, node in self._values.items() if name.isidentifier()}


def _function(parameters: str, expression: str, name: str) -> Any:
    """A function of sizes, from its source; graphs show it by its name."""
    found = eval(f"lambda {parameters}: {expression}", {"torch": torch, "math": math})
    found.__name__ = found.__qualname__ = name
    found.__module__ = __name__
    return found


class SymbolicTrace(Trace):
    """A run on tensors without data: it has no values to guard, to print or to keep."""

    def refuse(self, what: str) -> None:
        raise CannotTrace(what)

    def exchange(self, call: Any, given: Any) -> Any:
        raise CannotTrace("communicates with other processes")

    def peek(self, raw: torch.Tensor) -> Any:
        raise CannotTrace("turns a tensor into a Python value")

    def guard(self, raw: torch.Tensor) -> Any:
        raise CannotTrace("turns a tensor into a Python value")

    def put_off(self, function: Callable[..., None], args: tuple, kwargs: dict) -> None:
        raise CannotTrace("prints")


def record(fn: Callable[..., Any], args: tuple, kwargs: dict, reach: Reach, symbolic: Symbolic,
           before: Before) -> Trace:
    """Run `fn` on what stands for its arguments; nothing real is computed or changed.

    Raises:
        CannotTrace: if no graph for several sizes can hold it.
    """
    trace = run_traced(fn, args, kwargs, reach, symbolic, before)
    names = {str(symbol) for symbol in symbolic.environment.var_to_range}
    for value in leaves(trace.out_tree):
        if (isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool))
                or isinstance(value, str) and names.intersection(re.findall(r"\w+", value))):
            raise CannotTrace("gives a size as a number or as text")
    return trace
