"""The base classes of operations on rows, and their random number generators.

An operation is a function of arrays. Called by a program it draws from a new generator each time;
in a `map`, worker k has one generator for each operation, which goes on from row to row and from
epoch to epoch. So an operation doesn't own its generator: it takes it from the `Streams` it is
given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from typing import Any

import numpy as np

from ...common.mersenne_twister import Mt19937
from .. import config
from ..arguments import bound, check_arguments
from ..described import Described
from ..rows import as_array

Values = tuple[Any, ...]
_OURS = __name__.removesuffix("transforms.operation")  # where operations are that the table has


class Implementation(IntEnum):
    """Which implementation of an operation is used; here there is one."""

    C = 0
    PY = 1


class Streams:
    """The generators of one worker, one for each operation.

    Args:
        seed: the seed of all of them.
        operations: all operations; `state` identifies them by their indices here.
    """

    def __init__(self, seed: int, operations: Iterable[Any] = ()):
        self.seed = seed
        self.places = {id(operation): place for place, operation in enumerate(operations)}
        self.generators: dict[int, Mt19937] = {}

    def of(self, operation: Any) -> Mt19937:
        """The generator of an operation."""
        place = self.places.setdefault(id(operation), len(self.places))
        found = self.generators.get(place)
        if found is None:
            found = self.generators[place] = Mt19937(self.seed)
        return found

    def state(self) -> dict[int, Any]:
        """The state that `restore` continues from."""
        return {place: generator.state() for place, generator in self.generators.items()}

    def restore(self, state: dict[int, Any]) -> None:
        """Continue from where `state` was taken."""
        self.generators = {}
        for place, kept in state.items():
            self.generators[place] = Mt19937(self.seed)
            self.generators[place].restore(kept)


def _checked(init: Callable[..., None]) -> Callable[..., None]:
    """An operation's `__init__` that checks what a program's subclass gives it."""
    signature = inspect.signature(init)

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        if not type(self).__module__.startswith(_OURS):  # else `__new__` has checked it
            ours = next(cls for cls in type(self).__mro__ if cls.__module__.startswith(_OURS))
            if ours.__init__ is checked:
                ours._check_arguments(bound(ours.__name__, signature, (self, *args), kwargs))
        init(self, *args, **kwargs)

    return checked


class TensorOperation(Described):
    """The base of operations. A subclass gives `transform`, of one array, or `run`."""

    draws = False  # whether it asks for random numbers
    python = False  # whether it runs Python code of a user's, or Pillow's
    block: Any = None  # `transform` of stacked rows, where each of them goes alone
    _fits: tuple[Any, Any] = (None, None)  # the type and shape of the last input that was checked

    def __init__(self) -> None:
        """Takes nothing; without it, Python would take anything and say nothing."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and cls.__module__.startswith(_OURS):
            cls.__init__ = _checked(cls.__init__)

    @classmethod
    def _check_arguments(cls, arguments: dict[str, Any]) -> None:
        if arguments and cls.__module__.startswith(_OURS):
            check_arguments(cls.__module__.split(".")[2], cls.__name__, arguments)

    def __call__(self, *values: Any) -> Any:
        if not values:
            raise RuntimeError(f"Input Tensor is not valid. For '{type(self).__name__}', an input "
                               f"is expected, but got none.")
        if len(values) > 1 and not self._takes_several():
            raise RuntimeError(f"The op is OneToOne, can only accept one tensor as input. For "
                               f"'{type(self).__name__}', got {len(values)} inputs.")
        streams = Streams(config.pipeline_seed())
        given = tuple([self.accept(value) for value in values])
        try:
            out = self.run(given, streams)
        except Exception as error:
            if type(error).__module__ == "cv2":  # of OpenCV, whose class isn't known to programs
                raise RuntimeError(f"{type(self).__name__}: {error}") from error
            raise
        out = tuple(self.give(value) for value in out)
        return out[0] if len(out) == 1 else out

    def _takes_several(self) -> bool:
        """Whether a call may have several inputs; in a `map` each column goes alone then."""
        own = type(self).run is not TensorOperation.run
        return own or not type(self).__module__.startswith(_OURS)

    def accept(self, value: Any) -> Any:
        """The input as an array, an image of Pillow's as it is.

        Raises:
            TypeError: if it is neither.
        """
        if is_pillow(value):
            return value
        if isinstance(value, (list, tuple)):
            return np.asarray(value)
        try:
            return as_array(value)
        except TypeError:
            raise TypeError(f"For '{type(self).__name__}', the input must be a NumPy array or an "
                            f"image of Pillow's, but got {type(value).__name__}.") from None

    def give(self, value: Any) -> Any:
        """The output of a call, from what `run` gave."""
        return value

    def run(self, values: Values, streams: Streams) -> Values:
        """The outputs, a tuple, of the inputs, each column alone."""
        return tuple([self.transform(value) for value in values])

    def transform(self, value: Any) -> Any:
        """The output of one input."""
        raise NotImplementedError(f"'{type(self).__name__}' must define 'transform'.")

    def inner(self) -> Iterator[Any]:
        """The operations that it runs."""
        return iter(())

    def to_json(self) -> dict[str, Any]:
        """Its name and arguments."""
        arguments = {k: v for k, v in vars(self).items() if not k.startswith("_")}
        return {"tensor_op_name": type(self).__name__, "tensor_op_params": arguments}


class PyTensorOperation(TensorOperation):
    """The base of operations in Python; programs derive their own from it."""

    python = True


def is_pillow(value: Any) -> bool:
    """Whether a value is an image of Pillow's, without importing it."""
    return type(value).__module__.startswith("PIL.")


def flattened(operations: Iterable[Any]) -> Iterator[Any]:
    """All operations, those inside of others too, in a fixed order."""
    for operation in operations:
        yield operation
        if isinstance(operation, TensorOperation):
            yield from flattened(operation.inner())
