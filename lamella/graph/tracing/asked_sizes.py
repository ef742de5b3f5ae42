"""Sizes that PyTorch's code in C++ asks for as plain numbers, in a run with symbolic sizes.

Some of its rules (those of `vmap` for slices, for `gather`, for sorting; of forward mode) take
the sizes of a tensor as numbers and pass them on to kernels. For a symbolic size they get a large
prime. Where that, or a product with it, comes as an argument of a kernel, the symbol is put back.
Anything else that they compute with it would stay in the graph as a number. So the run is made a
second time with other primes: if both graphs are the same, no such number is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.fx import Graph, Node
from torch.fx.node import map_arg

from ..ir.loop import Loop

# in each run in another order and with other remainders, which rules may ask for
PRIMES = ((536870923, 536870951, 536871001, 536871017, 536871019, 536871029),
          (536870849, 536870569, 536870303, 536870239, 536870153, 536869891))
_LEAST = 1 << 28  # smaller numbers stand for themselves
_MOST_FACTOR = 1 << 24  # of a size, in a number that stands for a product


class AskedSizes:
    """The sizes that were asked for in one run.

    Args:
        run: which of the two runs it is, 0 or 1.
    """

    def __init__(self, run: int):
        self._primes = PRIMES[run]
        self._known: dict[str, tuple[int, Any]] = {}  # by expression: its prime, and the size

    def __bool__(self) -> bool:
        return bool(self._known)

    def number(self, size: Any, text: str) -> int:
        """A number for a size, which is symbolic if an expression is its `text`."""
        if text.isdigit() or text not in self._known and len(self._known) == len(self._primes):
            return int(size)  # a guard, if it is symbolic
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._primes[len(self._known)], size
        return known[0]

    def symbolic(self, value: Any) -> Any:
        """An argument of a kernel, with the sizes that numbers in it stand for."""
        if type(value) is int:
            return self._size(value) if abs(value) >= _LEAST else value
        if type(value) in (list, tuple):
            return type(value)([self.symbolic(part) for part in value])
        if type(value) is dict:
            return {name: self.symbolic(part) for name, part in value.items()}
        return value

    def _size(self, number: int) -> Any:
        factor, sizes = number, []
        for prime, size in self._known.values():
            while factor % prime == 0:
                factor //= prime
                sizes.append(size)
        if not sizes or abs(factor) > _MOST_FACTOR:
            return number
        for size in sizes:
            factor = factor * size
        return factor


def told(graph: Graph) -> list[str]:
    """A graph as lines of text, to compare it with another."""
    return [*_told(graph)]


def _told(graph: Graph) -> Iterator[str]:
    numbers: dict[Node, int] = {}
    for node in graph.nodes:
        given = map_arg((node.args, node.kwargs), lambda part: f"k{numbers[part]}")  # type: ignore
        target = node.target
        yield f"k{len(numbers)} = {node.op} {getattr(target, '__name__', target)}{given}"
        # a size's expression, or the steps of a loop
        yield getattr(target, "expression", "")
        for part in target.graphs if isinstance(target, Loop) else ():
            yield from _told(part.graph)
        numbers[node] = len(numbers)
