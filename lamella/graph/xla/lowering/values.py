"""The values of a graph while it is traced by JAX, by number."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from .later import jnp, lax


class Values:
    """The values of a graph so far.

    The parts of a stack are taken when they are read, so that a loop can read the stack itself.

    Args:
        inputs: the first values, as they lie in memory.
        orders: for each, the dimensions in the order that they have in the graph, or None.
    """

    def __init__(self, inputs: list[Any], orders: list[list[int] | None]):
        self._own: dict[int, Any] = {
            n: jnp.transpose(x, order) if order else x
            for n, (x, order) in enumerate(zip(inputs, orders, strict=True))}
        self._stacks: dict[Any, Any] = {}  # by numbers of lists, and by value and dimension
        self._late: dict[Any, Callable[[], Any]] = {}  # stacks that are made when they are read
        self._parts: dict[int, tuple[Any, int]] = {}  # the stack, and the number in it

    def __getitem__(self, number: int) -> Any:
        if number not in self._own:
            stack, which = self._parts[number]
            self._own[number] = lax.index_in_dim(self._stack(stack), which, keepdims=False)
        return self._own[number]

    def __setitem__(self, number: int, value: Any) -> None:
        self._own[number] = value

    def read(self, arg: Any) -> Any:
        """An argument with its values in place of their numbers."""
        if isinstance(arg, dict):
            (kind, inner), = arg.items()
            return self[inner] if kind == "n" else complex(*inner) if kind == "complex" else inner
        return [self.read(a) for a in arg] if isinstance(arg, list) else arg

    def after(self, inputs: int) -> Callable[[int], Any]:
        """A function from the number of a step to its value, given the number of inputs."""
        return lambda step: self[inputs + step]

    # parts of stacks

    def several(self, number: int, stack: Callable[[], Any]) -> None:
        """Keep a list of values, the parts of a stack."""
        self._late[number] = stack

    def part(self, number: int, source: tuple[int, int], which: int) -> None:
        """Keep a part of a value along a dimension."""
        value, dim = source
        length = self[value].shape[dim]
        self._late.setdefault(source, lambda: jnp.moveaxis(self[value], dim, 0))
        self._parts[number] = source, which % length

    def keep_stack(self, numbers: list[int], stack: Any) -> None:
        """Keep the parts of a stack, by their numbers."""
        self._stacks[numbers[0]] = stack
        for which, number in enumerate(numbers):
            self._parts[number] = numbers[0], which

    def has_parts(self, numbers: list[int]) -> bool:
        """Whether some values of one type are parts of stacks."""
        return any(n in self._parts for n in numbers) and len({
            self[n].dtype for n in numbers if n not in self._parts}
            | {self._stack(self._parts[n][0]).dtype for n in numbers if n in self._parts}) == 1

    def stack(self, numbers: list[int]) -> Any:
        """Values as a stack: of pieces of those that they are parts of, and of single values.

        The first and last steps of a program's loop often stand apart from the stack of the others.
        """
        runs = itertools.groupby(numbers, lambda n: self._parts.get(n, (None, 0))[0])
        pieces = [piece for name, run in runs for piece in self._pieces(name, list(run))]
        return pieces[0] if len(pieces) == 1 else jnp.concatenate(pieces)

    def _pieces(self, name: Any, numbers: list[int]) -> list[Any]:
        """The stacks that values make: one if they are parts of the stack of this name."""
        if name is None:
            return [self[n][None] for n in numbers]
        at = [self._parts[n][1] for n in numbers]
        whole, first, last = self._stack(name), at[0], at[-1]
        if at == list(range(first, last + 1)):
            return [whole[first:last + 1]]
        if at == list(range(first, last - 1, -1)):
            return [whole[last:first + 1][::-1]]
        return [whole[jnp.asarray(at)]]

    def any_of(self, numbers: list[int]) -> Any:
        """Whether any element of some values isn't 0; parts of a stack are read together."""
        groups: dict[Any, list[int]] = {}
        for n in numbers:
            groups.setdefault(self._parts[n][0] if n in self._parts else ("alone", n), []).append(n)
        found = [(self.stack(group) if len(group) > 1 else self[group[0]]).astype(bool).any()
                 for group in groups.values()]
        return functools.reduce(jnp.logical_or, found)

    def _stack(self, name: Any) -> Any:
        if name not in self._stacks:
            self._stacks[name] = self._late[name]()
        return self._stacks[name]

    def item(self, number: int, several: int, which: int) -> None:
        """Keep one of several values."""
        if several in self._late:
            self._parts[number] = several, which
        else:
            self[number] = self[several][which]
