"""Tensor's methods that change it in place and belong to no family of operators.

Each returns the tensor. While a gradient is recorded, see `inplace.in_place`.
"""

from __future__ import annotations

from typing import Any

import torch

from ..core.errors import op
from ..core.require import one_of
from .construction import converted
from .inplace import in_place
from .random import default_raw
from .tensor import Tensor, tensor_methods


def _number(value: Any, name: str) -> Any:
    """A number, or the raw tensor of rank 0 that stands for one."""
    if isinstance(value, (bool, int, float, complex)):
        return value
    raw = getattr(value, "_raw", None)
    if raw is None or raw.numel() != 1:
        raise TypeError(f"For 'Tensor.{name}', the value must be a number or a Tensor with one "
                        f"element, but got {value!r}.")
    return raw.reshape(())


def _generator(generator: Any) -> torch.Generator:
    return default_raw() if generator is None else generator.raw


def _index_of(index: Any) -> torch.Tensor:
    return index._raw if index._raw.dtype is torch.int64 else index._raw.long()


@op
def fill_(self: Tensor, value: Any) -> Tensor:
    """Fill the tensor with a number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.0, 2.0]).fill_(3))
        [3. 3.]
    """
    value = _number(value, "fill_")
    return in_place(self, lambda raw: raw.fill_(value))


@op
def zero_(self: Tensor) -> Tensor:
    """Fill the tensor with zeros.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.0, 2.0]).zero_())
        [0. 0.]
    """
    return in_place(self, torch.Tensor.zero_)


@op
def uniform_(self: Tensor, from_: Any = 0, to: Any = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers, evenly distributed in [`from_`, `to`).

    Raises:
        ValueError: if `from_` is above `to`.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([0.0, 0.0]).uniform_(2, 3)
        >>> bool((x >= 2).all()), bool((x < 3).all())
        (True, True)
    """
    low, high = float(_number(from_, "uniform_")), float(_number(to, "uniform_"))
    if low > high:
        raise ValueError(f"For 'Tensor.uniform_', 'from_' must not be above 'to', "
                         f"but got {low} and {high}.")
    return in_place(self, lambda raw: raw.uniform_(low, high, generator=_generator(generator)))


@op
def normal_(self: Tensor, mean: Any = 0, std: Any = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers of the normal distribution.

    Raises:
        ValueError: if `std` is negative.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([0.0, 0.0]).normal_(5, 0))
        [5. 5.]
    """
    mean, std = float(_number(mean, "normal_")), float(_number(std, "normal_"))
    if std < 0:
        raise ValueError(f"For 'Tensor.normal_', 'std' must be 0 or more, but got {std}.")
    return in_place(self, lambda raw: raw.normal_(mean, std, generator=_generator(generator)))


@op
def random_(self: Tensor, from_: Any = 0, to: Any = None, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random integers in [`from_`, `to`).

    Args:
        to: default: as far as the tensor's type reaches (2**24 for float32).

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([0, 0]).random_(7, 8))
        [7 7]
    """
    low = int(_number(from_, "random_"))
    high = None if to is None else int(_number(to, "random_"))
    if high is not None and low >= high:
        raise ValueError(f"For 'Tensor.random_', 'from_' must be below 'to', "
                         f"but got {low} and {high}.")
    return in_place(self, lambda raw: raw.random_(low, high, generator=_generator(generator)))


@op
def exponential_(self: Tensor, lambd: float = 1, *, generator: Any = None) -> Tensor:
    """Fill the tensor with random numbers of the exponential distribution of rate `lambd`.

    Examples:
        >>> import lamella as ms
        >>> bool((ms.Tensor([0.0, 0.0]).exponential_(2.0) > 0).all())
        True
    """
    if not lambd > 0:
        raise ValueError(f"For 'Tensor.exponential_', 'lambd' must be above 0, but got {lambd!r}.")
    return in_place(self, lambda raw: raw.exponential_(lambd, generator=_generator(generator)))


@op
def bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Any = None) -> Tensor:
    """Fill the tensor with ones, each with probability `p`, and zeros.

    Args:
        p: a number, or a floating Tensor that broadcasts to the tensor's shape.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([0.0, 0.0]).bernoulli_(1.0))
        [1. 1.]
    """
    chance = getattr(p, "_raw", p)
    low, high = (chance.min(), chance.max()) if isinstance(chance, torch.Tensor) else (chance,) * 2
    if low < 0 or high > 1:
        raise ValueError(f"For 'Tensor.bernoulli_', 'p' must be in [0, 1], but got {p}.")
    return in_place(self, lambda raw: raw.bernoulli_(chance, generator=_generator(generator)))


@op
def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Fill the main diagonal with a number.

    Args:
        wrap: of a tall matrix, start the diagonal again below its end.

    Raises:
        ValueError: for fewer than 2 dimensions, or more than 2 of different lengths.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]).fill_diagonal_(0))
        [[0. 2.]
         [3. 0.]]
    """
    if self.ndim < 2 or self.ndim > 2 and len(set(self.shape)) > 1:
        raise ValueError(f"For 'Tensor.fill_diagonal_', the tensor must be a matrix, or have more "
                         f"dimensions of one length, but got shape {self.shape}.")
    value = _number(fill_value, "fill_diagonal_")
    return in_place(self, lambda raw: raw.fill_diagonal_(value, wrap))


@op
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """Add `alpha` times the slices of `source` along `dim` to those that `index` names.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([1.0, 1.0, 1.0])
        >>> print(x.index_add_(0, ms.Tensor([0, 2, 0]), ms.Tensor([1.0, 2.0, 3.0])))
        [5. 1. 3.]
    """
    place, added = _index_of(index), source._raw
    return in_place(self, lambda raw: raw.index_add_(dim, place, added, alpha=alpha))


@op
def index_copy_(self: Tensor, dim: int, index: Tensor, tensor: Tensor) -> Tensor:
    """Copy the slices of `tensor` along `dim` to those that `index` names.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.0, 1.0]).index_copy_(0, ms.Tensor([1]), ms.Tensor([5.0])))
        [1. 5.]
    """
    place, source = _index_of(index), tensor._raw
    return in_place(self, lambda raw: raw.index_copy_(dim, place, source))


@op
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """Fill the slices along `dim` that `index` names with a number.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.0, 1.0]).index_fill_(0, ms.Tensor([1]), 5))
        [1. 5.]
    """
    place, value = _index_of(index), _number(value, "index_fill_")
    return in_place(self, lambda raw: raw.index_fill_(dim, place, value))


@op
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Put `values` at the places that `indices`, a Tensor for each leading dimension, name.

    Args:
        accumulate: add the values instead.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1, 2], [3, 4]])
        >>> print(x.index_put_([ms.Tensor([0, 1]), ms.Tensor([1, 1])], ms.Tensor([8, 9])))
        [[1 8]
         [3 9]]
    """
    places = tuple(i._raw if i._raw.dtype is torch.bool else _index_of(i) for i in indices)
    given = values._raw
    return in_place(self, lambda raw: raw.index_put_(places, converted(given, raw.dtype),
                                                     accumulate))


@op
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Put the elements of `source` at the places that `index` names in the flattened tensor.

    Args:
        accumulate: add them instead.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([[1, 2], [3, 4]]).put_(ms.Tensor([0, 3]), ms.Tensor([8, 9])))
        [[8 2]
         [3 9]]
    """
    place, given = _index_of(index), source._raw
    return in_place(self, lambda raw: raw.put_(place, given, accumulate))


