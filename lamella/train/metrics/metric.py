"""Metric: the base of all metrics, and what several of them do first."""

from __future__ import annotations

import functools
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.errors import describe, explain_construction, op
from ...tensors.tensor import Tensor

__all__ = ["Metric", "class_indices", "no_samples", "rearrange_inputs", "widened"]


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate `update` so that `Metric.set_indexes` chooses which inputs it gets.

    Examples:
        >>> import lamella as ms
        >>> class Sum(ms.train.Metric):
        ...     def clear(self):
        ...         self.total = 0
        ...     @ms.train.rearrange_inputs
        ...     def update(self, *inputs):
        ...         self.total += inputs[0].sum()
        ...     def eval(self):
        ...         return self.total
        >>> metric = Sum().set_indexes([1])
        >>> print(metric(ms.Tensor([1.0]), ms.Tensor([5.0])))
        5.0
    """
    @functools.wraps(func)
    def wrapper(self: Any, *inputs: Any) -> Any:
        indexes = self.indexes
        return func(self, *(inputs if not indexes else [inputs[i] for i in indexes]))
    return wrapper


class Metric(metaclass=ABCMeta):
    """The base of metrics: `update` for each batch, `eval` at the end, `clear` before it starts.

    A subclass defines all three. A metric called with inputs is cleared, updated, evaluated.

    Examples:
        >>> import lamella as ms
        >>> class Count(ms.train.Metric):
        ...     def clear(self):
        ...         self.count = 0
        ...     def update(self, *inputs):
        ...         self.count += len(inputs[0])
        ...     def eval(self):
        ...         return self.count
        >>> Count()(ms.Tensor([1.0, 2.0]))
        2
    """

    def __init_subclass__(cls, **given: Any) -> None:
        """Let errors about the arguments of Lamella's own metrics name them."""
        super().__init_subclass__(**given)
        explain_construction(cls)
        for name in ("update", "eval"):
            method = vars(cls).get(name)
            if method is not None and method.__module__.startswith("lamella."):
                setattr(cls, name, op(method, f"{cls.__name__}.{name}"))

    def __init__(self):
        self._indexes: list[int] | None = None

    def _convert_data(self, data: Any) -> np.ndarray:
        """An input as an array.

        Raises:
            TypeError: if it is no Tensor, list or array.
        """
        if isinstance(data, Tensor):
            return data.asnumpy()
        if not isinstance(data, (list, np.ndarray)):
            raise TypeError(f"For '{type(self).__name__}', inputs must be Tensors, lists or "
                            f"arrays, but got {type(data).__name__}.")
        array = np.asarray(data)
        if array.dtype.kind not in "biufc":
            raise TypeError(f"For '{type(self).__name__}', inputs must be made of numbers, "
                            f"but got {describe(data)}.")
        return array

    def _two(self, inputs: tuple) -> tuple[np.ndarray, np.ndarray]:
        """The two inputs, predicted and true values, as arrays of a type to compute with."""
        self._count(inputs, 2, "predicted value, true value")
        predicted, true = self._convert_data(inputs[0]), self._convert_data(inputs[1])
        return widened(predicted), widened(true)

    def _count(self, inputs: tuple, count: int, what: str) -> None:
        if len(inputs) != count:
            raise ValueError(f"For '{type(self).__name__}.update', it needs {count} inputs "
                             f"({what}), but got {len(inputs)}.")

    @property
    def indexes(self) -> list[int] | None:
        """Which inputs of `update` are used; None for all."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Choose which inputs of `update` are used; returns the metric.

        Raises:
            ValueError: if `indexes` is no list of ints.
        """
        if not isinstance(indexes, list) or not all(isinstance(i, int) for i in indexes):
            raise ValueError(f"For 'set_indexes', 'indexes' must be a list of ints, "
                             f"but got {indexes!r}.")
        self._indexes = indexes
        return self

    def __call__(self, *inputs: Any) -> Any:
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self) -> None:
        """Forget all batches."""

    @abstractmethod
    def eval(self) -> Any:
        """The value over all batches.

        Raises:
            RuntimeError: if there has been none.
        """

    @abstractmethod
    def update(self, *inputs: Any) -> None:
        """Add a batch.

        Raises:
            ValueError: if the inputs don't fit.
        """


def no_samples(metric: Metric) -> RuntimeError:
    """The error for `eval` before any `update`."""
    return RuntimeError(f"The '{type(metric).__name__}' can not be calculated, because the number "
                        f"of samples is 0. Call 'update' before 'eval'.")


def widened(data: np.ndarray) -> np.ndarray:
    """The array in a type whose sums and products don't wrap around or lose their digits.

    Examples:
        >>> import numpy as np
        >>> from lamella.train.metrics.metric import widened
        >>> widened(np.array([3], np.uint8)).dtype, widened(np.array([3], np.float16)).dtype
        (dtype('int64'), dtype('float32'))
    """
    least = {"b": np.int64, "i": np.int64, "u": np.int64, "f": np.float32}.get(data.dtype.kind)
    return data if least is None else data.astype(np.promote_types(data.dtype, least), copy=False)


def is_one_hot(data: np.ndarray) -> bool:
    """Whether along axis 1 there is one 1 and else zeros."""
    return data.ndim > 1 and bool(np.isin(data, (0, 1)).all() and (data.sum(axis=1) == 1).all())


def class_indices(predicted: np.ndarray, true: np.ndarray) -> np.ndarray:
    """The true classes as numbers, also where they are one-hot vectors."""
    return true.argmax(axis=1) if predicted.shape == true.shape and is_one_hot(true) else true
