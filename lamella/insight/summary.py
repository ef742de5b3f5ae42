"""summary: the layers of a network with their shapes, Parameters, operations and times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ..core.elsewhere import found_elsewhere
from ..core.require import of_type
from ..core.structures import leaves
from ..nn.cell import Cell
from ..tensors.tensor import Tensor
from .dry_run import FlopCounter, dry_run

__all__ = ["LayerSummary", "Summary", "summary"]


@dataclass
class LayerSummary:
    """One Cell of a network, as `summary` saw it.

    Attributes:
        name: its path in the network, ``""`` for the network itself.
        kind: its class.
        depth: how many Cells it lies in.
        calls: how often it was called.
        shapes: the shapes of the Tensors that its last call gave.
        parameters: how many numbers its Parameters hold, those of the Cells in it included.
        trainable: how many of these are trained.
        flops: floating-point operations of its products, convolutions and attention.
        seconds: the time of its calls.
        output_bytes: what its results take in memory.
    """

    name: str
    kind: str
    depth: int
    calls: int = 0
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    parameters: int = 0
    trainable: int = 0
    flops: int = 0
    seconds: float = 0.0
    output_bytes: int = 0


@dataclass
class Summary:
    """What `summary` found; printed, it is a table.

    Attributes:
        layers: each Cell, the network itself first.
    """

    layers: list[LayerSummary]
    deepest: int

    def rows(self) -> list[tuple[str, ...]]:
        """The table: what its columns are called, and a row for each layer."""
        return [("layer", "output", "parameters", "MFLOP", "ms"),
                *(_row(layer) for layer in self.layers if layer.depth <= self.deepest)]

    def total(self) -> str:
        """The sums, as a sentence."""
        whole = self.layers[0]
        inner = sum(layer.output_bytes for layer in self.layers if self._is_leaf(layer))
        return (f"{whole.parameters:,} parameters, {whole.trainable:,} of them trained; "
                f"{whole.flops / 1e6:,.2f} MFLOP forward; results of layers take "
                f"{inner / 2 ** 20:,.2f} MiB")

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join((row[0].ljust(widths[0]), row[1].ljust(widths[1]), *(
            text.rjust(width) for text, width in zip(row[2:], widths[2:], strict=True))))
            for row in rows]
        rule = "-" * len(lines[0])
        return "\n".join([lines[0], rule, *lines[1:], rule, self.total()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        return found_elsewhere("insight", "summary_html")(self)

    def _is_leaf(self, layer: LayerSummary) -> bool:
        start = f"{layer.name}." if layer.name else ""
        return not any(other is not layer and other.name.startswith(start)
                       for other in self.layers)


def summary(network: Cell, *inputs: Any, depth: int | None = None) -> Summary:
    """The layers of a network: shapes, Parameters, operations, times, and memory of results.

    The network is called twice, eagerly, as it is (training or not); the second call counts. What
    the calls change, such as the statistics of a batch norm, is undone.

    Args:
        network: the network.
        *inputs: what to call it with.
        depth: how many levels of Cells within Cells the table shows; None: all.

    Returns:
        A `Summary`: ``print`` shows a table, its `layers` are the numbers.

    Raises:
        TypeError: if `network` is no Cell, or `depth` no int.
        ValueError: if `depth` is below 0.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(4, 8), ms.nn.ReLU(), ms.nn.Dense(8, 2))
        >>> found = ms.summary(net, ms.ops.ones((5, 4)))
        >>> for layer in found.layers:
        ...     print(layer.name, layer.kind, layer.shapes, layer.parameters, layer.flops)
         SequentialCell [(5, 2)] 58 480
        0 Dense [(5, 8)] 40 320
        1 ReLU [(5, 8)] 0 0
        2 Dense [(5, 2)] 18 160
    """
    of_type(network, Cell, "network", "summary")
    if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int)):
        raise TypeError(f"For 'summary', 'depth' must be an int or None, but got {depth!r}.")
    if depth is not None and depth < 0:
        raise ValueError(f"For 'summary', 'depth' must be 0 or more, but got {depth}.")
    layers = {id(cell): _described(name, cell) for name, cell in network.cells_and_names()}
    with dry_run(network, inputs) as counter, ExitStack() as hooks:
        network(*inputs)  # what only a first call does costs no layer its time
        for _, cell in network.cells_and_names():
            for handle in _watched(cell, layers[id(cell)], counter):
                hooks.callback(handle.remove)
        network(*inputs)
    found = list(layers.values())
    return Summary(found, max(layer.depth for layer in found) if depth is None else depth)


def _described(name: str, cell: Cell) -> LayerSummary:
    layer = LayerSummary(name, type(cell).__name__, name.count(".") + 1 if name else 0)
    for parameter in cell.get_parameters():
        layer.parameters += parameter.size
        layer.trainable += parameter.size if parameter.requires_grad else 0
    return layer


def _watched(cell: Cell, layer: LayerSummary, counter: FlopCounter) -> Iterator[Any]:
    """Hooks that note what a Cell's calls cost and give."""
    begun: list[tuple[float, int]] = []

    def before(cell: Cell, inputs: Any) -> None:
        begun.append((time.perf_counter(), counter.flops))

    def after(cell: Cell, inputs: Any, output: Any) -> None:
        start, flops = begun.pop()
        results = [leaf for leaf in leaves(output) if isinstance(leaf, Tensor)]
        layer.seconds += time.perf_counter() - start
        layer.flops += counter.flops - flops
        layer.calls += 1
        layer.shapes = [tensor.shape for tensor in results]
        layer.output_bytes += sum(tensor.nbytes for tensor in results)

    yield cell.register_forward_pre_hook(before)
    yield cell.register_forward_hook(after)


def _row(layer: LayerSummary) -> tuple[str, ...]:
    name = "  " * layer.depth + (layer.name.rpartition(".")[2] + " " if layer.name else "")
    times = f" x {layer.calls}" if layer.calls > 1 else ""
    return (f"{name}{layer.kind}{times}", ", ".join(map(str, layer.shapes)) or "-",
            f"{layer.parameters:,}", f"{layer.flops / 1e6:,.2f}", f"{layer.seconds * 1e3:,.2f}")