@op
def scatter_(self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None,
             reduce: str | None = None) -> Tensor:
    """Put the elements of `src`, or one number, at the places that `index` names along `dim`.

    Args:
        reduce: ``"add"`` or ``"multiply"``, to combine with what is there; default: replace it.

    Raises:
        ValueError: for an unknown `reduce`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.0, 1.0]).scatter_(0, ms.Tensor([1]), ms.Tensor([5.0])))
        [1. 5.]
    """
    one_of(reduce, (None, "add", "multiply"), "reduce", "Tensor.scatter_")
    place = _index_of(index)
    given = src if src is not None else value
    given = given._raw if isinstance(given, Tensor) and given.ndim else _number(given, "scatter_")
    options = {} if reduce is None else {"reduce": reduce}
    if isinstance(given, torch.Tensor) and given.dim() == 0:
        given = given.expand(place.shape)
    return in_place(self, lambda raw: raw.scatter_(dim, place, given, **options))


@op
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add the elements of `src` at the places that `index` names along `dim`.

    Examples:
        >>> import lamella as ms
        >>> print(ms.Tensor([1.0, 1.0]).scatter_add_(0, ms.Tensor([1, 1]), ms.Tensor([5.0, 2.0])))
        [1. 8.]
    """
    place, given = _index_of(index), src._raw
    return in_place(self, lambda raw: raw.scatter_add_(dim, place, given))


_METHODS = (fill_, zero_, uniform_, normal_, random_, exponential_, bernoulli_, fill_diagonal_,
            index_add_, index_copy_, index_fill_, index_put_, put_, scatter_, scatter_add_)
tensor_methods(**{m.__name__: m for m in _METHODS if m.__name__ not in Tensor.__dict__})
