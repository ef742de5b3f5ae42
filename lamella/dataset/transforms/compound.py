"""Operations made of others: one after the other, chosen at random, in random order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..checks import of_type
from .operation import Streams, TensorOperation, Values, is_pillow


def _operations(name: str, operations: Any) -> list[Any]:
    if not isinstance(operations, list):
        raise TypeError(f"{of_type('transforms list', operations, list)} For '{name}', "
                        f"'transforms' must be a list, but got {operations!r}.")
    if not operations:
        raise ValueError(f"transforms list is empty. For '{name}', transforms list can not be "
                         f"empty.")
    for place, operation in enumerate(operations):
        if not callable(operation):
            raise TypeError(f"transforms[{place}] is neither a transforms op (TensorOperation) nor "
                            f"a callable pyfunc. For '{name}', transforms[{place}] must be a "
                            f"transform or a function, but got {operation!r}.")
    return operations


def run_operation(operation: Any, values: Values, streams: Streams) -> Values:
    """The outputs of a transform or of a function."""
    if isinstance(operation, TensorOperation):
        return operation.run(values, streams)
    out = operation(*values)
    return out if isinstance(out, tuple) else (out,)


def _in_turn(operations: list[Any], values: Values, streams: Streams) -> Values:
    """The outputs of the last of some operations."""
    for operation in operations:
        values = run_operation(operation, values, streams)
    return values


class CompoundOperation(TensorOperation):
    """The base of operations made of others."""

    transforms: list[Any]

    def inner(self) -> Iterator[Any]:
        """The operations that it runs."""
        return iter(self.transforms)

    def accept(self, value: Any) -> Any:
        """The input: the first operation says what it takes."""
        first = self.transforms[0]
        return first.accept(value) if isinstance(first, TensorOperation) else value


class Compose(CompoundOperation):
    """Operations, one after the other.

    Args:
        transforms: a list of transforms and functions.

    Examples:
        >>> import numpy as np
        >>> from lamella.dataset import transforms
        >>> double = transforms.Compose([transforms.Fill(10), lambda x: x * 2])
        >>> double(np.array([1, 2, 3]))
        array([20, 20, 20])
    """

    def __init__(self, transforms: list[Any]):
        self.transforms = _operations("Compose", transforms)

    def __call__(self, *values: Any) -> Any:
        """The outputs: a tuple, where one of the operations, or the input, is Pillow's."""
        python = self._is_pillows()
        if not values and python:
            raise TypeError("Compose was called without an image. Fix invocation (avoid it being "
                            "invoked as Compose([...])()).")
        out = super().__call__(*values)
        if python or is_pillow(values[0]):
            return out if isinstance(out, tuple) else (out,)
        return out

    def _is_pillows(self) -> bool:
        """Whether an operation runs Python code, as those on Pillow's images do."""
        return any(isinstance(op, TensorOperation) and op.python for op in self.unfolded())

    def unfolded(self) -> list[Any]:
        """The operations, with those of nested Composes."""
        return [single for operation in self.transforms for single in (
            operation.unfolded() if isinstance(operation, Compose) else [operation])]

    def run(self, values: Values, streams: Streams) -> Values:
        """The outputs of the last of the operations.

        Where none is Pillow's and the input neither, an image of Pillow's that a function gives is
        an array for what comes next.
        """
        if self._is_pillows() or any(map(is_pillow, values)):
            return _in_turn(self.transforms, values, streams)
        for operation in self.transforms:
            values = tuple([np.asarray(value) if is_pillow(value) else value
                            for value in run_operation(operation, values, streams)])
        return values


class RandomApply(CompoundOperation):
    """All of the operations with a probability, else none.

    Args:
        transforms: a list of transforms and functions.
        prob: the probability.
    """

    draws = True

    def __init__(self, transforms: list[Any], prob: float = 0.5):
        self.transforms = _operations("RandomApply", transforms)
        self.prob = prob

    def run(self, values: Values, streams: Streams) -> Values:
        """The outputs, or the inputs."""
        share = random.random() if of_pillow(values) else streams.of(self).canonical()
        if share <= self.prob:
            return _in_turn(self.transforms, values, streams)
        return values


class RandomChoice(CompoundOperation):
    """One of the operations, chosen at random.

    Args:
        transforms: a list of transforms and functions.
    """

    draws = True

    def __init__(self, transforms: list[Any]):
        self.transforms = _operations("RandomChoice", transforms)

    def run(self, values: Values, streams: Streams) -> Values:
        """The outputs of the operation chosen."""
        if of_pillow(values):
            return run_operation(random.choice(self.transforms), values, streams)
        place = streams.of(self).integer(0, len(self.transforms) - 1)
        return run_operation(self.transforms[place], values, streams)


class RandomOrder(CompoundOperation):
    """All of the operations, in random order.

    Args:
        transforms: a list of transforms and functions.
    """

    python = True  # draws from `random`, as MindSpore does

    def __init__(self, transforms: list[Any]):
        self.transforms = _operations("RandomOrder", transforms)

    def run(self, values: Values, streams: Streams) -> Values:
        """The outputs of the last of the operations."""
        order = [*self.transforms]
        random.shuffle(order)
        return _in_turn(order, values, streams)


def of_pillow(values: Values) -> bool:
    """Whether an operation on these runs as Python code, which draws from `random`."""
    return bool(values) and is_pillow(values[0])
