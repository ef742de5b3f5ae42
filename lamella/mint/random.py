"""Random functions of `mint`: they draw from a `Generator` instead of a seed."""

from __future__ import annotations

from typing import Any

import torch

from .. import ops
from ..core.context import current_device
from ..core.dtype import int64
from ..core.errors import op
from ..tensors.random import seeded
from ..tensors.tensor import Tensor, wrap
from .creation import on_device

__all__ = ["bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randint_like",
           "randn", "randn_like", "randperm"]

# the `seed` of a function of `ops` may be a Generator


@op
def rand(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """As `ops.rand`, from a generator.

    >>> import lamella as ms
    >>> ms.mint.rand(2, 3, generator=ms.Generator()).shape
    (2, 3)
    """
    return on_device(ops.rand(*size, dtype=dtype, seed=generator), device, "rand")


@op
def randn(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """As `ops.randn`, from a generator."""
    return on_device(ops.randn(*size, dtype=dtype, seed=generator), device, "randn")


@op
def rand_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """As `ops.rand_like`, on a device of your choice."""
    return on_device(ops.rand_like(input, dtype=dtype), device, "rand_like")


@op
def randn_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """As `ops.randn_like`, on a device of your choice."""
    return on_device(ops.randn_like(input, dtype=dtype), device, "randn_like")


@op
def randint(*args: Any, low: Any = None, high: Any = None, size: Any = None, generator: Any = None,
            dtype: Any = None, device: Any = None) -> Tensor:
    """As `ops.randint`: ``randint(high, size)`` or ``randint(low, high, size)``.

    >>> import lamella as ms
    >>> x = ms.mint.randint(5, (2, 3))
    >>> x.shape, bool((x < 5).all())
    ((2, 3), True)
    """
    low, high, size = _bounds("randint", args, low=low, high=high, size=size)
    drawn = ops.randint(low, high, size, generator)
    return on_device(drawn if dtype is None else drawn.to(dtype), device, "randint")


@op
def randint_like(input: Tensor, *args: Any, low: Any = None, high: Any = None, dtype: Any = None,
                 device: Any = None) -> Tensor:
    """Integers in the shape and type of `input`: ``(input, high)`` or ``(input, low, high)``.

    >>> import lamella as ms
    >>> ms.mint.randint_like(ms.Tensor([1.0, 2.0]), 5).dtype
    mindspore.float32
    """
    low, high = _bounds("randint_like", args, low=low, high=high)
    drawn = ops.randint(low, high, input.shape)
    return on_device(drawn.to(dtype or input.dtype), device, "randint_like")


def _bounds(where: str, args: tuple[Any, ...], **named: Any) -> list[Any]:
    """What `low`, `high` and maybe `size` are; `low`, 0 unless given, comes first of all."""
    given = [n for n, v in named.items() if v is None]
    if len(given) == len(args) + 1 and given[0] == "low":
        named["low"], given = 0, given[1:]
    if len(given) != len(args):
        wanted = ", ".join(named)
        raise TypeError(f"For '{where}', the arguments must be {wanted}, of which 'low' may be "
                        f"left out, but got {len(args)} by position.")
    named.update(zip(given, args, strict=True))
    return list(named.values())


@op
def randperm(n: int, *, generator: Any = None, dtype: Any = int64) -> Tensor:
    """As `ops.randperm`, from a generator.

    >>> import lamella as ms
    >>> ms.mint.randperm(4).sum()
    Tensor(shape=[], dtype=Int64, value= 6)
    """
    if not isinstance(n, int) or n < 0:
        raise ValueError(f"For 'randperm', 'n' must be an int of 0 or more, but got {n!r}.")
    return wrap(torch.randperm(n, generator=seeded(generator), device=current_device())).to(dtype)


@op
def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None) -> Tensor:
    """As `ops.normal`; without `size` in the shape that `mean` and `std` broadcast to.

    >>> import lamella as ms
    >>> ms.mint.normal(ms.Tensor([0.0, 5.0]), 1.0).shape, ms.mint.normal(0.0, 1.0, (2,)).shape
    ((2,), (2,))
    """
    return ops.normal(() if size is None else tuple(size), mean, std, generator)


@op
def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element gives, else 0.

    >>> import lamella as ms
    >>> print(ms.mint.bernoulli(ms.Tensor([0.0, 1.0])))
    [0. 1.]
    """
    return input.bernoulli(generator=generator)


@op
def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Any = None) -> Tensor:
    """As `ops.multinomial`, without replacement unless asked for; indices are int64."""
    return ops.multinomial(input, num_samples, replacement, generator).to(int64)
