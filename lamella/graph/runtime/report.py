"""CompilationReport: what a compiled function did, as a dict, as text, and as a page."""

from __future__ import annotations

import os
import pathlib
from typing import NamedTuple

from ...core.elsewhere import found_elsewhere
from ..tracing.lines import Line
from .replay import Replay

__all__ = ["CompilationReport", "GraphReport", "advice"]


class GraphReport(NamedTuple):
    """One recorded graph.

    Attributes:
        kernels: how many operations were recorded.
        backend: what runs it now: ``"replay"`` or a compiler.
        runs: how often it was replayed.
        seconds: how long all replays took.
        least: how long the shortest took.
        settled: whether the choice how it is run is final.
        decisions: the lines where the program read a value that the graph holds for.
    """

    kernels: int
    backend: str
    runs: int
    seconds: float
    least: float
    settled: bool
    decisions: list[str]


def described(replay: Replay) -> GraphReport:
    """The report of a recorded graph."""
    execution = replay.execution
    lines = [_text(line) for line in replay.lines]
    return GraphReport(execution.nodes, execution.backend, execution.runs, execution.spent,
                       execution.least if execution.runs else 0.0, execution.is_final,
                       list(dict.fromkeys(filter(None, lines))))


def _text(line: Line) -> str:
    return str(line).strip().removeprefix("(").removesuffix(")")


# what stands in the reason for running eagerly -> what to do about it; the first that fits
_ADVICE = (
    ("NumPy", "Compute with `ops` instead of NumPy, or return the Tensor and convert it outside."),
    ("Python numbers of a tensor", "Use `tolist()` outside, or index the Tensor instead."),
    ("text of a tensor", "Return the Tensor, and make the text outside; `print(tensor)` is fine."),
    ("log", "Log outside of the function, or only numbers, in one line of an f-string."),
    ("environment", "Read the environment once, outside, and pass the value as an argument."),
    ("setting", "Change settings outside of the function."),
    ("seed", "Set seeds outside; inside, pass a Generator or draw from the default one."),
    ("dataset", "Iterate over the dataset outside, and compile the step that takes a batch."),
    ("id of an object", "Compare objects by their contents, not by `id`."),
    ("hash", "Use Tensors and numbers, not objects with a hash of their own, as keys."),
    ("address", "Leave `data_ptr()` out of the function."),
    ("other values so far", "Give the same object each time, or Tensors and numbers."),
    ("calls", "Move the call out of the function, before or after the step; clocks, files, "
              "sockets and other libraries can't be replayed."),
    ("changed", "Read the value before the function changes what it depends on."),
)


def advice(reason: str) -> str:
    """What to do so that a function is compiled, given why it runs eagerly."""
    return next((hint for part, hint in _ADVICE if part in reason),
                "Compile the part around it: `jit` on the functions before and after.")


class CompilationReport(dict):
    """What `report()` of a compiled function gives: a dict, which printed is a text.

    Attributes:
        name: the function's.
        details: a `GraphReport` for each recorded graph.

    Examples:
        >>> import lamella as ms
        >>> @ms.jit
        ... def double(x):
        ...     return x * 2
        >>> for size in (2, 2, 3):
        ...     _ = double(ms.ops.ones(size))
        >>> report = double.report()
        >>> report["traces"], report["replays"]
        (2, 1)
        >>> print(str(report).splitlines()[0])
        double: 2 graphs, 1 replay, 0 reasons to run eagerly
    """

    name: str
    details: list[GraphReport]

    def __str__(self) -> str:
        eager, again = self["eager"], self["recompilations"]
        parts = [f"{self.name}: {_count(self['graphs'], 'graph')}, "
                 f"{_count(self['replays'], 'replay', 'replays')}, "
                 f"{_count(len(eager), 'reason')} to run eagerly"]
        for number, graph in enumerate(self.details, 1):
            often = f"{graph.runs} runs, the shortest {1e3 * graph.least:.3g} ms" if graph.runs \
                else "not replayed yet"
            parts.append(f"  graph {number}: {graph.kernels} operations, {graph.backend}, {often}"
                         + ("" if graph.settled else "; still being improved"))
            parts += [f"    holds for a value read at {line}" for line in graph.decisions]
        parts += ["  recorded again, since a guard failed:"] * bool(again)
        parts += [f"    {text}" for text in again]
        for reason in eager:
            parts += [f"  runs eagerly: {reason}", f"    {advice(reason)}"]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """The report in a notebook."""
        return found_elsewhere("graph", "compilation_html")(self)

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Write a page that needs nothing but itself.

        Args:
            path: of the HTML file.

        Returns:
            The path.
        """
        return found_elsewhere("graph", "compilation_page")(self).write(path)


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"
