"""Datasets that a `DataLoader` reads: by number, or one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from ...core.errors import explain_construction
from ...tensors.tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """The base of datasets whose samples are read by number (or another key).

    A subclass gives `__getitem__`, and `__len__` for the samplers that need it.

    Examples:
        >>> class Squares(Dataset):
        ...     def __getitem__(self, index):
        ...         return index * index
        ...     def __len__(self):
        ...         return 4
        >>> Squares()[3]
        9
    """

    def __init__(self) -> None:
        pass

    def __getitem__(self, index: int) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} must implement __getitem__ method.")


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """The base of datasets whose samples come one after the other.

    A subclass gives `__iter__`. Each worker process iterates over its own copy: `get_worker_info`
    tells which part is its own.

    Examples:
        >>> class Countdown(IterableDataset):
        ...     def __iter__(self):
        ...         return iter([3, 2, 1])
        >>> list(Countdown())
        [3, 2, 1]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} must implement __iter__ method.")


@explain_construction
class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples out of Tensors, along their first dimension.

    Args:
        *tensors: Tensors of the same first dimension.

    Raises:
        ValueError: if there is none, or their first dimensions differ.

    Examples:
        >>> data = TensorDataset(Tensor([1, 2]), Tensor([3, 4]))
        >>> len(data), data[1]
        (2, (Tensor(shape=[], dtype=Int64, value= 2), Tensor(shape=[], dtype=Int64, value= 4)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        super().__init__()
        if not tensors or any(tensor.ndim == 0 for tensor in tensors):
            raise ValueError("For 'TensorDataset', 'tensors' must be Tensors of a dimension or "
                             "more, at least one.")
        if any(tensor.shape[0] != tensors[0].shape[0] for tensor in tensors):
            raise ValueError("All tensors must have the same size in the first dimension.")
        self.tensors = tensors

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]
