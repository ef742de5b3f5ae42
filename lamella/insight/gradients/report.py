"""`GradientReport`: what was found out about the gradients of a run, as dicts, text and a page."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, Any

from .findings import HARMLESS, Findings
from .page import page
from .record import Step, Value

if TYPE_CHECKING:
    from rich.table import Table


class GradientReport(Findings):
    """What became of every gradient of one run; made by `inspect_gradients`.

    Attributes:
        name: of the function or Cell.
        values: the tensors of the run, with their numbers and those of their gradients.
        steps: the operations between them.

    Examples:
        >>> import lamella as ms
        >>> from lamella import ops
        >>> w = ms.Parameter(ms.Tensor([1.0, -2.0]), name="w")
        >>> report = ms.inspect_gradients(lambda x: ops.relu(w * x) * 0, ms.Tensor([1.0, 2.0]),
        ...                               weights=w)
        >>> print(report.why("w").split(" in ")[0])
        The gradient of 'w' is zero because it is multiplied by the number 0
        >>> report.to_dict()["parameters"][0]["gradient"]["zeros"]
        1.0
    """

    def to_dict(self) -> dict[str, Any]:
        """All of it, in plain dicts, lists, numbers and texts."""
        return {
            "function": self.name,
            "parameters": [self._known_dict(n, v) for n, v in self.parameters.items()],
            "inputs": [self._known_dict(n, v) for n, v in self.inputs.items()],
            "cells": [{"path": path, "class": type(cell).__name__}
                      for path, cell in self.names.cells.values()],
            "steps": [self._step_dict(step) for step in self.steps],
            "edges": [self._edge_dict(v) for v in self.values],
            "cuts": [{"step": s.id, "kind": s.cut, "text": self.cut_text(s)} for s in self.cuts],
            "rules": [{"at": at, **rule.to_dict()} for at, rule in self.rules()],
        }

    def _known_dict(self, name: str, value: Value) -> dict[str, Any]:
        return {"name": name, "edge": value.id, "mark": self.mark(name), "why": self.why(name),
                "value": value.numbers and value.numbers.to_dict(),
                "gradient": value.gradient and value.gradient.to_dict()}

    def _step_dict(self, step: Step) -> dict[str, Any]:
        return {"id": step.id, "operator": step.operator, "kernel": step.kernel,
                "cell": self.cell_of[step.number], "file": step.place.file,
                "line": step.place.line, "inputs": [v.id for v in step.inputs],
                "outputs": [v.id for v in step.outputs], "cut": step.cut,
                "rules": [rule.to_dict() for rule in step.rules]}

    def _edge_dict(self, value: Value) -> dict[str, Any]:
        return {"id": value.id, "kind": value.kind, "name": value.name,
                "from": value.maker and value.maker.id, "to": [s.id for s in value.uses],
                "output": value.is_output, "differentiated": value.tracked,
                "value": value.numbers and value.numbers.to_dict(),
                "gradient": value.gradient and value.gradient.to_dict()}

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def keys(self) -> list[str]:
        """The keys of `to_dict`."""
        return list(self.to_dict())

    def __rich__(self) -> Table:
        from rich.table import Table

        table = Table(title=f"Gradients of {self.name}")
        table.add_column("Parameter", no_wrap=True)
        for title in ("Shape", "Value norm", "Gradient norm", "Zeros"):
            table.add_column(title, justify="right")
        table.add_column("Remark")
        for name, value in {**self.inputs, **self.parameters}.items():
            own, gradient, mark = value.numbers, value.gradient, self.mark(name)
            table.add_row(name, str(own.shape) if own is not None else "",
                          f"{own.norm:.4g}" if own is not None else "",
                          f"{gradient.norm:.4g}" if gradient is not None else "–",
                          f"{gradient.zeros:.0%}" if gradient is not None else "–",
                          mark, style="red" if mark else None)
        table.caption = "report.why(name) says why"
        return table

    def print_table(self) -> None:
        """Print the Parameters and inputs, with what is odd about each."""
        from rich.console import Console

        Console().print(self)

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Write everything as one HTML file that needs nothing else; returns its path."""
        return page(self).write(path)

    def _repr_html_(self) -> str:
        """The page in a notebook."""
        return page(self).inline()

    def __repr__(self) -> str:
        odd = [f"{n}: {m}" for n in self._known if (m := self.mark(n)) and m not in HARMLESS]
        shown = f", {len(odd)} odd ({', '.join(odd[:3])}{', ...' if len(odd) > 3 else ''})"
        return (f"GradientReport({self.name}: {len(self.parameters)} Parameters, "
                f"{len(self.steps)} steps{shown if odd else ''})")
